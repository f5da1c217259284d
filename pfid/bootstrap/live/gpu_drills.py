"""The drills of GPU checks: what the driver is made to say, and what must come of it.

Each has a card of its own. What is planted is read back from the daemon's own view of the card,
through sampler, driver library and loop, before a verdict is waited for.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from pfid.bootstrap.live.canary import Canary
from pfid.bootstrap.live.planted_gpus import BUSY, CARDS, GIB, PlantedGpus, about, uuid
from pfid.domain.gpu_view import GpuView
from pfid.domain.verdict import BOX, Entity

SPINS, XID, MEMORY, SHARED, LOST, SLOW, ODD_WORK, STARVES = range(CARDS)
HELD: Final = 8 * GIB
ECC_ERROR: Final = 48
LOST_STATE: Final = "error 15"
SLOW_CALL: Final = "slow 14000 100"
"""Slower than the scratch daemon calls fresh, quicker than a call that hangs."""
NOBODY: Final = 65_534


class GpuGround(Protocol):
    """What a drill of GPUs stands on."""

    @property
    def gpus(self) -> PlantedGpus:
        """The stand-in."""
        ...

    def canary(
        self,
        *,
        expect_step_s: float | None = None,
        appends_to: Canary | None = None,
        name: str = "",
    ) -> Canary:
        """A fresh synthetic run."""
        ...

    def good(self, about: Canary | Entity, reason: str) -> None:
        """Wait for PASS with this reason."""
        ...

    def bad(self, about: Canary | Entity, reason: str) -> None:
        """Wait for FAIL likewise."""
        ...

    def shown(self, uuid: str, wanted: Callable[[GpuView], bool]) -> None:
        """Wait until the daemon's own view of a card says so."""
        ...


def spinning_gpu(ground: GpuGround) -> None:
    """A busy card falls to the power of a hung collective, and works again."""
    facts = {"power": "70000", "tensor": "0.5", "sm": "20.0"}
    _wrong_work(ground, SPINS, "busy_at_low_power", lambda g: _power_w(g) < 100, **facts)


def odd_kernels(ground: GpuGround) -> None:
    """A card stays at full power and does no more matrix work, and does it again."""
    _wrong_work(ground, ODD_WORK, "sm_busy_tensor_idle", lambda g: _tensor(g) < 0.1, tensor="0.5")


def starved_gpu(ground: GpuGround) -> None:
    """A card idles in the midst of training, and works again."""
    facts = {"utilization": "0", "power": "77700", "tensor": "0.0", "sm": "0.0", "dram": "0.0"}
    _wrong_work(ground, STARVES, "gpu_starved", lambda g: _power_w(g) < 100, **facts)


def _wrong_work(
    ground: GpuGround,
    index: int,
    reason: str,
    delivered: Callable[[GpuView], bool],
    **facts: str,
) -> None:
    """A run's card does matrix work, then what ``facts`` say, then matrix work."""
    canary = _on_card(ground, index)
    ground.good(canary, "matmul_bound")
    ground.gpus.change(index, **facts)
    ground.shown(uuid(index), delivered)
    ground.bad(canary, reason)
    ground.gpus.change(index, **{name: BUSY[name] for name in facts})
    ground.good(canary, "matmul_bound")


def broken_gpu(ground: GpuGround) -> None:
    """The driver reports an uncorrectable memory error, which ages."""
    ground.good(about(XID), "no_recent_errors")
    ground.gpus.report_xid(XID, ECC_ERROR)
    ground.shown(uuid(XID), lambda g: any(x.code == ECC_ERROR for x in g.xids))
    ground.bad(about(XID), "hardware_error")
    ground.good(about(XID), "no_recent_errors")


def forgotten_memory(ground: GpuGround) -> None:
    """Memory is in use and nobody holds it, and is given back."""
    ground.good(about(MEMORY), "accounted_for")
    ground.gpus.change(MEMORY, memory_used=str(HELD))
    ground.shown(uuid(MEMORY), lambda g: _used(g) == HELD)
    ground.bad(about(MEMORY), "held_by_nobody")
    ground.gpus.change(MEMORY, memory_used=str(GIB // 1024))
    ground.good(about(MEMORY), "accounted_for")


def stranger_beside(ground: GpuGround) -> None:
    """Another user's process comes onto the run's card, and leaves."""
    canary = _on_card(ground, SHARED)
    ground.good(canary, "alone")
    with _stranger() as pid:
        ground.gpus.put_on(SHARED, pid, HELD)
        ground.shown(uuid(SHARED), lambda g: any(h.pid == pid for h in g.holders or ()))
        ground.bad(canary, "other_user")
        ground.gpus.put_on(SHARED, pid, 0)
    ground.good(canary, "alone")


def lost_gpu(ground: GpuGround) -> None:
    """A card falls off the bus, and is there again."""
    ground.shown(uuid(LOST), lambda g: g.present)
    ground.good(BOX, "all_present")
    ground.gpus.change(LOST, state=LOST_STATE)
    ground.shown(uuid(LOST), lambda g: not g.present)
    ground.bad(BOX, "fewer_than_configured")
    ground.gpus.change(LOST, state="")
    ground.good(BOX, "all_present")


def slow_driver(ground: GpuGround) -> None:
    """A call into the driver takes so long that readings get old, and is quick again."""
    ground.good(BOX, "fresh")
    ground.gpus.change(SLOW, utilization=SLOW_CALL)
    ground.bad(BOX, "stale")
    ground.gpus.change(SLOW, utilization="100")
    ground.good(BOX, "fresh")


def _on_card(ground: GpuGround, index: int) -> Canary:
    """A run that makes steps, on a card."""
    canary = ground.canary()
    canary.step(range(1, 6), 1.0)
    ground.gpus.put_on(index, canary.pid, HELD)
    ground.shown(uuid(index), lambda g: any(h.run_id == canary.run_id for h in g.holders or ()))
    return canary


@contextlib.contextmanager
def _stranger() -> Iterator[int]:
    """A process of another user: ours as nobody if we are root, else the first of the box."""
    if os.getuid() != 0:
        yield 1
        return
    pid = _orphan()
    held = os.pidfd_open(pid)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(held, signal.SIGKILL)
        os.close(held)


def _orphan() -> int:
    """A process of nobody that is no child of ours: children of a launcher are its run's."""
    begun = subprocess.run(
        ["/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(begun.stdout)


def _power_w(gpu: GpuView) -> float:
    power_w = None if gpu.last is None else gpu.last.power_w
    return float("inf") if power_w is None else power_w


def _tensor(gpu: GpuView) -> float:
    tensor = None if gpu.last is None else gpu.last.tensor_activity
    return 1.0 if tensor is None else tensor


def _used(gpu: GpuView) -> int | None:
    return None if gpu.last is None else gpu.last.memory_used_bytes
