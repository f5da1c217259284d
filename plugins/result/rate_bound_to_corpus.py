"""Fail when a rate is quoted bare, or for another corpus than the one it was measured on.

A rate is a property of the mix it was counted on. In a document it outlives that mix in silence
(playbook 4.6.3.1), so it carries in its name: how many of how many, an interval and whose, the
floor that decides what counts, the corpus by the digest of its content, and the day. Where the rate
can be counted over the records at hand, today's stands beside it, named the same way.

Blind spot: two corpora of one content and another order of files have one digest only if their
names agree; a rate that was copied wrongly together with its counts reads as right.

When it fires: measure the rate again on this corpus, and write it down as its line names it.
Do not edit the digest.

If it says `corpus_unreadable`: see that `corpus` names files that lie there and can be read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pfid.analysis.proportion import Interval, wilson
from pfid.analysis.rates import Count, wald
from pfid.analysis.result_rates import count, left_out
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.rate_bound_to_corpus import QuotedRate, RateGate

ANSWERS: Final = Answers(
    {
        "bound": (Outcome.PASS, "every rate is bound to this corpus, with its interval and floor"),
        "stale": (Outcome.FAIL, "a rate was measured on another corpus than this evaluation's"),
        "bare": (Outcome.FAIL, "a rate is quoted without what binds it"),
        "interval_wrong": (Outcome.FAIL, "an interval is not the one that its counts give"),
        "corpus_unreadable": (Outcome.UNKNOWN, "the corpus cannot be read, so it cannot be known"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec quotes no rates"),
    }
)
BINDING: Final = ("hits", "n", "low", "high", "method", "floor", "corpus_sha256", "date")
METHODS: Final = {"wilson": wilson, "wald": wald}
WRITTEN: Final = 0.00005
"""An end that is written with four digits is off by no more."""
SHORT: Final = 12
"""Digits of a digest in a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How an interval may be rounded."""

    rounding: float = limit(0.0002, unit="share", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was read.

    Attributes:
        rates: that are quoted.
        unread: whether the corpus cannot be read.
        stale: rates of another corpus.
        bare: rates that lack something.
        off: the furthest that an end is from where the counts put it.
        figures: of the first rate, as quoted and as counted now.
        said: every rate with all that binds it.
    """

    rates: int
    unread: bool
    stale: int
    bare: int
    off: float
    figures: Mapping[str, tuple[float | None, str]] = reported(default_factory=dict)
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.results.facts()
    gate = facts.gates.rate_bound_to_corpus
    if gate is None:
        return Seen(rates=0, unread=False, stale=0, bare=0, off=0.0)
    corpus = world.corpus.facts() or CorpusFacts(problem="not_looked_at")
    records = facts.candidate.records
    now = [count(records, one) if one.told else None for one in gate.rates]
    said = [line for one, c in zip(gate.rates, now, strict=True) for line in _said(one, c, corpus)]
    lacking = [(one, left_out(records, one)) for one in gate.rates]
    said += [
        f"{one.name}: counted now without {c.hits:g} of {c.n} records, which have no score"
        for one, c in lacking
        if c.hits
    ]
    return Seen(
        rates=len(gate.rates),
        unread=bool(corpus.problem),
        stale=sum(bool(r.corpus_sha256) and r.corpus_sha256 != corpus.sha256 for r in gate.rates),
        bare=sum(bool(_lacking(one)) for one in gate.rates),
        off=max((_off(one) for one in gate.rates), default=0.0),
        figures={
            **_figures(gate.rates[0], now[0]),
            "counted_unscored": (lacking[0][1].hits, "1"),
        },
        said=(*said, *([corpus.detail] if corpus.detail else [])),
    )


def _lacking(rate: QuotedRate) -> list[str]:
    return [name for name in BINDING if getattr(rate, name) in (None, "")]


def _expected(rate: QuotedRate) -> Interval | None:
    if rate.hits is None or rate.n is None or rate.method is None:
        return None
    return METHODS[rate.method](rate.hits, rate.n)


def _off(rate: QuotedRate) -> float:
    ends = _expected(rate)
    if ends is None or rate.low is None or rate.high is None:
        return 0.0
    return max(abs(rate.low - ends.low), abs(rate.high - ends.high))


def _said(rate: QuotedRate, now: Count | None, corpus: CorpusFacts) -> Iterable[str]:
    lacking = _lacking(rate)
    yield f"{rate.name}: lacks {', '.join(lacking)}" if lacking else _named(rate)
    ends = _expected(rate)
    if ends is not None and _off(rate) > WRITTEN:
        yield f"{rate.name}: {rate.hits}/{rate.n} give [{ends.low:.4f}, {ends.high:.4f}]"
    whole = now is not None and now.hits == int(now.hits) and 0 <= now.hits <= now.n
    if now is None or not whole:
        return
    ends = wilson(int(now.hits), now.n)
    values = {
        "hits": int(now.hits),
        "n": now.n,
        "low": round(ends.low, 4),
        "high": round(ends.high, 4),
        "method": "wilson",
        "corpus_sha256": corpus.sha256,
    }
    today: Any = {name: value for name, value in values.items() if value != ""}
    yield f"counted now: {_named(msgspec.structs.replace(rate, **today), corpus.today)}"
    if lacking and corpus.sha256:
        yield "as the spec writes it: " + ", ".join(
            f"{name} = {value!r}".replace("'", '"') for name, value in today.items()
        )


def _named(rate: QuotedRate, day: str = "") -> str:
    """The rate with all that binds it, as it should stand wherever it is quoted."""
    share = (rate.hits or 0) / (rate.n or 1)
    return (
        f"{rate.name} = {share:.2%} [{100 * (rate.low or 0):.2f}, {100 * (rate.high or 0):.2f}] "
        f"({(rate.method or '').title()}, 95 %, {rate.hits}/{rate.n}) @ floor {rate.floor}, "
        f"corpus sha256:{rate.corpus_sha256[:SHORT]}, {day or rate.date}"
    )


def _figures(rate: QuotedRate, now: Count | None) -> dict[str, tuple[float | None, str]]:
    quoted = rate.hits / rate.n if rate.hits is not None and rate.n else None
    return {
        "quoted": (quoted, "share"),
        "quoted_low": (rate.low, "share"),
        "quoted_high": (rate.high, "share"),
        "counted": (None if now is None else now.rate, "share"),
        "counted_n": (None if now is None else float(now.n), "1"),
    }


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", seen.rates < 1),
        ("bare", seen.bare > 0),
        ("interval_wrong", seen.off > limits.rounding),
        ("corpus_unreadable", seen.unread),
        ("stale", seen.stale > 0),
    )
    code = next((code for code, holds in doubts if holds), "bound")
    figures = {"rates": (float(seen.rates), "1"), **seen.figures}
    return ANSWERS.say(code, figures=figures, evidence=seen.said)


def controls(limits: Limits) -> Iterable[Control]:
    """The playbook's rate, and every way in which it would not be bound."""
    off = limits.rounding
    ends = wald(90, 764)
    cases: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("playbook's", "bound", {}),
        ("no floor to name", "bound", {"floor": "none"}),
        ("rounded", "bound", {"low": ends.low - 0.9 * off}),
        ("rounded too far", "interval_wrong", {"low": ends.low - 1.1 * off}),
        ("called Wilson's", "interval_wrong", {"method": "wilson"}),
        ("another corpus", "stale", {"corpus_sha256": "b" * 64}),
        *((f"no {key}", "bare", {key: "" if key == "corpus_sha256" else None}) for key in BINDING),
    )
    for name, code, changed in cases:
        yield _control(name, code, {**_QUOTED, **changed}, _CORPUS)
    closed = CorpusFacts(problem="corpus_unreadable")
    yield _control("no corpus", "corpus_unreadable", _QUOTED, closed)
    facts = result_facts(arm([record(1)]))
    yield ANSWERS.control("not configured", "not_configured", result_world(facts, corpus=None))


_CORPUS: Final = CorpusFacts(sha256="a" * 64, size_bytes=9_000_000, today="2026-09-01")
_QUOTED: Final[dict[str, Any]] = {
    "name": "under_floor_rate_run02",
    "hits": 90,
    "n": 764,
    "low": 0.0949,
    "high": 0.1407,
    "method": "wald",
    "floor": 15.0,
    "corpus_sha256": "a" * 64,
    "date": "2026-08-26",
    "flag": "too_short",
}


def _control(name: str, code: str, quoted: Mapping[str, Any], corpus: CorpusFacts) -> Control:
    rate = msgspec.convert(dict(quoted), QuotedRate)
    gates = Gates(rate_bound_to_corpus=RateGate(corpus="mix", rates=[rate]))
    records = [record(i, flags=("too_short",) if i < 9 else ()) for i in range(94)]
    world = result_world(result_facts(arm(records), gates=gates), corpus=corpus)
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="rate_bound_to_corpus",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("results", "corpus"),
        runbook=__doc__ or "",
    )
