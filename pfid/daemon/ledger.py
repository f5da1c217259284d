"""What has to be on disk, and when: with each event, at its end, and now and then between.

A transition, the hysteresis state and the log offset that produced it go into one transaction.
Between events a run's offset and statistics are written together at intervals; after a kill the
log is read again from there and the same steps come out.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from pfid.daemon.baselines import left_behind
from pfid.daemon.core import BOX_SUBJECT, CHECKPOINT, Core, put_event
from pfid.daemon.tracked import Judged, Stream, TrackedRun
from pfid.domain.gpu_past import GpuPast
from pfid.wire.control import Reply
from pfid.wire.stored import (
    DropStreams,
    Expire,
    PutGpu,
    PutRun,
    PutSettling,
    PutSteps,
    PutStream,
    RunBody,
    StepsBody,
    StreamBody,
    pack,
)

CHECKPOINT_S: Final = 20.0
"""How often the place in a log that moves is written without an event."""
CHECKPOINTS_AT_ONCE: Final = 4
CHECKPOINT_REST_S: Final = 0.02
"""The others follow after so long: the disk has taken the first by then."""
DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Promise:
    """A reply that waits until a change set is on disk."""

    number: int
    conn: int
    reply: Reply


class Ledger:
    """Turns what was touched into change sets."""

    def __init__(self, core: Core) -> None:
        """Write for ``core``."""
        self._core = core
        self._box_written: dict[str, object] = {}
        self._last_events: deque[tuple[int, int]] = deque()
        self.promises: list[Promise] = []
        self.waiting: list[tuple[int, Reply]] = []

    def promise(self, conn: int, reply: Reply) -> None:
        """Answer once everything of this turn is on disk."""
        self.waiting.append((conn, reply))

    def flush(self) -> None:
        """Hand over what this turn changed, as one."""
        core = self._core
        for run in core.touched.values():
            self._write(run)
        core.touched.clear()
        if core.settled:
            self._box()
            core.settled = False
        if not core.changes and not self.waiting:
            return
        number = core.ports.store.submit(core.changes)
        core.changes = []
        self._last_events.append((number, core.event_id))
        self.promises += [Promise(number, conn, reply) for conn, reply in self.waiting]
        self.waiting.clear()

    def committed(self, number: int) -> tuple[list[Promise], int]:
        """Everything up to ``number`` is on disk.

        Returns:
            The promises that can be kept now, and the last event that is on disk.
        """
        kept = [p for p in self.promises if p.number <= number]
        self.promises = [p for p in self.promises if p.number > number]
        last_event = 0
        while self._last_events and self._last_events[0][0] <= number:
            _, last_event = self._last_events.popleft()
        return kept, last_event

    def break_promises(self) -> list[Promise]:
        """Nothing can be written: what waits for the disk is to be told so."""
        broken, self.promises = self.promises, []
        return broken

    def checkpoint(self) -> None:
        """Have runs written whose log has moved since they were last; a few a turn.

        What is written of a run is as large as what is kept of it: of all of them at once it
        would be as much again.
        """
        core = self._core
        now_s = core.monotonic_s()
        due = [
            run
            for run in core.runs.values()
            if run.steps_dirty and now_s - run.steps_written_s >= CHECKPOINT_S
        ]
        for run in due[:CHECKPOINTS_AT_ONCE]:
            core.touch(run)
        if len(due) > CHECKPOINTS_AT_ONCE:
            core.due.set((CHECKPOINT, BOX_SUBJECT), now_s + CHECKPOINT_REST_S)

    def checkpoint_all(self) -> None:
        """On the way out: whatever moved is written now."""
        for run in self._core.runs.values():
            if run.steps_dirty or run.dirty or (run.gpus and not run.final):
                run.steps_dirty = run.steps_dirty or bool(run.gpus)
                self._core.touch(run)

    def rewrite_everything(self) -> None:
        """The state file is new: nothing of what was written is there."""
        self._box_written.clear()
        self._core.settled = True
        for run in self._core.runs.values():
            for stream in run.streams:
                stream.dirty = True
            run.steps_dirty = True
            self._core.touch(run)
        for uuid, gpu in self._core.gpus.gpus.items():
            if gpu.written is not None:
                self._core.changes.append(PutGpu(uuid=uuid, body=pack(gpu.written)))
        self._core.changes += [put_event(event) for event in self._core.events]

    def forget(self, run: TrackedRun) -> None:
        """The run has left the page; its end, its verdicts and figures of its steps stay."""
        run.steps_dirty = True
        self._write(run)

    def expire(self) -> None:
        """Apply retention."""
        keep = self._core.config.retention
        now_s = self._core.now_s()
        self._core.changes.append(
            Expire(
                runs_ended_before_s=now_s - keep.ended_runs_days * DAY_S,
                events_before_s=now_s - keep.transitions_days * DAY_S,
            )
        )

    def _write(self, run: TrackedRun) -> None:
        """One run that cannot be written must not keep the others from it."""
        try:
            self._core.changes += self._whole(run)
        except (TypeError, ValueError, OverflowError) as error:
            self._core.ports.log.say(
                "critical", "run cannot be written", run=run.run_id, error=str(error)
            )

    def _whole(
        self, run: TrackedRun
    ) -> list[PutRun | PutStream | PutSteps | PutSettling | DropStreams]:
        changes: list[PutRun | PutStream | PutSteps | PutSettling | DropStreams]
        changes = [put_run(run)]
        run.dirty = False
        if run.final:
            changes.append(DropStreams(run_id=run.run_id))
        else:
            changes += [_put_stream(s) for s in run.streams if s.dirty]
        for stream in run.streams:
            stream.dirty = False
        if run.steps_dirty or run.steps_written_s == 0.0:
            run.steps_dirty = False
            run.steps_written_s = self._core.monotonic_s()
            changes.append(PutSteps(run_id=run.run_id, body=pack(_steps_body(run))))
        return changes

    def _box(self) -> None:
        for name, judged in self._core.box.items():
            if _moved(judged, self._box_written.get(name)):
                self._box_written[name] = judged.settling.settled
                body = pack(judged.settling)
                self._core.changes.append(PutSettling(check=name, body=body))
        for uuid, gpu in self._core.gpus.gpus.items():
            for name, judged in gpu.judged.items():
                key = settling_key(name, uuid)
                if _moved(judged, self._box_written.get(key)):
                    self._box_written[key] = judged.settling.settled
                    self._core.changes.append(PutSettling(check=key, body=pack(judged.settling)))


def settling_key(check: str, uuid: str) -> str:
    """Under which the state of a check about a GPU is stored."""
    return f"{check}@{uuid}"


def _moved(judged: Judged, written: object) -> bool:
    return judged.settling.changed and judged.settling.settled is not written


def run_body(run: TrackedRun) -> RunBody:
    """What is stored of a run."""
    usage = run.usage
    return RunBody(
        run=run.run,
        state=run.state,
        end=run.end,
        stop=run.stop,
        deaths=tuple(run.deaths),
        synthetic=run.synthetic,
        restarts_left=run.restarts_left,
        launcher_pid=run.launcher_pid,
        registered_monotonic_s=run.registered_s,
        last_progress_at_s=run.last_progress_at_s,
        usage=(
            usage.gone_cpu_s,
            usage.gone_read_bytes,
            usage.gone_written_bytes,
            usage.io_known,
        ),
        founders=tuple(run.founders),
        settlings={
            name: pack(judged.settling)
            for name, judged in run.judged.items()
            if judged.settling.settled is not None
        },
        left=left_behind(run) if run.end is not None else None,
        handed=run.handed,
        regime=run.regime_while_alive,
        final=run.final,
        gpus=gpu_pasts(run) if run.final else (),
        files_left_out=run.files_left_out,
    )


def put_run(run: TrackedRun) -> PutRun:
    """The row of a run."""
    return PutRun(
        run_id=run.run_id,
        name=run.run.name,
        fingerprint=run.run.fingerprint,
        uid=run.run.uid,
        synthetic=run.synthetic,
        started_at_s=run.run.started_at_s,
        ended_at_s=None if run.end is None else run.end.at_s,
        body=pack(run_body(run)),
    )


def _put_stream(stream: Stream) -> PutStream:
    body = StreamBody(
        kind=stream.kind,
        begins_at=stream.begins_at,
        size_at_start=stream.size_at_start,
        offset=stream.offset,
        parser_state=stream.parser_state,
        facts=stream.facts,
        readable=stream.readable,
        finished=stream.finished,
        place=stream.place,
    )
    return PutStream(run_id=stream.run_id, ordinal=stream.ordinal, body=pack(body))


def _steps_body(run: TrackedRun) -> StepsBody:
    inside = None if run.facts is None else run.facts.inside
    return StepsBody(
        statistics=run.statistics.state(),
        progress=run.progress,
        recent=tuple(run.recent),
        leading=run.leading,
        early=run.early,
        step_clock=run.step_clock,
        achieved=run.rates.whole(inside),
        optimizers=() if inside is None else inside.optimizers,
        gpus=() if run.final else gpu_pasts(run),
    )


def gpu_pasts(run: TrackedRun) -> tuple[GpuPast, ...]:
    """What the GPUs did that it is or was on."""
    return tuple(kept.past() for kept in run.gpus.values())
