"""What becomes of what a check says: settled, counted, shown, announced, and what follows from it.

When a check runs is another matter (:mod:`pfid.daemon.judging`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from pfid.analysis import early_steps
from pfid.daemon.core import LEFT, Core, Judgeable
from pfid.daemon.tracked import Judged, TrackedRun
from pfid.daemon.worlds import baseline_of
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import CheckCost
from pfid.domain.step_summary import BaselineSource
from pfid.domain.transition import Transition
from pfid.domain.verdict import BOX, Entity, EntityKind, Verdict
from pfid.policy.evaluate import attempt
from pfid.policy.hysteresis import settle
from pfid.policy.views import transition, verdict_view
from pfid.spec.check import AnyCheck
from pfid.spec.reasons import UNPROVEN
from pfid.spec.world import World

REGIME_CHECK: Final = "step_time_regime"


class Verdicts:
    """Of checks about runs, GPUs and the box; ``run`` is None for those that are no run's."""

    def __init__(self, core: Core) -> None:
        """Settle into what ``core`` holds."""
        self._core = core
        self._waiting: list[Callable[[], None]] | None = None

    @contextmanager
    def news_first(self, waiting: list[Callable[[], None]]) -> Iterator[None]:
        """What is no news, but shown and counted, is put into ``waiting`` meanwhile."""
        self._waiting = waiting
        try:
            yield
        finally:
            self._waiting = None

    def _after_news(self, act: Callable[[], None]) -> None:
        if self._waiting is None:
            act()
        else:
            self._waiting.append(act)

    def say_unproven(
        self,
        run: TrackedRun | None,
        check: Judgeable,
        judged: Judged,
        subject: Entity | None = None,
    ) -> None:
        """Nothing that an unproven check says counts, and that is what is said."""
        verdict = Verdict(
            outcome=Outcome.UNKNOWN,
            reason=UNPROVEN,
            summary="the check is not proven, so nothing it says counts",
            entity=subject,
        )
        judged.seen = -1 if run is None else run.version
        self.take(run, check, judged, verdict)

    def evaluate(
        self, run: TrackedRun | None, check: AnyCheck, judged: Judged, world: World
    ) -> None:
        """Run a check here and now, and take what it says."""
        began_s = time.perf_counter()
        tried = attempt(check, world)
        took_s = time.perf_counter() - began_s
        late = took_s > check.deadline_s
        count = partial(self.count, check, took_s, error=bool(tried.error), timeout=late)
        self._after_news(count)
        if tried.error:
            self._core.ports.log.say("error", "check failed", check=check.name, error=tried.error)
        judged.seen = -1 if run is None else run.version
        self.take(run, check, judged, tried.verdict)

    def take(
        self, run: TrackedRun | None, check: Judgeable, judged: Judged, verdict: Verdict
    ) -> None:
        """Settle a raw verdict; announce it if that changes anything."""
        core = self._core
        at_s, now_s = core.now_s(), core.monotonic_s()
        if verdict.entity is None:
            verdict = replace(verdict, entity=_subject(run))
        before = judged.settling
        judged.settling = settle(before, verdict, check.hysteresis, now_s, at_s)
        judged.raw = verdict.outcome
        judged.ran_s, judged.last_run_s = now_s, at_s
        core.snapshot_stale = True
        core.settled |= run is None
        announced = transition(check, judged.settling, at_s)
        if announced is not None:
            core.announce(announced, run)
        self._after_news(partial(self._show, run, check, judged, announced))

    def _show(
        self,
        run: TrackedRun | None,
        check: Judgeable,
        judged: Judged,
        announced: Transition | None,
    ) -> None:
        judged.view = verdict_view(
            check,
            judged.settling,
            last_run_s=judged.last_run_s,
            proven=self._core.checks.proven(check.name),
            synthetic=run is not None and run.synthetic,
        )
        if announced is not None:
            self._fired(check, announced.verdict)
            if run is not None:
                self._consequences(run, check, announced.verdict)

    def _consequences(self, run: TrackedRun, check: Judgeable, verdict: Verdict) -> None:
        """A run judged slow against something older may not be its own measure."""
        if check.name != REGIME_CHECK:
            return
        self._core.due.set((LEFT, run.run_id), self._core.monotonic_s())
        if verdict.outcome is not Outcome.FAIL:
            return
        baseline = baseline_of(run)
        if baseline is not None and baseline.source is not BaselineSource.OWN_EARLY_STEPS:
            run.early = early_steps.refuse(run.early)

    def _fired(self, check: Judgeable, verdict: Verdict) -> None:
        if verdict.outcome is Outcome.FAIL:
            cost = self._core.cost(check.name)
            self._core.costs[check.name] = replace(cost, firings=cost.firings + 1)

    def count(self, check: Judgeable, took_s: float, *, error: bool, timeout: bool) -> None:
        """Note what a run of a check has cost."""
        cost = self._core.cost(check.name)
        self._core.costs[check.name] = CheckCost(  # not replace(): four times the time, at each run
            check=cost.check,
            last_run_s=self._core.now_s(),
            runs=cost.runs + 1,
            seconds=cost.seconds + took_s,
            errors=cost.errors + error,
            timeouts=cost.timeouts + timeout,
            firings=cost.firings,
        )


def _subject(run: TrackedRun | None) -> Entity:
    return BOX if run is None else Entity(EntityKind.RUN, run.run_id)
