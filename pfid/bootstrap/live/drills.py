"""The drills: which fault is really planted for which check, and what must come of it.

Each walks good, bad, good. :mod:`pfid.bootstrap.live.ports` says which adapters they must drive.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from pfid.bootstrap.live import gpu_drills
from pfid.bootstrap.live.canary import Canary
from pfid.bootstrap.live.gpu_drills import GpuGround
from pfid.domain.verdict import BOX

SECOND: Final = 1.0
SLOW: Final = 5.0 * SECOND
RECOMPILE_LINE: Final = (
    "W1129 12:00:00.000000 4242 torch/_dynamo/convert_frame.py:1016] [4/8] torch._dynamo hit "
    "config.recompile_limit (8)"
)
DEAD_RUN: Final = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 42, in <module>\n'
    "    main()\n"
    "RuntimeError: CUDA error: device-side assert triggered\n"
)


class Ground(GpuGround, Protocol):
    """What a drill stands on."""

    def prove_again(self) -> None:
        """Have the daemon prove its gates again."""
        ...

    def tight_canary(self) -> Canary:
        """A fresh synthetic run that may hold little memory."""
        ...

    def out_of_memory(self, canary: Canary) -> None:
        """Have the kernel kill such a run for memory."""
        ...

    def engine(self) -> None:
        """Go on through a fresh engine of one run, as ``pfid run`` starts one without a daemon."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """One drill.

    Attributes:
        name: of the drill.
        check: whose verdict is waited for.
        adapters: what is really driven.
        walk: plants and waits.
        scratch_only: needs a daemon whose limits and proofs may be spoilt, never the box's.
        planted_gpus: needs a stand-in for NVML, and a scratch daemon that loads it.
        last: harms what other drills stand on; walked after them.
        timeout_s: for each leg, on a box that has no core to spare.
    """

    name: str
    check: str
    adapters: frozenset[str]
    walk: Callable[[Ground], None]
    scratch_only: bool = False
    planted_gpus: bool = False
    last: bool = False
    timeout_s: float = 120.0


def killed(ground: Ground) -> None:
    """A process is killed and not reaped: the zombie is no life."""
    canary = ground.canary()
    ground.good(canary, "running")
    canary.kill()
    ground.bad(canary, "killed_by_signal")
    ground.good(ground.canary(), "running")


def killed_for_memory(ground: Ground) -> None:
    """The kernel kills a process for memory: a SIGKILL like any other, but for its count."""
    canary = ground.tight_canary()
    ground.good(canary, "running")
    ground.out_of_memory(canary)
    ground.bad(canary, "oom_killed")
    ground.good(ground.canary(), "running")


def slow_from_the_start(ground: Ground) -> None:
    """A run is slow from its first step: an earlier one of its name tells, and nothing else can."""
    name = f"selftest earlier {secrets.token_hex(6)}"
    first = ground.canary(name=name)
    first.step(range(1, 101), SECOND)
    ground.good(first, "normal")
    first.kill()
    slow = ground.canary(name=name)
    slow.step(range(1, 101), SLOW)
    ground.bad(slow, "shifted")
    fast = ground.canary(name=name)
    fast.step(range(1, 101), SECOND)
    ground.good(fast, "normal")


def slow_after_an_engine(ground: Ground) -> None:
    """The same where each run has an engine of its own, whose state goes with the run."""
    name = f"selftest earlier {secrets.token_hex(6)}"
    for outcome, reason, seconds in (
        (ground.good, "normal", SECOND),
        (ground.bad, "shifted", SLOW),
        (ground.good, "normal", SECOND),
    ):
        ground.engine()
        canary = ground.canary(name=name)
        canary.step(range(1, 101), seconds)
        outcome(canary, reason)
        canary.kill()


def suspended(ground: Ground) -> None:
    """A process is stopped in the middle of its steps."""
    canary = ground.canary()
    canary.step(range(1, 6), SECOND)
    ground.good(canary, "moving")
    canary.stop()
    ground.bad(canary, "suspended")
    canary.go_on()
    canary.step(range(6, 11), SECOND)
    ground.good(canary, "moving")


def stalled(ground: Ground) -> None:
    """Steps stop coming from a process that lives."""
    canary = ground.canary()
    canary.step(range(1, 6), SECOND)
    ground.good(canary, "moving")
    ground.bad(canary, "stalled")
    canary.step(range(6, 11), SECOND)
    ground.good(canary, "moving")


def slow_steps(ground: Ground) -> None:
    """Steps in the step file become five times as long, and short again."""
    canary = ground.canary(expect_step_s=SECOND)
    canary.step(range(1, 101), SECOND)
    ground.good(canary, "normal")
    canary.step(range(101, 151), SLOW)
    ground.bad(canary, "shifted")
    canary.step(range(151, 551), SECOND)
    ground.good(canary, "normal")


def slow_lines(ground: Ground) -> None:
    """The same out of the log itself, as a trainer prints it."""
    canary = ground.canary(expect_step_s=SECOND)
    canary.say(*_iterations(range(1, 101), SECOND))
    ground.good(canary, "normal")
    canary.say(*_iterations(range(101, 151), SLOW))
    ground.bad(canary, "shifted")
    canary.say(*_iterations(range(151, 551), SECOND))
    ground.good(canary, "normal")


def recompiles(ground: Ground) -> None:
    """The compiler's warning, and steps that show what it cost."""
    canary = ground.canary(expect_step_s=SECOND)
    canary.step(range(1, 101), SECOND)
    canary.say("training begins")
    ground.good(canary, "no_hit")
    canary.say(RECOMPILE_LINE)
    canary.step(range(101, 151), SLOW)
    ground.bad(canary, "hit_consequence_seen")
    fresh = ground.canary(expect_step_s=SECOND)
    fresh.step(range(1, 101), SECOND)
    fresh.say("training begins")
    ground.good(fresh, "no_hit")


def steps_from_nowhere(ground: Ground) -> None:
    """Reports were asked for, the log shows steps, and none comes from inside."""
    canary = ground.canary()
    canary.instrument()
    canary.step(range(1, 6), SECOND)
    ground.good(canary, "reported")
    silent = ground.canary()
    silent.instrument()
    silent.say(*_iterations(range(1, 20), SECOND))
    ground.bad(silent, "nobody_attached")
    fresh = ground.canary()
    fresh.instrument()
    fresh.step(range(1, 6), SECOND)
    ground.good(fresh, "reported")


def second_run(ground: Ground) -> None:
    """Another run's lines are appended: the counter goes back without a word."""
    canary = ground.canary()
    canary.say(*_iterations(range(100, 120), SECOND))
    ground.good(canary, "one_run")
    canary.say(*_iterations(range(1, 20), SECOND))
    ground.bad(canary, "counter_went_back")
    fresh = ground.canary()
    fresh.say(*_iterations(range(1, 20), SECOND))
    ground.good(fresh, "one_run")


def dead_run(ground: Ground) -> None:
    """A relaunch appended to the log of a run that died: its traceback stands before."""
    canary = ground.canary()
    canary.say(*_iterations(range(1, 20), SECOND))
    ground.good(canary, "one_run")
    canary.say(*DEAD_RUN.splitlines())
    canary.kill()
    appended = ground.canary(appends_to=canary)
    appended.say(*_iterations(range(1, 20), SECOND))
    ground.bad(appended, "older_bytes")
    fresh = ground.canary()
    fresh.say(*_iterations(range(1, 20), SECOND))
    ground.good(fresh, "one_run")


def lost_loss(ground: Ground) -> None:
    """The printed loss becomes NaN, and finite again."""
    canary = ground.canary()
    canary.say(*_iterations(range(1, 20), SECOND))
    ground.good(canary, "finite")
    canary.say(*_iterations(range(20, 30), SECOND, loss="nan"))
    ground.bad(canary, "not_finite")
    canary.say(*_iterations(range(30, 100), SECOND))
    ground.good(canary, "finite")


def old_proofs(ground: Ground) -> None:
    """Proofs grow older than the scratch daemon allows, and are made again."""
    ground.prove_again()
    ground.good(BOX, "fresh")
    ground.bad(BOX, "proof_expired")
    ground.prove_again()
    ground.good(BOX, "fresh")


def _iterations(indices: range, seconds: float, loss: str = "") -> list[str]:
    """Lines as nanoGPT prints them."""
    return [
        f"iter {i}: loss {loss or f'{2 + 1 / (i + 1):.4f}'}, time {seconds * 1000:.2f}ms, mfu 9.00%"
        for i in indices
    ]


def _drill(
    check: str,
    walk: Callable[[Ground], None],
    *adapters: str,
    scratch_only: bool = False,
    timeout_s: float = 120.0,
) -> Drill:
    return Drill(
        name=walk.__name__,
        check=check,
        adapters=frozenset(adapters),
        walk=walk,
        scratch_only=scratch_only,
        timeout_s=timeout_s,
    )


def _gpu_drill(
    check: str, walk: Callable[[GpuGround], None], *adapters: str, last: bool = False
) -> Drill:
    return Drill(
        name=walk.__name__,
        check=check,
        adapters=frozenset({"nvml", *adapters}),
        walk=walk,
        scratch_only=True,
        planted_gpus=True,
        last=last,
        timeout_s=600.0,
    )


DRILLS: Final = (
    _drill("run_gone", killed, "pidfd"),
    _drill("run_gone", killed_for_memory, "oom_counter"),
    _drill("run_stalled", suspended, "process_table", "step_file", timeout_s=240.0),
    _drill("run_stalled", stalled, "step_file", scratch_only=True, timeout_s=240.0),
    _drill("step_time_regime", slow_steps, "step_file"),
    _drill("step_time_regime", slow_lines, "log_reader"),
    _drill("step_time_regime", slow_from_the_start, "store", "step_file"),
    _drill("step_time_regime", slow_after_an_engine, "run_history", "step_file", scratch_only=True),
    _drill("recompile_limit", recompiles, "log_reader", "step_file"),
    _drill("steps_unreported", steps_from_nowhere, "log_reader", "step_file"),
    _drill("log_is_one_run", second_run, "log_reader"),
    _drill("log_is_one_run", dead_run, "log_reader", "file_identity", "process_facts"),
    _drill("loss_not_finite", lost_loss, "log_reader"),
    _drill(
        "gate_proof_stale", old_proofs, "proof_book", "clocks", scratch_only=True, timeout_s=300.0
    ),
    _gpu_drill("gpu_work_kind", gpu_drills.spinning_gpu, "pidfd", "process_table", "step_file"),
    _gpu_drill("gpu_work_kind", gpu_drills.odd_kernels, "pidfd", "process_table", "step_file"),
    _gpu_drill("gpu_work_kind", gpu_drills.starved_gpu, "pidfd", "process_table", "step_file"),
    _gpu_drill("gpu_xid", gpu_drills.broken_gpu, "clocks"),
    _gpu_drill("gpu_memory_orphaned", gpu_drills.forgotten_memory),
    _gpu_drill("gpu_shared_unexpectedly", gpu_drills.stranger_beside, "pidfd", "process_table"),
    _gpu_drill("gpu_lost", gpu_drills.lost_gpu),
    _gpu_drill("gpu_telemetry_stale", gpu_drills.slow_driver, last=True),
)
"""Every drill. Runs of all drills live at the same time; each waits for its own."""

SCRATCH_LIMITS: Final[Mapping[str, Mapping[str, float]]] = {
    "run_stalled": {"train_s": 6.0, "start_s": 12.0, "suspended_s": 2.0, "factor": 2.0},
    "gate_proof_stale": {"age_s": 60.0},
    "gpu_work_kind": {"window_s": 6.0, "hung_s": 600.0},
    "gpu_xid": {"hardware_s": 60.0, "application_s": 20.0},
    "gpu_telemetry_stale": {"stale_s": 6.0, "intervals": 5.0},
}
"""Limits of the scratch daemon: short, so that a drill does not take an hour."""
