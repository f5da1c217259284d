"""What runs leave to later ones of the same name, and what they find of earlier ones.

A run leaves something as soon as its end is settled: processes that outlive it may hold up all
else for half a minute, and the next one may be there by then. An engine that serves one run alone
says so while the run lives as well, when it comes to pass and whenever its steps have doubled:
what kills the run may kill the engine with it. And a run asks more than once, for the earlier one
may be settled after it has begun.
"""

from collections.abc import Iterable
from typing import Final

from pfid.daemon.core import EARLIER, Core
from pfid.daemon.judging import Judging
from pfid.daemon.messages import EarlierFound
from pfid.daemon.tracked import TrackedRun
from pfid.daemon.verdicts import REGIME_CHECK
from pfid.domain.names import RunId
from pfid.domain.outcome import Outcome
from pfid.policy.baseline import EarlierRun, earlier_run, newest_of_each

AGAIN_AT_S: Final = (2.0, 10.0, 60.0)
"""Ages at which a run that found nothing asks once more."""
_SAID: Final = frozenset({Outcome.PASS, Outcome.FAIL})
"""A run that was over before its log was read may be known well enough a moment later."""


class Baselines:
    """Runs of one name, one after the other."""

    def __init__(self, core: Core, judging: Judging) -> None:
        """Hand on between runs of ``core``."""
        self._core = core
        self._judging = judging

    def ask(self, run: TrackedRun) -> None:
        """Ask the store what earlier runs of the same name and fingerprint left."""
        if run.end is not None:
            return
        core = self._core
        core.ports.store.find_earlier(
            lambda earlier: core.post(EarlierFound(run_id=run.run_id, earlier=earlier)),
            name=run.run.name,
            fingerprint=run.run.fingerprint,
            uid=run.run.uid,
            synthetic=run.synthetic,
        )
        now_s = core.monotonic_s()
        age_s = now_s - run.registered_s
        later_s = next((at_s for at_s in AGAIN_AT_S if at_s > age_s), None)
        if later_s is not None and not run.earlier:
            core.due.set((EARLIER, run.run_id), run.registered_s + later_s)

    def found(self, message: EarlierFound) -> None:
        """The store's answer."""
        run = self._core.runs.get(RunId(message.run_id))
        if run is not None:
            self._learn(run, message.earlier)

    def _learn(self, run: TrackedRun, earlier: Iterable[EarlierRun]) -> None:
        """Take in what others left; what the run left itself is no measure of it."""
        others = (e for e in (*run.earlier, *earlier) if e.run_id != run.run_id)
        known = newest_of_each(others)
        if known != run.earlier:
            run.earlier = known
            self._judging.poke(run, ("steps",))

    def left(self, run: TrackedRun) -> None:
        """See what the run leaves by now; if that is news, keep it and tell those that live."""
        left = left_behind(run)
        if left is None or left == run.left:
            return
        run.left = left
        self._core.ports.store.remember(run.run.name, run.run.fingerprint, left)
        if run.end is None:
            return
        self._core.touch(run)
        for other in self._core.living():
            if other is not run and _same_work(other, run):
                self._learn(other, (left,))

    def keep(self, *, at_last: bool = False) -> None:
        """Say what living runs would leave, where nobody else could say it after a kill.

        Args:
            at_last: whether this engine ends now, and the run may go on without one.
        """
        if not self._core.embedded:
            return
        for run in self._core.living():
            told = 0 if run.left is None else run.left.baseline.n
            if at_last or run.statistics.n >= 2 * told:
                self.left(run)


def left_behind(run: TrackedRun) -> EarlierRun | None:
    """What a run leaves to the baselines of later ones; of one that is over, what was told."""
    if run.final and run.left is not None:
        return run.left
    left = earlier_run(
        summary=run.statistics.summary(),
        own_early=run.early.baseline,
        regime=_regime(run),
        ended_at_s=run.last_progress_at_s or run.run.started_at_s,
        run_id=run.run_id,
    )
    return left or run.left


def _regime(run: TrackedRun) -> Outcome | None:
    """What was settled of its step times while it lived, or else once its log was read."""
    if run.regime_while_alive in _SAID:
        return run.regime_while_alive
    judged = run.judged.get(REGIME_CHECK)
    settled = None if judged is None else judged.settling.settled
    return None if settled is None else settled.outcome


def _same_work(one: TrackedRun, other: TrackedRun) -> bool:
    """Whether one can be held against the other; a self-test's run only against its like."""
    return _work(one) == _work(other)


def _work(run: TrackedRun) -> tuple[str, str, int, bool]:
    return run.run.name, run.run.fingerprint, run.run.uid, run.synthetic
