"""Runs the checks about runs that are due; what they say is settled by :mod:`pfid.daemon.verdicts`.

A check runs when its evidence changed, at most once in its cadence, and when time alone could
change its answer, which is where it asked for the time: while a run is silent, at a quarter of
the silence, so that a box of quiet runs costs little and a stall is still seen within a quarter of
the time it takes to call it one.
"""

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, Protocol

from pfid.daemon.core import Core, Judgeable
from pfid.daemon.tracked import Judged, TrackedRun
from pfid.daemon.verdicts import Verdicts
from pfid.daemon.worlds import Asked, frozen_world, run_world
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.reasons import OVERDUE, TIMED_OUT
from pfid.spec.world import World
from pfid.wire.plugins import CheckInfo

QUIET_SHARE: Final = 0.25
QUIET_MAX_S: Final = 30.0
UNCHANGED_MAX_S: Final = 120.0
"""A check that asks for no time is asked again so seldom while nothing it reads has changed; new
evidence makes it due at once."""
GRID_S: Final = 0.25
GRID_SHARE: Final = 0.125
"""What is due later is due at a multiple of ``GRID_S`` doubled up to this share of its wait: one
awakening serves many runs, and what can wait long waits for more of them."""
OVERDUE_CADENCES: Final = 3.0
"""A check that has not run for so many of its intervals is overdue, and that is its verdict."""
OVERDUE_LEAST_S: Final = 30.0
GPU_PORT: Final = "gpus"
LIFE_PORT: Final = "run"
_TIMELESS: Final = frozenset({LIFE_PORT, "steps", "log", "gates", "clock", GPU_PORT})
"""Ports that say by themselves whether a check asked them for the time."""


class PluginPort(Protocol):
    """Runs checks of third parties in a process that may hang or crash."""

    def ask(self, check: str, subject: str, world: World) -> None:
        """Have a check evaluated; the verdict comes as a message."""
        ...

    def expire(self) -> None:
        """Answer for those that are past their deadline."""
        ...


class Judging:
    """The checks of stage ``watch`` over every run."""

    def __init__(self, core: Core, plugins: PluginPort | None = None) -> None:
        """Judge what ``core`` holds; ``plugins`` runs what must not run here."""
        self._core = core
        self._plugins = plugins
        self._verdicts = Verdicts(core)
        self._put_off: list[Callable[[], None]] = []

    def poke(self, run: TrackedRun, ports: Collection[str] = ()) -> None:
        """New evidence: checks that read one of ``ports`` are due now, the others in cadence."""
        run.changed()
        self._look_again(run, ports)

    def _look_again(self, run: TrackedRun, ports: Collection[str]) -> None:
        core = self._core
        now_s = core.monotonic_s()
        for check in core.checks.run:
            judged = self._of(run, check)
            if judged.seen == run.version:
                continue
            waits_s = 0.0 if any(p in check.reads for p in ports) else check.cadence_s
            ran_s = judged.ran_s
            due_s = now_s if ran_s is None else min(judged.due_s, max(now_s, ran_s + waits_s))
            judged.due_s = due_s
        self._schedule(run)

    def look_in_cadence(self, run: TrackedRun, port: str) -> None:
        """What ``port`` tells may have changed: who reads it looks once its cadence is over."""
        now_s = self._core.monotonic_s()
        for check in self._core.checks.run:
            if port in check.reads:
                judged = self._of(run, check)
                ran_s = now_s if judged.ran_s is None else judged.ran_s
                judged.due_s = min(judged.due_s, max(now_s, ran_s + check.cadence_s))
        self._schedule(run)

    def start_after(self, run: TrackedRun, wait_s: float) -> None:
        """Judge a resumed run only once its log could be read on."""
        for check in self._core.checks.run:
            self._of(run, check).due_s = self._core.monotonic_s() + wait_s
        self._schedule(run)

    def _schedule(self, run: TrackedRun) -> None:
        if run.judged and not run.final:
            due_s = min(j.due_s for j in run.judged.values())
            self._core.due.set(("judge", run.run_id), _on_grid(due_s, self._core.monotonic_s()))

    def run_due(self, run: TrackedRun) -> None:
        """Run every check of the run that is due."""
        self._ask(run, self._core.checks.run)
        self._schedule(run)

    def life_changed(self, run: TrackedRun) -> None:
        """Run our checks that are about the run's life alone; the others wait for ``life_told``.

        A death waits for nobody: what it means is told before what else it makes worth a look.
        """
        run.changed()
        checks = self._core.checks.run
        about_life = [c for c in checks if c.reads == (LIFE_PORT,) and not isinstance(c, CheckInfo)]
        for check in about_life:
            self._of(run, check).due_s = 0.0
        with self._verdicts.news_first(self._put_off):
            self._ask(run, about_life)
        self._put_off.append(partial(self._schedule, run))

    def life_told(self, run: TrackedRun) -> None:
        """Have the others look that read of the run's life and have not seen it yet."""
        self.catch_up()
        self._look_again(run, (LIFE_PORT,))

    def catch_up(self) -> None:
        """Do what was put off for news; to be called before anybody is shown anything."""
        while self._put_off:  # one that fails must not take the others with it
            self._put_off.pop(0)()

    def _ask(self, run: TrackedRun, checks: Collection[Judgeable]) -> None:
        core = self._core
        now_s = core.monotonic_s()
        world: World | None = None
        asked = Asked()
        for check in checks:
            judged = self._of(run, check)
            if judged.due_s > now_s:
                continue
            if not core.checks.proven(check.name):
                self._verdicts.say_unproven(run, check, judged)
            elif self._held_back(run, check):
                pass
            elif isinstance(check, CheckInfo):
                self._send_out(run, check, judged, now_s)
            else:
                world = world or run_world(core, run, asked)
                asked.time = False
                self._verdicts.evaluate(run, check, judged, world)
                judged.timed = asked.time or not _TIMELESS.issuperset(check.reads)
            judged.due_s = self._next_due_s(run, check, judged, now_s)

    def come_back(self, check_name: str, subject: str, verdict: Verdict, error: str) -> None:
        """Take the plugin worker's answer."""
        core = self._core
        check = next((c for c in core.checks.run if c.name == check_name), None)
        run = next((r for r in core.runs.values() if r.run_id == subject), None)
        if check is None or run is None or run.final:
            return
        judged = self._of(run, check)
        since_s, judged.waiting_since_s = judged.waiting_since_s, None
        took_s = 0.0 if since_s is None else core.monotonic_s() - since_s
        timed_out = verdict.reason == TIMED_OUT
        self._verdicts.count(check, took_s, error=bool(error) and not timed_out, timeout=timed_out)
        self._verdicts.take(run, check, judged, verdict)

    def overdue(self) -> None:
        """Give checks that did not come to run the verdict UNKNOWN ``overdue``."""
        core = self._core
        if self._plugins is not None:
            self._plugins.expire()
        sent_out = [c for c in core.checks.run if isinstance(c, CheckInfo)]
        now_s = core.monotonic_s()
        for run in core.living() if sent_out else ():
            for check in sent_out:
                judged = self._of(run, check)
                since_s = judged.waiting_since_s
                limit_s = max(OVERDUE_CADENCES * check.cadence_s, OVERDUE_LEAST_S)
                if since_s is not None and now_s - since_s > limit_s:
                    judged.waiting_since_s = None
                    summary = "the check was due and did not run"
                    late = Verdict(outcome=Outcome.UNKNOWN, reason=OVERDUE, summary=summary)
                    self._verdicts.take(run, check, judged, late)

    def _of(self, run: TrackedRun, check: Judgeable) -> Judged:
        judged = run.judged.get(check.name)
        if judged is None:
            judged = run.judged[check.name] = Judged(due_s=self._core.monotonic_s())
        return judged

    def _held_back(self, run: TrackedRun, check: Judgeable) -> bool:
        """While it is being found out how a run ended, nobody is to judge the end."""
        return run.died_at_s is not None and run.end is None and "run" in check.reads

    def _send_out(self, run: TrackedRun, check: Judgeable, judged: Judged, now_s: float) -> None:
        if judged.waiting_since_s is not None:
            return
        if self._plugins is not None:
            judged.waiting_since_s = now_s
            judged.ran_s = now_s
            judged.seen = run.version
            self._plugins.ask(check.name, run.run_id, frozen_world(self._core, run))
            return
        summary = "the check was due and did not run"
        late = Verdict(outcome=Outcome.UNKNOWN, reason=OVERDUE, summary=summary)
        self._verdicts.take(run, check, judged, late)

    def _next_due_s(self, run: TrackedRun, check: Judgeable, judged: Judged, now_s: float) -> float:
        settled = judged.settling.settled
        moving = settled is None or judged.raw is not settled.outcome
        if moving or judged.seen != run.version:
            return now_s + check.cadence_s
        if run.end is not None or not judged.timed:
            return now_s + max(check.cadence_s, UNCHANGED_MAX_S)
        silent_s = now_s - run.progress.sign_s
        return now_s + max(check.cadence_s, min(QUIET_MAX_S, QUIET_SHARE * silent_s))


def _on_grid(due_s: float, now_s: float) -> float:
    if due_s <= now_s:
        return due_s
    grid_s = GRID_S
    while 2 * grid_s <= (due_s - now_s) * GRID_SHARE:
        grid_s *= 2
    return math.ceil(due_s / grid_s) * grid_s
