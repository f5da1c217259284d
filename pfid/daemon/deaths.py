"""From a death to a settled end: status, first death, who or what did it.

The pidfd fires when a process ends, also while it is not reaped. Its status may come a moment
later, from the kernel once the parent has reaped it, or from the launcher that waited for it.
"""

from typing import Final

from pfid.daemon.core import LEFT, Core
from pfid.daemon.judging import Judging
from pfid.daemon.messages import Died
from pfid.daemon.reading import Reading
from pfid.daemon.tracked import Member, TrackedRun
from pfid.daemon.verdicts import REGIME_CHECK
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind
from pfid.formats.untrusted import printable
from pfid.policy import ending
from pfid.policy.ending import Death
from pfid.policy.run_life import Signs, state_of

STATUS_WAITS_S: Final = (0.0005, 0.001, 0.002, 0.004, 0.008)
"""Moments after a death at which its status is asked for, before the end is said without it."""
LATER_S: Final = 0.25
"""From then on the status is asked for at this interval, which doubles up to the next figure."""
LATER_MAX_S: Final = 30.0
STATUS_GIVEN_UP_S: Final = 3600.0
SCHEDULER_WAIT_S: Final = 1.5
"""A polite end waits so long for the log, where a scheduler says that it was its doing."""
OOM_WINDOW_S: Final = 30.0
COMM_CHARS: Final = 32


class Deaths:
    """Ends of processes and of runs."""

    def __init__(self, core: Core, judging: Judging, reading: Reading) -> None:
        """Take note for ``core``."""
        self._core = core
        self._judging = judging
        self._reading = reading
        self._asked: dict[int, int] = {}
        self._seen: dict[int, Died] = {}

    def died(self, message: Died) -> None:
        """A process ended."""
        member = self._core.members.get(message.token)
        if member is None:
            return
        self._seen[member.token] = message
        run = self._core.runs.get(member.run_id)
        if run is not None and member.is_root:
            run.died_at_s, run.died_s = message.at_s, message.monotonic_s
            run.defunct = True
        self.ask_status(member.token)

    def ask_status(self, token: int) -> None:
        """Ask how it ended; if nobody can tell yet, ask again soon."""
        member = self._core.members.get(token)
        died = self._seen.get(token)
        run = None if member is None else self._core.runs.get(member.run_id)
        if member is None or died is None or run is None:
            return
        status = member.held.status()
        tries = self._asked.get(token, 0)
        self._asked[token] = tries + 1
        if status is None and tries < len(STATUS_WAITS_S):
            self._again(token, STATUS_WAITS_S[tries])
            return
        if member.is_root:
            self._root_status(run, member, status, died)
            return
        code, number = status or (None, None)
        run.deaths.append(self._death(run, member, code, number, died.at_s))
        self.forget(member)

    def _again(self, token: int, wait_s: float) -> None:
        self._core.due.set(("status", token), self._core.monotonic_s() + wait_s)

    def _root_status(
        self,
        run: TrackedRun,
        member: Member,
        status: tuple[int | None, int | None] | None,
        died: Died,
    ) -> None:
        code, number = status or (None, None)
        if status is not None:
            run.defunct = member.held.read() is not None
            self._status_known(run, self._death(run, member, code, number, died.at_s))
            return
        if run.end is None:
            self.settle(run, self._death(run, member, None, None, died.at_s))
        waited_s = self._core.monotonic_s() - died.monotonic_s
        if waited_s < STATUS_GIVEN_UP_S and not run.final:
            self._again(member.token, min(LATER_MAX_S, max(LATER_S, waited_s)))

    def _status_known(self, run: TrackedRun, root: Death) -> None:
        """A status that may be a scheduler's doing waits for the log; any other settles now."""
        polite = ending.polite_end(root) and run.stop is None and not run.drained
        if polite and run.end is None and self._reading.drain(run):
            run.deaths.append(root)
            self._core.due.set(("drained", run.run_id), self._core.monotonic_s() + SCHEDULER_WAIT_S)
            return
        self.settle(run, root)

    def drained(self, run: TrackedRun) -> None:
        """The log was read to its end, or that took too long."""
        run.drained = True
        if run.end is not None:
            self._core.due.set((LEFT, run.run_id), self._core.monotonic_s())
        if run.end is None and run.died_at_s is not None:
            root = next((d for d in reversed(run.deaths) if d.is_root), None)
            if root is not None:
                self.settle(run, root)
        elif run.end is not None:
            self.reconsider(run)
        if not run.final:
            for stream in run.streams:
                if not stream.following:
                    self._reading.follow(stream)

    def settle(self, run: TrackedRun, root: Death, unseen: EndKind | None = None) -> None:
        """Say how the run ended; said again with more knowledge, the end changes."""
        others = [d for d in run.deaths if not d.is_root]
        markers = ending.telling(run.facts.markers, root.at_s) if run.facts else ()
        end = ending.classify(root, others=others, stop=run.stop, markers=markers, unseen=unseen)
        if end == run.end:
            return
        if not any(d == root for d in run.deaths):
            run.deaths.append(root)
        first_time = run.end is None
        if first_time:
            run.regime_while_alive = _regime(run)
        run.end = end
        run.state = state_of(Signs(end=end))
        self._core.touch(run)
        self._judging.life_changed(run)
        if not first_time:
            self._judging.life_told(run)
            return
        now_s = self._core.monotonic_s()
        self._core.due.set(("ended", run.run_id), now_s)
        self._core.due.set((LEFT, run.run_id), now_s)
        self._core.due.set(("final", run.run_id), now_s + (1.0 if run.streams else 0.1))

    def ended(self, run: TrackedRun) -> None:
        """Do what an end brings with it, once it is on its way to the disk."""
        self._judging.life_told(run)
        if not run.drained:
            self._reading.drain(run)

    def reconsider(self, run: TrackedRun) -> None:
        """Classify the end again: the log or the operator has said more."""
        root = next((d for d in reversed(run.deaths) if d.is_root), None)
        if root is not None and run.end is not None:
            unseen = run.end.kind if run.end.kind in _UNSEEN else None
            self.settle(run, root, unseen)

    def told_by_launcher(
        self, run: TrackedRun, code: int | None, number: int | None, at_s: float
    ) -> None:
        """The launcher waited for the process and says how it ended; its word fills a gap only."""
        known = run.end is not None and (run.end.exit_code, run.end.signal) != (None, None)
        if known:
            return
        if run.died_at_s is None:
            run.died_at_s, run.died_s = at_s, self._core.monotonic_s()
        pid = run.run.identity.pid
        comm = run.root.comm if run.root is not None else ""
        run.defunct = False
        self._status_known(
            run,
            Death(
                pid=pid,
                comm=comm,
                exit_code=code,
                signal=number,
                at_s=run.died_at_s,
                is_root=True,
                oom_kills=self._oom_kills(run) if number == ending.SIGKILL else None,
            ),
        )

    def _death(
        self, run: TrackedRun, member: Member, code: int | None, number: int | None, at_s: float
    ) -> Death:
        return Death(
            pid=member.held.pid,
            comm=printable(member.comm, COMM_CHARS),
            exit_code=code,
            signal=number,
            at_s=at_s,
            is_root=member.is_root,
            oom_kills=self._oom_kills(run) if number == ending.SIGKILL else None,
        )

    def _oom_kills(self, run: TrackedRun) -> int | None:
        """OOM kills counted since half a minute ago, in the run's cgroup or else on the box."""
        now = self.read_oom(run)
        before = next((count for _, count in run.oom_seen if count is not None), None)
        return None if now is None or before is None else max(0, now - before)

    def read_oom(self, run: TrackedRun) -> int | None:
        """Read the counter that speaks for the run."""
        oom = self._core.ports.oom
        return oom.box() if run.oom_place is None else oom.cgroup(run.oom_place)

    def note_oom(self, run: TrackedRun, count: int | None, now_s: float) -> None:
        """Remember a reading; the oldest kept is about half a minute old."""
        run.oom_seen.append((now_s, count))
        while len(run.oom_seen) > 2 and now_s - run.oom_seen[1][0] > OOM_WINDOW_S:
            run.oom_seen.popleft()

    def forget(self, member: Member) -> None:
        """Let go of a process that is over."""
        self._core.due.drop(("status", member.token))
        self._core.ports.deaths.unwatch(member.held.pidfd)
        self._asked.pop(member.token, None)
        self._seen.pop(member.token, None)
        self._core.members.pop(member.token, None)
        if self._core.by_pid.get(member.held.pid) is member:
            del self._core.by_pid[member.held.pid]
        run = self._core.runs.get(member.run_id)
        if run is not None and run.members.get(member.held.pid) is member:
            del run.members[member.held.pid]
            self._retire(run, member)
        member.held.close()

    def _retire(self, run: TrackedRun, member: Member) -> None:
        if member.reading is not None:
            run.usage.gone_cpu_s += member.reading.cpu_s
        if member.io is not None:
            run.usage.gone_read_bytes += member.io.read_bytes
            run.usage.gone_written_bytes += member.io.written_bytes


_UNSEEN: Final = frozenset({EndKind.UNOBSERVED, EndKind.HOST_LOST})


def _regime(run: TrackedRun) -> Outcome | None:
    judged = run.judged.get(REGIME_CHECK)
    settled = None if judged is None else judged.settling.settled
    return None if settled is None else settled.outcome


def unseen_death(run: TrackedRun, at_s: float) -> Death:
    """The death of a root that nobody saw."""
    return Death(
        pid=run.run.identity.pid, comm="", exit_code=None, signal=None, at_s=at_s, is_root=True
    )
