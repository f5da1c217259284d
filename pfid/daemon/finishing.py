"""What is done with a run after its end: judge once more, let go, show for a while, forget."""

from dataclasses import dataclass, replace
from typing import Final

from pfid.daemon.baselines import Baselines
from pfid.daemon.core import Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.handed import stored_name
from pfid.daemon.judging import Judging
from pfid.daemon.ledger import Ledger
from pfid.daemon.publishing import SHOWN_STEPS
from pfid.daemon.reading import Reading
from pfid.daemon.tracked import TrackedRun
from pfid.domain.names import RunId

WITH_MEMBERS_S: Final = 30.0
"""Processes that outlive their root may still write; its log is followed so long."""
AGAIN_S: Final = 1.0
READ_OUT_S: Final = 60.0
"""So long the last word waits for what the run wrote: a reader may only now come up, or anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Afterwards:
    """Who keeps what stays of a run."""

    ledger: Ledger
    baselines: Baselines


class Finishing:
    """The last of every run."""

    def __init__(
        self, core: Core, judging: Judging, reading: Reading, deaths: Deaths, after: Afterwards
    ) -> None:
        """Finish runs of ``core``."""
        self._core = core
        self._judging = judging
        self._reading = reading
        self._deaths = deaths
        self._after = after
        self._given_up_s: dict[RunId, float] = {}

    def finish(self, run: TrackedRun) -> None:
        """The end is settled: judge once more, let go of everything."""
        core = self._core
        now_s = core.monotonic_s()
        if run.final:
            return
        if self._lives_on(run, now_s) or self._unread(run, now_s):
            core.due.set(("final", run.run_id), now_s + AGAIN_S)
            return
        self._given_up_s.pop(run.run_id, None)
        run.defunct = run.defunct and self._still_defunct(run)
        self._judging.poke(run, ("run", "log", "steps"))
        self._judging.run_due(run)
        self._after.baselines.left(run)
        run.final = True
        core.due.drop(("judge", run.run_id))
        self._reading.let_go(run)
        for member in list(run.members.values()):
            self._deaths.forget(member)
        for part in ("p", *(str(s.ordinal) for s in run.streams)):
            core.ports.notify.drop(stored_name(run.run_id, part))
        run.root = None
        core.touch(run)
        _shrink(run)
        self.leave_later(run)

    def _still_defunct(self, run: TrackedRun) -> bool:
        """Whether nobody has collected the process; its parent mostly does so in a moment."""
        return run.root is None or run.root.held.read() is not None

    def _lives_on(self, run: TrackedRun, now_s: float) -> bool:
        others = any(not m.is_root for m in run.members.values())
        return others and run.died_s is not None and now_s - run.died_s < WITH_MEMBERS_S

    def _unread(self, run: TrackedRun, now_s: float) -> bool:
        """Whether to wait for its text, which is asked for again: a reader may have died on it."""
        given_up_s = self._given_up_s.setdefault(run.run_id, now_s + READ_OUT_S)
        if now_s >= given_up_s or not self._reading.owed(run):
            return False
        self._reading.drain(run)
        return True

    def leave_later(self, run: TrackedRun) -> None:
        """Show the ended run for a while; counted from its end."""
        core = self._core
        ended_at_s = core.now_s() if run.end is None else run.end.at_s
        left_s = ended_at_s + core.config.page.ended_run_linger_s - core.now_s()
        core.due.set(("leave", run.run_id), core.monotonic_s() + max(0.0, left_s))

    def leave(self, run: TrackedRun) -> None:
        """The run has been shown long enough."""
        core = self._core
        self._after.ledger.forget(run)
        core.runs.pop(run.run_id, None)
        for stream in run.streams:
            core.streams.pop(stream.number, None)
        place = run.oom_place
        if place is not None and all(r.oom_place != place for r in core.runs.values()):
            core.ports.oom.forget(place)
            core.ports.memory.forget(place)
        core.snapshot_stale = True


def _shrink(run: TrackedRun) -> None:
    """Keep what is shown: of a run relaunched again and again a hundred may have ended lately."""
    run.statistics.freeze()
    run.rates.freeze()
    run.recent.keep(SHOWN_STEPS)
    run.early = replace(run.early, taken=())
    for stream in run.streams:
        stream.parser_state = None
