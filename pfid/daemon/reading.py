"""What the log reader reports becomes steps, progress and facts of a run.

The reader is disposable and knows nothing after a start: it is told every stream again, from the
place it last reported.
"""

from collections.abc import Iterable
from typing import Final

from pfid.analysis import early_steps
from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.step_statistics import StepStatistics
from pfid.daemon.core import Core
from pfid.daemon.handed import stored_name
from pfid.daemon.judging import Judging
from pfid.daemon.messages import ReaderEnded, ReaderTold
from pfid.daemon.stream_memory import STREAMS_MAX, spare
from pfid.daemon.tracked import Stream, TrackedRun
from pfid.domain.step import StepEvent
from pfid.policy import leading_writer, log_facts, progress
from pfid.wire.control import HandedLog
from pfid.wire.reader import (
    Batch,
    Closed,
    CloseReason,
    Configure,
    Follow,
    Order,
    StreamKind,
    Took,
    Unfollow,
)
from pfid.workers.closing import CLOSER

SAMPLER: Final = "steps"
ROOT_UID: Final = 0
BATCHES_MAX: Final = 2
"""Batches in the inbox at most, one to work on and one behind it. A batch of little but bars holds
some 3,500 steps, about 0.05 s of work: so long a death may have to wait for its turn."""
HUNG_STREAM_TRIES: Final = 2
"""A file on which the reader hung so often is not given to it again."""
CRASHED_STREAM_TRIES: Final = 4
"""Likewise where it died so often without a batch between; once, somebody may have killed it."""


class Reading:
    """Streams of every run."""

    def __init__(self, core: Core, judging: Judging, *, allow_fuse: bool = False) -> None:
        """Follow for ``core``; ``allow_fuse`` where one user alone is served."""
        self._core = core
        self._judging = judging
        self._allow_fuse = allow_fuse
        self._hung: dict[int, int] = {}
        self._crashed: dict[int, int] = {}

    def open(self, run: TrackedRun, kind: StreamKind, fd: int, handed: HandedLog) -> Stream | None:
        """Follow a descriptor, which becomes ours; None if the run has too many already."""
        if len(run.streams) >= STREAMS_MAX:
            CLOSER.close(fd)
            self._leave_out(run)
            return None
        stream = Stream(
            number=self._core.stream_number(),
            ordinal=max((s.ordinal for s in run.streams), default=-1) + 1,
            run_id=run.run_id,
            kind=kind,
            place=handed.place,
            begins_at=handed.begins_at,
            size_at_start=handed.size_at_start,
            fd=fd,
        )
        run.streams.append(stream)
        run.told = None
        self._core.streams[stream.number] = stream
        self.follow(stream)
        return stream

    def _leave_out(self, run: TrackedRun) -> None:
        run.files_left_out += 1
        run.changed()
        self._core.touch(run)
        if run.files_left_out == 1:
            self._core.ports.log.say(
                "warning", "a run has more files than are followed", run=run.run_id, max=STREAMS_MAX
            )

    def follow(self, stream: Stream) -> None:
        """Give the stream to the reader, from where it stands."""
        if stream.fd is None or stream.finished:
            return
        run = self._core.runs.get(stream.run_id)
        order = Follow(
            stream=stream.number,
            uid=ROOT_UID if run is None else run.run.uid,
            kind=stream.kind,
            begins_at=stream.begins_at,
            size_at_start=stream.size_at_start,
            resume_at=stream.offset,
            parser_state=stream.parser_state,
            facts=stream.facts
            if stream.kind is StreamKind.STEPS or stream.parser_state is None
            else None,
            other_file=stream.other_file,
        )
        stream.following = self._send(order, (stream.fd,))
        if stream.following and stream.successors:
            self._send(Unfollow(stream=stream.number))

    def drain(self, run: TrackedRun) -> bool:
        """Have everything read that stands there now; False if there is nothing to read.

        Each stream answers with Closed.
        """
        asked = False
        for stream in run.streams:
            if stream.following and self._send(Unfollow(stream=stream.number)):
                asked = True
        return asked

    def owed(self, run: TrackedRun) -> bool:
        """Whether an ended run's files hold text that nobody has read, or may."""
        return any(s.fd is not None and not s.finished and not s.read_out for s in run.streams)

    def let_go(self, run: TrackedRun) -> None:
        """Read nothing of the run any more, and close what was handed over."""
        for stream in run.streams:
            if stream.following:
                self._send(Unfollow(stream=stream.number))
            self._close(stream)

    def succeed(self, run: TrackedRun, stream: Stream, fd: int, handed: HandedLog) -> None:
        """Go on in a file that took the place of the stream's, once that is read to its end."""
        stream.successors = (*stream.successors, (fd, handed))
        if stream.following:
            self._send(Unfollow(stream=stream.number))
        elif stream.fd is None or run.died_at_s is not None:
            self._switch(stream)
        # else no reader runs: the next one is given the old file first

    def _switch(self, stream: Stream) -> None:
        if stream.fd is not None:
            CLOSER.close(stream.fd)
        (stream.fd, handed), *later = stream.successors
        stream.successors = tuple(later)
        stream.begins_at, stream.size_at_start = handed.begins_at, handed.size_at_start
        stream.other_file = stream.offset is not None
        stream.dirty = True
        stream.read_out = False
        self.follow(stream)
        run = self._core.runs.get(stream.run_id)
        if stream.following and run is not None and run.died_at_s is not None:
            self._send(Unfollow(stream=stream.number))

    def replace(self, run: TrackedRun, streams: Iterable[Stream]) -> None:
        """These logs are at another place now, nobody says which of them where: finish ours."""
        for stream in streams:
            stream.replaced = True
            if stream.following:
                self._send(Unfollow(stream=stream.number))
            self._close(stream)
            self._past(run, stream)
            self._core.ports.notify.drop(stored_name(run.run_id, str(stream.ordinal)))

    def _past(self, run: TrackedRun, stream: Stream) -> None:
        """Keep of a replaced stream what it adds to the others."""
        stream.parser_state = None
        facts = stream.facts
        if facts is not None:
            run.tell(stream, log_facts.without_place(facts))

    def _close(self, stream: Stream) -> None:
        stream.finished = True
        stream.dirty = True
        for fd, _ in stream.successors:
            CLOSER.close(fd)
        stream.successors = ()
        if stream.fd is not None:
            CLOSER.close(stream.fd)
            stream.fd = None

    def started(self, generation: int) -> None:
        """A fresh reader runs: tell it everything."""
        self._core.reader_generation = generation
        dialects, quotas = self._core.config.dialects, self._core.config.quotas
        self._send(
            Configure(
                regex_dialects=dict(dialects.regex),
                jsonl_keys={name: dict(keys) for name, keys in dialects.jsonl.items()},
                allow_fuse=self._allow_fuse,
                bytes_per_s=0 if self._core.embedded else quotas.log_bytes_per_s_per_user,
                batches_max=BATCHES_MAX,
            )
        )
        for stream in list(self._core.streams.values()):
            self.follow(stream)

    def ended(self, message: ReaderEnded) -> None:
        """The reader is gone; whoever made it hang or die again and again is given up."""
        log = self._core.ports.log
        log.say("error", "log reader ended", cause=message.cause, said=message.output_tail[-500:])
        self._core.sampled(
            SAMPLER, error=message.cause != "timed_out", timeout=message.cause == "timed_out"
        )
        for stream in self._core.streams.values():
            stream.following = False
        culprit = self._core.streams.get(message.touching or -1)
        if culprit is None:
            return
        hung = message.cause == "timed_out"
        strikes, tries = (
            (self._hung, HUNG_STREAM_TRIES) if hung else (self._crashed, CRASHED_STREAM_TRIES)
        )
        strikes[culprit.number] = strikes.get(culprit.number, 0) + 1
        if strikes[culprit.number] >= tries:
            self._unreadable(culprit, f"the reader {'hung' if hung else 'died'} on it")

    def told(self, message: ReaderTold) -> None:
        """Take a report of the reader that runs now; an older one's is void."""
        if message.generation != self._core.reader_generation:
            return
        self._core.sampled(SAMPLER)
        if isinstance(message.report, Batch):
            try:
                self._batch(message.report)
            finally:  # else the reader would wait for ever
                self._send(Took())
        elif isinstance(message.report, Closed):
            self._closed(message.report)

    def _batch(self, batch: Batch) -> None:
        stream = self._core.streams.get(batch.stream)
        run = None if stream is None else self._core.runs.get(stream.run_id)
        if stream is None or run is None:
            return
        self._crashed.pop(stream.number, None)
        first = stream.packed is None
        stream.offset = batch.offset
        stream.parser_state = batch.parser_state
        run.tell(stream, batch.facts)
        stream.other_file = False
        if stream.replaced:
            self._past(run, stream)
        self._spare(run)
        stream.dirty = True
        run.steps_dirty = True
        now_s = self._core.monotonic_s()
        signed_s, had = run.progress.sign_s, _has_figures(run)
        for event in batch.events:
            self._step(run, stream, event, now_s)
        run.progress = progress.advance(
            run.progress, now_s, phase=batch.phase, log_grew=batch.activity
        )
        if run.progress.sign_s != signed_s:
            run.last_progress_at_s = self._core.now_s()
        new = ("log", "steps") if first else ("steps",) if _has_figures(run) != had else ()
        self._judging.poke(run, new)
        self._core.snapshot_stale = True

    def _spare(self, run: TrackedRun) -> None:
        if spare(run.streams) and not run.spared:
            run.spared = True
            self._core.ports.log.say(
                "warning", "a run's logs take too much to remember", run=run.run_id
            )

    def _step(self, run: TrackedRun, stream: Stream, event: StepEvent, now_s: float) -> None:
        if stream.kind is StreamKind.STEPS:
            run.rates.take(event, now_s)
        before = run.leading
        run.leading, counts, anew = leading_writer.hear(before, stream.ordinal, event)
        if not counts:
            return
        if anew:
            run.statistics = StepStatistics()
            run.recent.clear()
            run.early = early_steps.EarlySteps()
            run.launches = LaunchWindows()
            if run.leading.standing < before.standing:
                run.progress = progress.recount(run.progress)
        run.step_clock = event.clock
        timed = run.launches.take(event)
        if timed is not None:
            run.statistics.add(timed)
            run.recent.append(timed)
            run.early = early_steps.take(run.early, timed)
        run.progress = progress.advance(run.progress, self._when(run, event, now_s), event=event)

    def _when(self, run: TrackedRun, event: StepEvent, now_s: float) -> float:
        """Monotonic time of an event: it may have stood in the file for a while."""
        if event.at_s is None:
            return now_s
        age_s = max(0.0, self._core.now_s() - event.at_s)
        return max(run.progress.sign_s, now_s - age_s)

    def _closed(self, closed: Closed) -> None:
        stream = self._core.streams.get(closed.stream)
        if stream is None:
            return
        stream.following = False
        if closed.why is not CloseReason.UNFOLLOWED:
            self._unreadable(stream, f"{closed.why.value} {closed.detail}".strip())
        elif stream.successors:
            self._switch(stream)
        run = self._core.runs.get(stream.run_id)
        over = run is not None and (run.died_at_s is not None or run.end is not None)
        stream.read_out = over and not stream.following
        if stream.finished:
            del self._core.streams[stream.number]
        if run is not None and not any(s.following for s in run.streams):
            self._core.due.set(("drained", run.run_id), self._core.monotonic_s())

    def _unreadable(self, stream: Stream, why: str) -> None:
        self._core.ports.log.say("warning", "log unreadable", run=stream.run_id, why=why)
        if stream.successors:
            self._switch(stream)
            return
        stream.readable = False
        self._close(stream)
        run = self._core.runs.get(stream.run_id)
        if run is not None:
            self._judging.poke(run, ("log", "steps"))
            self._core.touch(run)

    def _send(self, order: Order, fds: tuple[int, ...] = ()) -> bool:
        return self._core.ports.reader.order(order, fds, self._core.reader_generation)


def _has_figures(run: TrackedRun) -> tuple[bool, bool]:
    """Whether a step time is shown of it, and what it is held against: no verdict denies either."""
    return run.statistics.n > 0, run.early.baseline is not None
