"""From raw verdicts to the settled one: fire on m of n, clear on k in a row (DESIGN 4, rule 11).

A raw verdict jitters with its instrument; the settled one is what events, metrics and
notifications are made of. The rules, in order:

- FAIL settles when ``fire_m`` of the last ``fire_n`` samples failed and the failures span
  ``floor_s`` seconds, counted from the first FAIL of the episode on a monotonic clock. An episode
  ends when no FAIL is left among the last ``fire_n`` samples.
- A settled FAIL is left only after ``clear_k`` samples in a row that say PASS or NOT_APPLICABLE.
- UNKNOWN is a missing sample: it holds every count. After ``unknown_k`` of them with no PASS
  between, a settled PASS becomes UNKNOWN; a settled FAIL stays, labelled ``unseen``, because
  nobody has seen it end.
- Flapping is a label. It never holds back a change, least of all the first.

Inserting a FAIL anywhere never makes the result healthier.
"""

from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.check import Hysteresis
from pfid.spec.reasons import SETTLING

FLAPPING: Final = "flapping"
UNSEEN: Final = "unseen"
FLAP_CHANGES: Final = 4
"""Entries into and exits from FAIL within the window below that make a verdict flap."""
FLAP_WINDOW_S: Final = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One sample that was not missing."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """The settled verdict of one check about one entity, and the counts that lead to the next.

    Plain data once converted (msgspec): it may be stored. Its monotonic times are void after a
    reboot; start afresh then.

    Attributes:
        settled: the verdict that counts; None before the first sample. Its figures follow the
            newest sample of the same outcome.
        changed: whether the last sample changed its outcome, reason or entity: one Transition.
        before: outcome that was settled before the last sample; None if there was none.
        since_s: wall time at which the settled outcome began, Unix seconds.
        marks: the last samples that were not missing, oldest first, bounded by the rule.
        failing_since_s: monotonic time of the episode's first FAIL; None outside an episode.
        unknowns: missing samples since the last PASS or NOT_APPLICABLE.
        flips: monotonic times of the last entries into and exits from FAIL.
    """

    settled: Verdict | None = None
    changed: bool = False
    before: Outcome | None = None
    since_s: float = 0.0
    marks: tuple[Mark, ...] = ()
    failing_since_s: float | None = None
    unknowns: int = 0
    flips: tuple[float, ...] = ()


def settle(
    state: Settling, verdict: Verdict, rule: Hysteresis, monotonic_s: float, wall_s: float
) -> Settling:
    """Take one raw verdict in.

    Args:
        state: what stood before; ``Settling()`` at first.
        verdict: the raw verdict, as :func:`pfid.policy.evaluate.run_check` returns it.
        rule: the check's hysteresis.
        monotonic_s: when it was taken; decides floors and flapping.
        wall_s: likewise, Unix seconds; only shown.

    Returns:
        The new state; ``.settled`` is the verdict that counts and ``.changed`` asks for an event.
    """
    counted = _count(state, verdict, rule, monotonic_s)
    chosen = _choose(counted, verdict, rule, monotonic_s)
    return _conclude(counted, chosen, monotonic_s, wall_s)


def _count(state: Settling, verdict: Verdict, rule: Hysteresis, now_s: float) -> Settling:
    """Count one sample: marks, episode, missing samples."""
    if verdict.outcome is Outcome.UNKNOWN:
        return _counted(state, state.marks, state.failing_since_s, state.unknowns + 1)
    mark = Mark(outcome=verdict.outcome, reason=verdict.reason)
    marks = (*state.marks, mark)[-max(rule.fire_n, rule.clear_k) :]
    since = state.failing_since_s
    if not _fails(marks, rule):
        since = None
    elif since is None or since > now_s:  # a clock that began anew must not fire early
        since = now_s
    unknowns = state.unknowns if verdict.outcome is Outcome.FAIL else 0
    return _counted(state, marks, since, unknowns)


def _counted(
    state: Settling, marks: tuple[Mark, ...], failing_since_s: float | None, unknowns: int
) -> Settling:
    """As replace() would, at a quarter of its time: this runs for each check of each run."""
    return Settling(
        settled=state.settled,
        changed=state.changed,
        before=state.before,
        since_s=state.since_s,
        marks=marks,
        failing_since_s=failing_since_s,
        unknowns=unknowns,
        flips=state.flips,
    )


def _fails(marks: tuple[Mark, ...], rule: Hysteresis) -> int:
    return sum(m.outcome is Outcome.FAIL for m in marks[-rule.fire_n :])


def _choose(state: Settling, verdict: Verdict, rule: Hysteresis, now_s: float) -> Verdict:
    """Return the verdict that is settled now, before flapping is looked at."""
    stands = _unlabelled(state.settled)
    if verdict.outcome is Outcome.UNKNOWN:
        return _on_missing(state, stands, verdict, rule)
    if verdict.outcome is Outcome.FAIL:
        return _on_fail(state, stands, verdict, rule, now_s)
    failing = stands is not None and stands.outcome is Outcome.FAIL
    return stands if stands is not None and failing and not _clears(state, rule) else verdict


def _on_missing(
    state: Settling, stands: Verdict | None, verdict: Verdict, rule: Hysteresis
) -> Verdict:
    if stands is None or stands.outcome is Outcome.UNKNOWN:
        return verdict
    if state.unknowns < rule.unknown_k:
        return stands
    if stands.outcome is Outcome.FAIL:
        return replace(stands, label=_with(stands.label, UNSEEN))
    return verdict


def _on_fail(
    state: Settling, stands: Verdict | None, verdict: Verdict, rule: Hysteresis, now_s: float
) -> Verdict:
    if stands is not None and stands.outcome is Outcome.FAIL:
        return verdict if _reason_settles(state, stands, verdict, rule) else stands
    if _fires(state, rule, now_s):
        return verdict
    return stands if stands is not None else _settling(verdict)


def _fires(state: Settling, rule: Hysteresis, now_s: float) -> bool:
    since = state.failing_since_s
    spans = since is not None and now_s - since >= rule.floor_s
    return spans and _fails(state.marks, rule) >= rule.fire_m


def _clears(state: Settling, rule: Hysteresis) -> bool:
    last = state.marks[-rule.clear_k :]
    return len(last) == rule.clear_k and all(m.outcome is not Outcome.FAIL for m in last)


def _reason_settles(state: Settling, stands: Verdict, verdict: Verdict, rule: Hysteresis) -> bool:
    """Whether another reason for the same FAIL has been seen often enough to take over."""
    window = state.marks[-rule.fire_n :]
    seen = sum(m.reason == verdict.reason for m in window)
    return verdict.reason == stands.reason or seen >= rule.fire_m


def _settling(verdict: Verdict) -> Verdict:
    return Verdict(
        outcome=Outcome.UNKNOWN,
        reason=SETTLING,
        summary="a failure was seen and is being confirmed",
        figures=verdict.figures,
        entity=verdict.entity,
    )


def _conclude(state: Settling, chosen: Verdict, now_s: float, wall_s: float) -> Settling:
    """Note whether anything changed, since when, and whether it flaps."""
    old = state.settled
    turned = old is None or old.outcome is not chosen.outcome
    changed = turned or old is None or (old.reason, old.entity) != (chosen.reason, chosen.entity)
    flips = _flips(state, chosen, now_s)
    if len(flips) >= FLAP_CHANGES:
        chosen = replace(chosen, label=_with(chosen.label, FLAPPING))
    return Settling(
        settled=chosen,
        changed=changed,
        before=None if old is None else old.outcome,
        since_s=wall_s if turned else state.since_s,
        marks=state.marks,
        failing_since_s=state.failing_since_s,
        unknowns=state.unknowns,
        flips=flips,
    )


def _flips(state: Settling, chosen: Verdict, now_s: float) -> tuple[float, ...]:
    old = state.settled
    was = old is not None and old.outcome is Outcome.FAIL
    crossed = was is not (chosen.outcome is Outcome.FAIL)
    recent = tuple(t for t in state.flips if 0 <= now_s - t <= FLAP_WINDOW_S)
    return (*recent, now_s)[-FLAP_CHANGES:] if crossed else recent


def _with(label: str, word: str) -> str:
    words = label.split(",") if label else []
    return label if word in words else ",".join([*words, word])


def _unlabelled(verdict: Verdict | None) -> Verdict | None:
    """Take off the labels that this module put on; they are earned anew with every sample."""
    if verdict is None or not verdict.label:
        return verdict
    kept = [w for w in verdict.label.split(",") if w not in {FLAPPING, UNSEEN}]
    return replace(verdict, label=",".join(kept))
