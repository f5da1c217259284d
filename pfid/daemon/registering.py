"""Taking a run under watch, and everything its launcher says about it later.

The pidfd decides who is meant and whose it is; what the message says about a process is only
believed where nothing can be read any more. A registration is acknowledged once it is on disk.
"""

from typing import Final

from pfid.daemon import unread
from pfid.daemon.baselines import left_behind
from pfid.daemon.core import EARLIER, Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.handed import Handed, sorted_out, stored_name
from pfid.daemon.judging import Judging
from pfid.daemon.messages import Asked, Died
from pfid.daemon.quotas import within_quota
from pfid.daemon.reading import Reading
from pfid.daemon.refusal import ROOT_UID, RefusalError
from pfid.daemon.tracked import Member, Stream, TrackedRun
from pfid.daemon.trees import EARLY_S, Trees
from pfid.domain.identity import Identified, ProcessIdentity
from pfid.domain.names import RUN_NAME_MAX_CHARS, RunId, RunName, run_id
from pfid.domain.run import OperatorStop, Run, RunSource
from pfid.formats.untrusted import printable
from pfid.policy import progress
from pfid.policy.baseline import EarlierRun, believable
from pfid.wire.control import Ended, HandOver, Register, StopIntent
from pfid.wire.reader import StreamKind

TEXT_CHARS: Final = 200
WHY_CHARS: Final = 500


class Registering:
    """Requests that change what is watched; acknowledged once they are on disk."""

    def __init__(
        self, core: Core, judging: Judging, reading: Reading, deaths: Deaths, trees: Trees
    ) -> None:
        """Register with ``core``."""
        self._core = core
        self._judging = judging
        self._reading = reading
        self._deaths = deaths
        self._trees = trees

    def register(self, asked: Asked, request: Register) -> RunId:
        """Watch a process.

        Raises:
            RefusalError: saying why not.
        """
        handed = sorted_out(request.roles, request.logs, asked.fds)
        try:
            known = self._core.runs.get(RunId(request.run_id))
            if known is not None:
                self._again(asked, known, request, handed)
                return known.run_id
            return self._new(asked, request, handed).run_id
        finally:
            handed.close()

    def _new(self, asked: Asked, request: Register, handed: Handed) -> TrackedRun:
        if len(handed.pidfds) != 1:
            raise RefusalError("bad_descriptor", "a new run comes with exactly one pidfd")
        who = self._core.ports.processes.identify(handed.pidfds[0])
        if who is None:
            raise RefusalError("bad_descriptor", "the handed-over pidfd is none")
        uid = self._owner(asked, who)
        within_quota(self._core, uid, 1 + len(handed.files), asked)
        tracked = self._tracked(request, who, uid, asked)
        self._take_process(tracked, who, handed)
        unread.registered(self._core, tracked.run)
        self._core.runs[tracked.run_id] = tracked
        self._take_files(tracked, handed)
        self._begin(tracked)
        return tracked

    def _owner(self, asked: Asked, who: Identified) -> int:
        if asked.uid not in {ROOT_UID, who.uid if who.uid is not None else asked.uid}:
            raise RefusalError(
                "not_yours", "the process belongs to another user", "ask its owner, or root"
            )
        return asked.uid if who.uid is None else who.uid

    def _tracked(self, request: Register, who: Identified, uid: int, asked: Asked) -> TrackedRun:
        run = self._run(request, who, uid)
        twin = self._core.by_pid.get(run.identity.pid)
        alike = twin is not None and twin.start_ticks == run.identity.start_ticks
        if twin is not None and twin.is_root and alike and self._lives(twin.run_id):
            raise RefusalError("bad_request", f"the process is watched already, as {twin.run_id}")
        now_s = self._core.monotonic_s()
        wrapper = run.source is RunSource.WRAPPER
        age_s = max(0.0, self._core.now_s() - run.started_at_s)
        handed = believable(e for e in request.earlier if e.run_id != run.run_id)
        return TrackedRun(
            run=run,
            registered_s=now_s,
            synthetic=request.synthetic,
            restarts_left=max(0, request.restarts_left),
            handed=handed,
            earlier=handed,
            launcher_pid=asked.pid if wrapper and asked.pid > 1 else None,
            progress=progress.begin(now_s - age_s if wrapper else now_s),
        )

    def _lives(self, run_id: RunId) -> bool:
        """Whether its process was not seen to die; a pid can come again within one tick."""
        run = self._core.runs.get(run_id)
        return run is not None and run.died_at_s is None

    def _run(self, request: Register, who: Identified, uid: int) -> Run:
        try:
            chosen = run_id(request.run_id)
            source = RunSource(request.source)
        except ValueError as error:
            raise RefusalError("bad_request", str(error)) from error
        return Run(
            run_id=chosen,
            name=RunName(printable(request.name, RUN_NAME_MAX_CHARS) or "run"),
            identity=who.identity or self._said_identity(request),
            uid=uid,
            username=self._core.ports.processes.username(uid),
            source=source,
            started_at_s=who.started_at_s or request.started_at_s,
            attempt=max(1, request.attempt),
            expect_step_s=request.expect_step_s,
            fit=request.fit,
            fingerprint=request.fingerprint[:TEXT_CHARS],
            job_id=None if request.job_id is None else printable(request.job_id, TEXT_CHARS),
            rank=request.rank,
            world_size=request.world_size,
        )

    def _said_identity(self, request: Register) -> ProcessIdentity:
        """Who the launcher says it was; nothing can be read of a process that is reaped."""
        return ProcessIdentity(
            machine_id=self._core.machine_id,
            boot_id=self._core.boot_id,
            pid=request.pid,
            start_ticks=request.start_ticks,
        )

    def _take_process(self, run: TrackedRun, who: Identified, handed: Handed) -> None:
        pidfd = handed.pidfds.pop()
        pid = run.run.identity.pid
        processes = self._core.ports.processes
        held = processes.hold(pid, pidfd) if who.identity is not None else None
        member = Member(
            token=self._core.token(),
            run_id=run.run_id,
            held=held or processes.hold_ended(pid, pidfd),
            start_ticks=run.run.identity.start_ticks or 0,
            comm=printable(who.comm, 32),
            is_root=True,
        )
        run.root = member
        run.oom_place = self._core.ports.oom.place_of(pid) if held is not None else None
        self._deaths.note_oom(run, self._deaths.read_oom(run), self._core.monotonic_s())
        self._trees.watch(run, member)
        self._keep(run, "p", pidfd)

    def _take_files(self, run: TrackedRun, handed: Handed) -> None:
        while handed.files:
            kind, fd, said = handed.files.pop(0)
            stream = self._reading.open(run, kind, fd, said)
            if stream is not None:
                self._keep(run, str(stream.ordinal), fd)

    def _keep(self, run: TrackedRun, part: str, fd: int) -> None:
        """Have the service manager keep a descriptor, so that a restart loses nothing."""
        self._core.ports.notify.store(stored_name(run.run_id, part), (fd,))

    def _begin(self, run: TrackedRun) -> None:
        core = self._core
        now_s = core.monotonic_s()
        for age_s in EARLY_S:
            core.due.set((f"early-{age_s}", run.run_id), now_s + age_s)
        core.touch(run)
        self._judging.poke(run, ("run", "steps", "log"))
        core.due.set((EARLIER, run.run_id), now_s)

    def _again(self, asked: Asked, run: TrackedRun, request: Register, handed: Handed) -> None:
        """The same run once more: after a restart of ours, or of a launcher that came late."""
        self._yours(asked, run)
        if handed.pidfds:
            self._take_back(run, handed)
        elif not _same_start(run.run.identity.start_ticks, request.start_ticks):
            raise RefusalError("bad_request", f"{run.run_id} is another process's run")
        run.restarts_left = max(0, request.restarts_left)
        if run.run.source is RunSource.WRAPPER and asked.pid > 1:
            run.launcher_pid = asked.pid
        self._resume_files(run, handed)
        self._core.touch(run)

    def _take_back(self, run: TrackedRun, handed: Handed) -> None:
        who = self._core.ports.processes.identify(handed.pidfds[0])
        if who is None:
            raise RefusalError("bad_descriptor", "the handed-over pidfd is none")
        if who.identity is not None and who.identity != run.run.identity:
            raise RefusalError("bad_request", f"{run.run_id} is another process's run")
        if run.root is None and not run.final:
            self._take_process(run, who, handed)
            if who.ended or run.end is not None:
                self._ask_at_once(run)

    def _ask_at_once(self, run: TrackedRun) -> None:
        if run.root is not None:
            at_s = run.died_at_s or self._core.now_s()
            self._deaths.died(
                Died(token=run.root.token, at_s=at_s, monotonic_s=self._core.monotonic_s())
            )

    def _resume_files(self, run: TrackedRun, handed: Handed) -> None:
        """Give descriptors to the streams that lost theirs, in order; a second copy is closed."""
        if not run.streams:
            self._take_files(run, handed)
            return
        lost = [s for s in run.streams if s.fd is None and not s.finished]
        for entry in tuple(handed.files):
            kind, fd, said = entry
            alike = [s for s in lost if s.kind is kind and said.place in {s.place, None}]
            alike += [s for s in lost if s.kind is kind and s.place is None]
            if not alike:
                continue
            stream = alike[0]
            lost.remove(stream)
            handed.files.remove(entry)
            stream.fd, stream.place = fd, said.place
            self._reading.follow(stream)
            self._keep(run, str(stream.ordinal), fd)

    def hand_over(self, asked: Asked, request: HandOver) -> RunId:
        """New descriptors of a run that is known.

        Raises:
            RefusalError: saying why not.
        """
        handed = sorted_out(request.roles, request.logs, asked.fds)
        try:
            run = self.find(request.run_id)
            self._yours(asked, run)
            if run.final:
                raise RefusalError("no_such_run", f"{run.run_id} has ended")
            if handed.pidfds and run.root is None:
                self._take_back(run, handed)
            within_quota(self._core, run.run.uid, len(handed.files), asked)
            behind = self._go_on(run, handed, all_logs=request.replace_logs)
            if request.replace_logs:
                self._reading.replace(run, behind)
            self._take_files(run, handed)
            self._core.touch(run)
            self._judging.poke(run, ("log",))
            return run.run_id
        finally:
            handed.close()

    def _go_on(self, run: TrackedRun, handed: Handed, *, all_logs: bool) -> list[Stream]:
        """Have streams go on in the files that took the place of theirs.

        A launcher that does not count its logs hands over all of them where one was replaced, in
        their order: one that is the same file goes on in itself.

        Returns:
            Those that do not go on.
        """
        streams = [s for s in run.streams if s.kind is StreamKind.LOG and not s.finished]
        in_order = streams if all_logs and len(streams) == len(handed.files) else ()
        behind = streams
        for number, entry in enumerate(tuple(handed.files)):
            kind, fd, said = entry
            place = said.place if said.replaces else None
            known = (s for s in streams if place is not None and s.place == place)
            stream = next(known, in_order[number] if in_order else None)
            if stream is None or kind is not StreamKind.LOG:
                continue
            behind = [s for s in behind if s is not stream]
            handed.files.remove(entry)
            self._core.ports.notify.drop(stored_name(run.run_id, str(stream.ordinal)))
            self._keep(run, str(stream.ordinal), fd)
            self._reading.succeed(run, stream, fd, said)
        return behind

    def ended(self, asked: Asked, request: Ended) -> EarlierRun | None:
        """The launcher waited for the process and reports.

        Returns:
            What the run leaves to later ones, for its owner to keep as well.

        Raises:
            RefusalError: saying why not.
        """
        run = self.find(request.run_id)
        self._yours(asked, run)
        self._deaths.told_by_launcher(run, request.exit_code, request.signal, request.at_s)
        return left_behind(run)

    def stop_intent(self, asked: Asked, request: StopIntent) -> RunId:
        """Somebody says that the run shall end; who it was is the kernel's word.

        Raises:
            RefusalError: saying why not.
        """
        run = self.find(request.run_id)
        self._yours(asked, run)
        if run.end is not None or run.died_at_s is not None:
            raise RefusalError("no_such_run", f"{run.run_id} has ended already")
        run.stop = OperatorStop(
            uid=asked.uid,
            username=self._core.ports.processes.username(asked.uid),
            why=printable(request.why, WHY_CHARS),
            at_s=self._core.now_s(),
        )
        run.changed()
        self._core.touch(run)
        return run.run_id

    def find(self, wanted: str) -> TrackedRun:
        """The run of that id.

        Raises:
            RefusalError: if there is none.
        """
        run = self._core.runs.get(RunId(wanted))
        if run is None:
            raise RefusalError("no_such_run", f"no run {wanted[:63]!r} is watched here")
        return run

    def _yours(self, asked: Asked, run: TrackedRun) -> None:
        if asked.uid not in {ROOT_UID, run.run.uid}:
            raise RefusalError(
                "not_yours", f"{run.run_id} belongs to another user", "ask its owner, or root"
            )


def _same_start(ours: int | None, said: int | None) -> bool:
    return ours is None or said is None or ours == said
