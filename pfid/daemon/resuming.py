"""Going on where the last daemon was: every run, every log at its offset.

A run that ended meanwhile is told by its pidfd where the service manager kept it, else by its
launcher if that registers again soon, else it ended unobserved. After a reboot it was lost with
the host.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from pfid.analysis.gpu_past import GpuPastKeeper
from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.step_statistics import StepStatistics
from pfid.daemon.core import DISK, EARLIER, Core
from pfid.daemon.deaths import Deaths, unseen_death
from pfid.daemon.handed import parse_stored_name, stored_name
from pfid.daemon.judging import Judging
from pfid.daemon.ledger import settling_key
from pfid.daemon.messages import Died
from pfid.daemon.reading import Reading
from pfid.daemon.tracked import Judged, Member, Stream, TrackedRun, Usage
from pfid.daemon.trees import Trees
from pfid.daemon.unread import as_stored
from pfid.domain.errors import StateError
from pfid.domain.names import RunId
from pfid.domain.run import EndKind
from pfid.policy import progress
from pfid.policy.hysteresis import Settling
from pfid.policy.views import verdict_view
from pfid.wire.packed_facts import pack_facts
from pfid.wire.stored import EndRun, GpuBody, StoredEvent, StoredRun, UnreadRun, unpack

UNREAD_MAX: Final = 100
"""Things of the stored state that could not be read are shown one by one; the log has all."""
BOOT_SLACK_S: Final = 60.0
"""The clock may have been set meanwhile: only what began clearly before the boot did."""
LAUNCHER_GRACE_S: Final = 3.0
"""A launcher has so long to register again before its run ended unobserved."""
CATCH_UP_S: Final = 3.0
"""The reader has so long to read what was written meanwhile before silence is judged."""


class RestoredState(Protocol):
    """What the store found."""

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """Living runs and those that ended a short while ago."""
        ...

    @property
    def box(self) -> Mapping[str, bytes]:
        """Hysteresis of checks about the box."""
        ...

    @property
    def last_event_id(self) -> int:
        """0 if there is none."""
        ...

    @property
    def events(self) -> tuple[StoredEvent, ...]:
        """The newest, oldest first."""
        ...

    @property
    def gpus(self) -> tuple[GpuBody, ...]:
        """GPUs that were here before."""
        ...

    @property
    def unread(self) -> tuple[UnreadRun, ...]:
        """Living runs whose row could not be read."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What else could not be read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What has to know of resumed runs.

    Attributes:
        on_disk: is told the last event that is stored.
        leave_later: has an ended run shown for what is left of its time.
    """

    core: Core
    judging: Judging
    reading: Reading
    deaths: Deaths
    trees: Trees
    on_disk: Callable[[int], None]
    leave_later: Callable[[TrackedRun], None]


class Resuming:
    """Rebuilds runs from what was stored and from descriptors that were kept."""

    def __init__(self, parts: Resumed) -> None:
        """Resume into what ``parts`` share."""
        self._core = parts.core
        self._judging = parts.judging
        self._reading = parts.reading
        self._deaths = parts.deaths
        self._trees = parts.trees
        self._on_disk = parts.on_disk
        self._leave_later = parts.leave_later

    def resume(self, state: RestoredState, passed: Iterable[tuple[str, int]]) -> None:
        """Take everything back; descriptors that belong to nobody are closed."""
        core = self._core
        core.event_id = state.last_event_id
        for event in state.events:
            core.remember(event)
        self._on_disk(state.last_event_id)
        for problem in (*state.problems, *(one.problem for one in state.unread)):
            core.ports.log.say("error", "stored state unreadable", problem=problem)
            core.sampled(DISK, error=True)
        core.state_unread = tuple(state.problems)[:UNREAD_MAX]
        for gpu in state.gpus:
            core.gpus.restore(gpu)
        self._box(state.box)
        kept = _by_run(passed)
        for stored in state.runs:
            self._run(stored, kept.pop(stored.body.run.run_id, {}))
        for unread in state.unread:
            self._unread(unread, kept)
        for run_id, parts in kept.items():
            for part, fd in parts.items():
                os.close(fd)
                core.ports.notify.drop(stored_name(run_id, part))

    def _unread(self, unread: UnreadRun, kept: dict[str, dict[str, int]]) -> None:
        """Go on by the pidfd that was kept; without one, somebody has to register the run."""
        core = self._core
        if unread.started_at_s < core.booted_at_s - BOOT_SLACK_S:
            core.changes.append(EndRun(run_id=unread.run_id))
            core.state_unread = (*core.state_unread, f"{unread.problem} (lost with the host)")
            return
        pidfd = kept.get(unread.run_id, {}).get("p")
        who = None if pidfd is None else core.ports.processes.identify(pidfd)
        if who is None or who.identity is None:
            core.unread[unread.run_id] = unread
            return
        stored = as_stored(core, unread, who.identity)
        self._run(stored, kept.pop(unread.run_id))
        core.touch(core.runs[stored.body.run.run_id])
        core.ports.log.say("warning", "run taken up by its columns", run=unread.run_id)

    def _box(self, stored: Mapping[str, bytes]) -> None:
        for check in self._core.checks.box:
            if check.name in stored:
                judged = Judged(settling=self._settling(check.name, stored[check.name]))
                self._core.box[check.name] = judged
        for check in self._core.checks.gpu:
            for uuid, gpu in self._core.gpus.gpus.items():
                if (body := stored.get(settling_key(check.name, uuid))) is not None:
                    gpu.judged[check.name] = Judged(settling=self._settling(check.name, body))

    def _run(self, stored: StoredRun, fds: dict[str, int]) -> None:
        core = self._core
        run = self._rebuilt(stored)
        core.runs[run.run_id] = run
        self._streams(run, stored, fds)
        self._settlings(run, stored)
        if run.final:
            _close(fds)
            self._leave_later(run)
            return
        if run.run.identity.boot_id != core.boot_id:
            _close(fds)
            self._lost_with_host(run)
            return
        self._process(run, fds)
        for stream in run.streams:
            self._reading.follow(stream)
        core.due.set((EARLIER, run.run_id), core.monotonic_s())
        self._judging.start_after(run, CATCH_UP_S)
        if run.end is not None:
            core.due.set(("final", run.run_id), core.monotonic_s() + CATCH_UP_S)

    def _rebuilt(self, stored: StoredRun) -> TrackedRun:
        body = stored.body
        steps = stored.steps
        run = TrackedRun(
            run=body.run,
            registered_s=body.registered_monotonic_s,
            synthetic=body.synthetic,
            restarts_left=body.restarts_left,
            launcher_pid=body.launcher_pid,
            state=body.state,
            end=body.end,
            stop=body.stop,
            final=body.final,
            regime_while_alive=body.regime,
            left=body.left,
            handed=body.handed,
            files_left_out=body.files_left_out,
            earlier=body.handed,
            founders=dict.fromkeys(body.founders),
            last_progress_at_s=body.last_progress_at_s,
            usage=Usage(
                gone_cpu_s=body.usage[0],
                gone_read_bytes=body.usage[1],
                gone_written_bytes=body.usage[2],
                io_known=body.usage[3],
            ),
            progress=progress.begin(body.registered_monotonic_s)
            if steps is None
            else steps.progress,
        )
        run.deaths.extend(body.deaths)
        for past in body.gpus or (() if steps is None else steps.gpus):
            run.gpus[past.uuid] = GpuPastKeeper.restored(past)
        if body.end is not None:
            run.died_at_s = body.end.at_s
        if steps is not None:
            self._steps(run, stored)
        return run

    def _steps(self, run: TrackedRun, stored: StoredRun) -> None:
        steps = stored.steps
        if steps is None:
            return
        try:
            run.statistics = StepStatistics.restore(steps.statistics)
        except (ValueError, KeyError, TypeError) as error:
            self._core.ports.log.say(
                "error", "stored statistics unreadable", run=run.run_id, error=str(error)
            )
        run.recent.extend(steps.recent)
        run.leading = steps.leading
        run.early = steps.early
        run.step_clock = steps.step_clock
        run.launches = LaunchWindows(begun=steps.progress.steps_seen > 0)

    def _streams(self, run: TrackedRun, stored: StoredRun, fds: dict[str, int]) -> None:
        for ordinal, body in sorted(stored.streams.items()):
            stream = Stream(
                number=self._core.stream_number(),
                ordinal=ordinal,
                run_id=run.run_id,
                kind=body.kind,
                begins_at=body.begins_at,
                size_at_start=body.size_at_start,
                fd=None if body.finished else fds.pop(str(ordinal), None),
                offset=body.offset,
                parser_state=body.parser_state,
                packed=None if body.facts is None else pack_facts(body.facts),
                readable=body.readable,
                finished=body.finished,
                place=body.place,
                dirty=False,
            )
            run.streams.append(stream)
            self._core.streams[stream.number] = stream

    def _settlings(self, run: TrackedRun, stored: StoredRun) -> None:
        for check in self._core.checks.run:
            body = stored.body.settlings.get(check.name)
            if body is None:
                continue
            settling = self._settling(check.name, body)
            judged = Judged(settling=settling)
            if settling.settled is not None:
                judged.raw = settling.settled.outcome
                judged.last_run_s = settling.since_s
                judged.view = verdict_view(
                    check,
                    settling,
                    last_run_s=settling.since_s,
                    proven=self._core.checks.proven(check.name),
                    synthetic=run.synthetic,
                )
            run.judged[check.name] = judged

    def _settling(self, name: str, body: bytes) -> Settling:
        try:
            return unpack(body, Settling)
        except StateError as error:
            self._core.ports.log.say("error", "stored verdict unreadable", check=name, error=error)
            return Settling()

    def _lost_with_host(self, run: TrackedRun) -> None:
        for stream in run.streams:
            stream.finished = True
        if run.end is None:
            at_s = run.last_progress_at_s or run.run.started_at_s
            self._deaths.settle(run, unseen_death(run, at_s), EndKind.HOST_LOST)
        self._core.due.set(("final", run.run_id), self._core.monotonic_s())

    def _process(self, run: TrackedRun, fds: dict[str, int]) -> None:
        """Hold the root again: by the pidfd that was kept, else by its identity."""
        pidfd = fds.pop("p", None)
        _close(fds)
        identity = run.run.identity
        processes = self._core.ports.processes
        who = None if pidfd is None else processes.identify(pidfd)
        if pidfd is None and not self._still_there(run):
            if run.end is None:
                due_s = self._core.monotonic_s() + LAUNCHER_GRACE_S
                self._core.due.set(("unobserved", run.run_id), due_s)
            return
        held = None
        if pidfd is None or (who is not None and who.identity is not None):
            held = processes.hold(identity.pid, pidfd)
        if held is None and pidfd is not None:
            held = processes.hold_ended(identity.pid, pidfd)
        if held is None:
            self._core.due.set(("unobserved", run.run_id), self._core.monotonic_s())
            return
        run.root = Member(
            token=self._core.token(),
            run_id=run.run_id,
            held=held,
            start_ticks=identity.start_ticks or 0,
            comm=who.comm if who is not None else "",
            is_root=True,
        )
        run.oom_place = self._core.ports.oom.place_of(identity.pid)
        self._trees.watch(run, run.root)
        if run.end is not None:
            self._ask_again(run, run.root)

    def _ask_again(self, run: TrackedRun, root: Member) -> None:
        """The end was said without its status, perhaps; ask for it once more."""
        at_s = run.died_at_s or self._core.now_s()
        self._deaths.died(Died(token=root.token, at_s=at_s, monotonic_s=self._core.monotonic_s()))

    def _still_there(self, run: TrackedRun) -> bool:
        stat = self._core.ports.processes.inspect(run.run.identity.pid)
        return stat is not None and stat.start_ticks == run.run.identity.start_ticks

    def unobserved(self, run_id: RunId) -> None:
        """Nobody can say how it ended."""
        run = self._core.runs.get(run_id)
        if run is None or run.root is not None or run.end is not None:
            return
        run.died_at_s = run.died_at_s or self._core.now_s()
        self._deaths.settle(run, unseen_death(run, run.died_at_s), EndKind.UNOBSERVED)


def _by_run(passed: Iterable[tuple[str, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, fd in passed:
        parsed = parse_stored_name(name)
        if parsed is None or parsed[1] in found.get(parsed[0], {}):
            os.close(fd)
            continue
        found.setdefault(parsed[0], {})[parsed[1]] = fd
    return found


def _close(fds: dict[str, int]) -> None:
    for fd in fds.values():
        os.close(fd)
    fds.clear()
