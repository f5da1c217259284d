"""What the daemon keeps of a run, to the byte: 200 KB at any length, little once it is over."""

import gc
import os
import tracemalloc
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pfid.analysis.step_statistics import EXACT_STEPS
from pfid.daemon.baselines import Baselines
from pfid.daemon.core import Checks, Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.finishing import Afterwards, Finishing
from pfid.daemon.judging import Judging
from pfid.daemon.ledger import Ledger
from pfid.daemon.messages import ReaderTold
from pfid.daemon.publishing import Publishing
from pfid.daemon.reading import Reading
from pfid.daemon.stream_memory import STREAMS_MAX
from pfid.daemon.tracked import TrackedRun
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.log_facts import Marker
from pfid.domain.names import RunId
from pfid.domain.run import EndKind, RunEnd
from pfid.host.registry import Where, discover
from pfid.policy import progress
from pfid.spec.check import AnyCheck, Scope, Stage
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.control import HandedLog
from pfid.wire.reader import Configure, Follow, StreamKind, decode_report, encode
from pfid.workers.arrival import ArrivalClock
from pfid.workers.followed_file import FollowedFile
from pfid.workers.parser_choice import parser_for

STEPS = EXACT_STEPS
"""As many as are kept one by one: then it is most."""
BATCH_BYTES = 64 * 1024
LIVING_BYTES = 200_000
OVER_BYTES, OVER_RANK_BYTES = 45_000, 500
RANK_STEPS = 100
"""As many of a second as the newest minute holds, and more."""
RELAUNCHES, RELAUNCHED_BYTES = 16, 8 * 1024


@cache
def printed() -> bytes:
    """A log of many steps of about a second, no two alike."""
    text = (
        f"iter {i}: loss {2 + i % 7}.5, time {900 + i * 7919 % 211}.{i % 97:02}ms, mfu 1.00%\n"
        for i in range(STEPS + 1)
    )
    return "".join(text).encode()


NOTES = """\
{"note":"instrumented"}
{"note":"attached"}
{"note":"optimizer","kind":"torch.optim.adamw.AdamW"}
{"note":"accounting","name":"6 N D, N without embeddings","peak_flops_per_s":989000000000000.0}
{"step":0,"rank":RANK,"pid":1RANK,"dynamo":{"graphs":3,"frames":4,"frames_ok":3,"graph_breaks":1}}
"""


@cache
def reported_by_any(steps: int) -> str:
    """A step file of a rank that says all it can; which one is to be put in."""
    return NOTES + "".join(
        f'{{"step":{i},"seconds":{0.9 + i * 7919 % 211 / 1000},"rank":RANK,"pid":1RANK,'
        f'"tokens":{8_000 + i % 99},"real_tokens":{7_000 + i % 89},"width":{1_000 + i % 77},'
        f'"flops":{1e15 + i},"recompute_flops":{1e14 + i},"inside_s":0.8,"loss":{2 + i % 7}.5}}\n'
        for i in range(1, steps + 1)
    )


def reported(rank: int, steps: int = RANK_STEPS) -> bytes:
    """A step file of one rank."""
    return reported_by_any(steps).replace("RANK", str(rank)).encode()


class Daemon:
    """Core, reading, judging with every real check, showing and finishing."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "followed"
        outside: Any = SimpleNamespace(
            clock=SimpleNamespace(now_s=lambda: 1_000.0, monotonic_s=lambda: 10.0),
            reader=SimpleNamespace(order=lambda *_: True),
            log=SimpleNamespace(say=lambda *_, **__: None),
            notify=SimpleNamespace(drop=lambda _: None),
            store=SimpleNamespace(remember=lambda *_: None, submit=lambda _: 1),
        )
        registered = discover(Where(entry_points=False, stages=(Stage.WATCH,))).checks
        checks = tuple(r.check for r in registered)
        self.core = Core(
            ports=outside,
            post=lambda _: None,
            machine_id="m",
            boot_id="b",
            checks=Checks(
                run=tuple(c for c in checks if c.scope is Scope.RUN), gates=_proven(checks)
            ),
        )
        self.judging = Judging(self.core)
        self.reading = Reading(self.core, self.judging)
        self.reading.started(1)
        self.ledger = Ledger(self.core)
        self.finishing = Finishing(
            self.core,
            self.judging,
            self.reading,
            Deaths(self.core, self.judging, self.reading),
            Afterwards(ledger=self.ledger, baselines=Baselines(self.core, self.judging)),
        )

    def run(self, run_id: str, files: Sequence[tuple[StreamKind, bytes]]) -> TrackedRun:
        """Watch a run until all of its files is read, judged, shown and written."""
        known = replace(CONTROL_RUN, run_id=RunId(run_id))
        run = TrackedRun(run=known, registered_s=0.0, progress=progress.begin(0.0))
        self.core.runs[known.run_id] = run
        for kind, text in files:
            self._read(run, kind, text)
        self.flush()
        return run

    def _read(self, run: TrackedRun, kind: StreamKind, text: bytes) -> None:
        stream = self.reading.open(run, kind, -1, HandedLog())
        if stream is None:
            return
        order = Follow(stream=stream.number, kind=kind)
        self._file.write_bytes(b"")
        fd = os.open(self._file, os.O_RDONLY)
        file = FollowedFile(
            fd, order, lambda state: parser_for(order, Configure(), state), ArrivalClock()
        )
        for offset in range(0, len(text), BATCH_BYTES):
            with self._file.open("ab") as written:
                written.write(text[offset : offset + BATCH_BYTES])
            file.look(float(offset))
            file.read()
            told = decode_report(encode(file.take_batch()))
            self.reading.told(ReaderTold(generation=1, report=told))
            self.judging.run_due(run)
        os.close(fd)

    def flush(self) -> None:
        """Show and write everything."""
        publishing = Publishing(self.core)
        for run in self.core.runs.values():
            run.view = publishing._view(run)
            self.core.touch(run)
        self.ledger.flush()

    def end(self, run: TrackedRun) -> None:
        """Its end is settled, and all is let go of."""
        run.end = RunEnd(kind=EndKind.EXITED, at_s=900.0, exit_code=0, signal=None)
        for stream in run.streams:
            stream.fd = None
        self.finishing.finish(run)
        self.flush()


def _proven(checks: Sequence[AnyCheck]) -> tuple[Gate, ...]:
    to = ProvenTo(controls=True, sabotage=True)
    return tuple(
        Gate(check=c.name, stage=c.stage, state=GateState.PROVEN, proven_to=to) for c in checks
    )


def held_bytes() -> int:
    """What is held now, without what in the daemon's own process is not: the reader's."""
    gc.collect()
    kept = tracemalloc.take_snapshot().filter_traces(
        [
            tracemalloc.Filter(False, "*/pfid/workers/*"),
            tracemalloc.Filter(False, tracemalloc.__file__),
        ]
    )
    return sum(trace.size for trace in kept.traces)


def files_of(ranks: int) -> list[tuple[StreamKind, bytes]]:
    """A log alone, or the beginning of one and a step file of each rank."""
    if not ranks:
        return [(StreamKind.LOG, printed())]
    return [
        (StreamKind.LOG, printed()[:BATCH_BYTES]),
        *((StreamKind.STEPS, reported(rank)) for rank in range(min(ranks, STREAMS_MAX) - 2, 0, -1)),
        (StreamKind.STEPS, reported(0, STEPS)),
        *((StreamKind.STEPS, reported(rank)) for rank in range(STREAMS_MAX - 2, ranks)),
    ]


def hostile_log() -> bytes:
    """Counters that go back, bars of many names, markers with long words, bad losses, no end."""
    lines = [
        f'{{"{key}": {step}, "loss": NaN, "{seconds}": 1.5}}'
        for turn in range(40)
        for key, seconds in (("step", "seconds"), ("global_step", "step_time"))
        for step in range(turn % 7 + 1, 12)
    ]
    bars = [f"\r{'d' * 79}{n}:  10%|#| 1/10 [00:01<00:10, 1.0{'u' * 60}/s]" for n in range(200)]
    words = "\U0001f4a5" * 300
    said = [f"torch._dynamo hit config.recompile_limit (8) {words}", f"RuntimeError: NCCL {words}"]
    return "\n".join([*lines, *bars, *said, '{"step": 1' + " " * 60_000]).encode()


def mixed() -> bytes:
    """A step file of single steps and of intervals in turn, as many as are kept exact of one."""
    text = (
        f'{{"step":{11 * n + 10 * odd + 1},"seconds":{1 + n * 7919 % 211 / 1000},"rank":0,"pid":9,'
        f'"interval_steps":{10 if odd else 1}}}\n'
        for n in range(STEPS)
        for odd in (False, True)
    )
    return "".join(text).encode()


@pytest.mark.full
@pytest.mark.parametrize("ranks", [0, 64, 256])
def test_a_run_of_any_length_keeps_no_more_than_was_said_and_one_that_is_over_little(
    ranks, tmp_path
):
    daemon, files = Daemon(tmp_path), files_of(ranks)
    daemon.run("warm", [(how, text[:BATCH_BYTES]) for how, text in (files[0], files[-1])])
    gc.collect()
    tracemalloc.start()
    try:
        before = held_bytes()
        run = daemon.run("counted", files)
        living = held_bytes() - before
        assert run.statistics.n in {STEPS - 1, STEPS}
        assert (len(run.streams), run.files_left_out) == (
            min(len(files), STREAMS_MAX),
            max(0, len(files) - STREAMS_MAX),
        )
        daemon.end(run)
        over = held_bytes() - before
    finally:
        tracemalloc.stop()
    assert living <= LIVING_BYTES
    assert over <= OVER_BYTES + OVER_RANK_BYTES * ranks


@pytest.mark.full
def test_whatever_stands_in_its_files_a_run_keeps_no_more_than_was_said(tmp_path):
    daemon, logs = Daemon(tmp_path), 9
    files = [(StreamKind.LOG, hostile_log())] * logs
    steps = [(StreamKind.STEPS, reported(rank)) for rank in range(1, STREAMS_MAX - logs)]
    daemon.run("warm", [files[0], (StreamKind.STEPS, mixed()[:BATCH_BYTES])])
    gc.collect()
    tracemalloc.start()
    try:
        before = held_bytes()
        run = daemon.run("counted", [*files, *steps, (StreamKind.STEPS, mixed())])
        living = held_bytes() - before
    finally:
        tracemalloc.stop()
    assert run.spared, "the fault was delivered"
    assert run.statistics.n == STEPS
    assert run.facts is not None
    assert run.facts.markers[Marker.RECOMPILE_LIMIT].quoted == logs
    assert living <= LIVING_BYTES


@pytest.mark.full
def test_nothing_is_kept_of_runs_relaunched_again_and_again_but_the_newest_events(
    tmp_path,
):
    daemon = Daemon(tmp_path)
    core = daemon.core
    core.events, core.shown = deque(core.events, 20), deque(core.shown, 20)  # are full soon
    text = printed()[:8_000]

    def relaunched(times: int, stem: str) -> None:
        for number in range(times):
            run = daemon.run(f"{stem}-{number}", [(StreamKind.LOG, text)])
            daemon.end(run)
            daemon.finishing.leave(run)
            daemon.flush()
            daemon.ledger.committed(1)
            while core.due.pop(float("inf")) is not None:
                pass

    relaunched(6, "warm")
    gc.collect()
    tracemalloc.start()
    try:
        relaunched(4, "first")
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        relaunched(RELAUNCHES, "again")
        gc.collect()
        more = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert (len(core.runs), len(core.streams), len(core.members)) == (0, 0, 0)
    assert more <= RELAUNCHED_BYTES
