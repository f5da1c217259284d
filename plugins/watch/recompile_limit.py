"""Say whether torch.compile hit its recompile limit, and whether that cost anything.

Dynamo's warning (all wordings so far, as a message and not quoted in a source listing) is a
suspicion only: the same line leads to a ruinous silent fallback, a crash, a hang or nothing worth
mentioning. What decides is the step times, judged as ``step_time_regime`` judges them:
``hit_consequence_seen`` fails; ``hit_consequence_not_seen`` passes, because a limit that costs
nothing is no fault, but the answer stays on the page; ``hit_consequence_unknown`` is UNKNOWN: no
baseline from before the hit, or too few steps since.

Blind spot: a process started with ``-W ignore`` or with its warnings sent elsewhere hits the limit
unseen; then only ``step_time_regime`` speaks. A slowdown with another cause after a harmless hit
is laid to the hit. A crash or hang that follows is ``run_gone`` or ``run_stalled``.

When it fires: the warning names the function and the last guard that failed (``pfid show RUN``,
for the run's owner). Pad to fewer widths, mark the dimension dynamic, or raise
``torch._dynamo.config.recompile_limit``; ``TORCH_LOGS=recompiles`` shows each one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from pfid.analysis.step_figures import Figures, of_reading, sentence
from pfid.analysis.step_regime import (
    READ_EVENTS,
    Regime,
    SlowLimits,
    after_first,
    read_regime,
    with_shift,
)
from pfid.analysis.step_regime_cases import FALLBACK, regime_edges
from pfid.analysis.step_windows import timed
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Hysteresis,
    Outcome,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog, FixedSteps, moving, step_series
from pfid.spec.playbook_series import RUN_1_N, RUN_1_RANKS, run_1
from pfid.spec.ports.log import LogFacts, Marker, MarkerSeen

ANSWERS: Final = Answers(
    {
        "no_hit": (Outcome.PASS, "no recompile limit was hit"),
        "hit_consequence_not_seen": (Outcome.PASS, "a recompile limit was hit at no visible cost"),
        "hit_consequence_seen": (Outcome.FAIL, "a recompile limit was hit and steps became slow"),
        "hit_consequence_unknown": (Outcome.UNKNOWN, "a recompile limit was hit at unknown cost"),
        "no_log": (Outcome.UNKNOWN, "the run has no log, or one that cannot be read"),
    }
)
NO_HIT: Final = LogFacts(bytes_read=4096)
HIT: Final = "hit_consequence_"
BY_REGIME: Final = {Regime.NORMAL: f"{HIT}not_seen", Regime.TOO_FEW: f"{HIT}unknown"}
MARKERS: Final = (Marker.RECOMPILE_LIMIT, Marker.FLEX_UNCOMPILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The hits, and the steps that show what they cost.

    Attributes:
        readable: whether there is a log to look for hits in, and none that cannot be read.
        hits: genuine warnings.
        hit_step: last step before the first of them.
        steps_before: steps this run made before it.
        events: the newest steps, without the first of the run.
        baseline: what they are held against.
        lines: the warnings themselves, for the run's owner.
    """

    readable: bool
    hits: int
    hit_step: int
    steps_before: int
    events: tuple[StepEvent, ...]
    baseline: Baseline | None
    lines: tuple[str, ...] = reported()


def observe(world: World) -> Seen:
    """Read the warnings, and the steps around them."""
    facts = world.log.facts()
    hits = [facts.markers[m] for m in MARKERS if m in facts.markers] if facts else []
    hits = [hit for hit in hits if hit.count]
    moves = world.steps.progress() if hits else None
    hit_step = min((hit.first_step or 0 for hit in hits), default=0)
    seen, last = (moves.steps_seen, moves.last_index or 0) if moves else (0, 0)
    return Seen(
        readable=facts is not None and not facts.unread,
        hits=sum(hit.count for hit in hits),
        hit_step=hit_step,
        steps_before=max(0, seen - max(0, last - hit_step)),
        events=after_first(world.steps.recent(READ_EVENTS)),
        baseline=world.steps.baseline(),
        lines=tuple(hit.line for hit in hits if hit.line),
    )


def judge(seen: Seen, limits: SlowLimits) -> Verdict:
    """Say whether a limit was hit; if so, let the step times say what it cost."""
    if not seen.hits:
        return ANSWERS.say("no_hit" if seen.readable else "no_log")
    hits: Figures = {"hits": (seen.hits, "1"), "hit_step": (seen.hit_step, "steps")}
    if seen.baseline is None:
        detail = "there is no baseline"
        return ANSWERS.say(f"{HIT}unknown", detail, figures=hits, evidence=seen.lines)
    reading = read_regime(seen.events, seen.baseline, with_shift(limits))
    return ANSWERS.say(
        f"{HIT}{_consequence(seen, seen.baseline, reading.regime, limits)}",
        sentence(reading, seen.baseline),
        figures={**hits, **of_reading(reading, seen.baseline)},
        evidence=seen.lines,
    )


def _consequence(seen: Seen, baseline: Baseline, regime: Regime, limits: SlowLimits) -> str:
    if regime.bad:
        return "seen"
    later = [e for e in timed(seen.events) if e.index > seen.hit_step]
    steps, seconds = sum(e.interval_steps for e in later), sum(e.seconds or 0.0 for e in later)
    early = steps < 2 * limits.window_steps or seconds < limits.held_s
    own = baseline.source is BaselineSource.OWN_EARLY_STEPS
    hidden = own and seen.steps_before <= baseline.n  # the hit may be in its own measure
    return "unknown" if early or hidden or regime is Regime.TOO_FEW else "not_seen"


def controls(limits: SlowLimits) -> Iterable[Control]:
    """Each regime after a hit; a hit too young to tell, or older than what it is held against."""
    for case in regime_edges(with_shift(limits)):
        yield _control(case.name, BY_REGIME.get(case.regime, f"{HIT}seen"), case.steps, at=0)
    each_s, n = run_1()[-300:], 300
    first = Baseline(median_s=RUN_1_RANKS[50], source=BaselineSource.EARLIER_RUNS, n=RUN_1_N)
    own = replace(first, source=BaselineSource.OWN_EARLY_STEPS, n=32)
    moves = moving(steps_seen=n, last_index=n)
    steady = FixedSteps(events=step_series(each_s), held_against=first, moves=moves)
    fallen = replace(steady, events=step_series(tuple(s * FALLBACK for s in each_s)))
    yield _control("playbook_run_1", f"{HIT}not_seen", steady, at=0)
    yield _control("fallen_back_silently", f"{HIT}seen", fallen, at=0)
    yield _control("just_hit", f"{HIT}unknown", steady, at=n - 2 * limits.window_steps + 1)
    yield _control("hit_a_while_ago", f"{HIT}not_seen", steady, at=n - 2 * limits.window_steps)
    measured = replace(steady, held_against=own)
    yield _control("hit_within_its_own_measure", f"{HIT}unknown", measured, at=32)
    yield _control("hit_after_its_own_measure", f"{HIT}not_seen", measured, at=33)
    alone = replace(steady, held_against=None)
    yield _control("hit_and_nothing_to_compare", f"{HIT}unknown", alone, at=0)
    yield _control("slow_without_a_hit", "no_hit", fallen)
    yield _control("words_in_a_source_listing", "no_hit", fallen, at=0, count=0)
    yield _control("log_gone", "no_log", fallen, log=None)
    yield _control("log_unread", "no_log", fallen, log=LogFacts(bytes_read=4096, unread=True))


def _control(
    name: str,
    code: str,
    steps: FixedSteps,
    *,
    at: int | None = None,
    count: int = 1,
    log: LogFacts | None = NO_HIT,
) -> Control:
    if at is not None:
        hit = MarkerSeen(count=count, first_line=40, first_step=at, quoted=2)
        log = replace(NO_HIT, markers=MappingProxyType({Marker.RECOMPILE_LIMIT: hit}))
    world = World(subject=CONTROL_SUBJECT, steps=steps, log=FixedLog(log_facts=log))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="recompile_limit",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=SlowLimits(),
        hysteresis=Hysteresis(clear_k=2),
        cadence_s=5.0,
        reads=("log", "steps"),
        runbook=__doc__,
    )
