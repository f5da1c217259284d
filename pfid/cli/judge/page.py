"""The page of a judgement: pure, from an evaluation and its verdicts to HTML."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from pfid import __version__
from pfid.analysis.proportion import wilson
from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.stage_judging import Judged
from pfid.cli.judge.output import judged_facts
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Figure
from pfid.formats.answers.visible import visible
from pfid.formats.answers.words import word_count
from pfid.formats.html.markup import Markup, document, el, text
from pfid.formats.html.result_plots import Span, distributions, intervals, trip_point
from pfid.formats.html.style import STYLE
from pfid.formats.html.tables import facts, table, tag
from pfid.spec.ports.results import Arm, ResultFacts

TONES: Final = {Outcome.FAIL: "bad", Outcome.UNKNOWN: "wait", Outcome.PASS: "good"}
MORE_STYLE: Final = """\
.bar-other{fill:var(--dim);opacity:.75}.line-other{stroke:var(--dim);stroke-width:1.5}
td{overflow-wrap:break-word}.band{fill:var(--bad-bg)}.trip{stroke:var(--bad);stroke-width:1.5}
"""
FAMILIES_MAX: Final = 8
METRICS_MAX: Final = 12
SPANS_MAX: Final = 40
BAD_MAX: Final = 200
SHARES: Final = ("ratio", "share")
COUNTS: Final = ("1", "words", "tokens")
TRIP: Final = "trip_point_outside_jitter"
LENGTH: Final = "words an answer"


def page(evaluation: Evaluation, judged: Sequence[Judged]) -> str:
    """Return the document."""
    name = text(evaluation.name, 80)
    return document(
        f"pfid judge: {name}",
        STYLE + MORE_STYLE,
        el(
            "main",
            el("h1", name),
            facts([(k, text(v)) for k, v in judged_facts(evaluation)[1:] if v]),
            el("h2", "Verdicts"),
            _verdicts(judged),
            *_lengths(evaluation.results),
            *_scores(evaluation.results),
            *_intervals(evaluation.results, judged),
            *_trip(judged),
            *_details(judged),
            *_bad(evaluation.results),
            el("p", f"Made by pfid {__version__}.", class_="dim"),
        ),
    )


def _verdicts(judged: Sequence[Judged]) -> Markup:
    return table(
        ("outcome", "check", "reason", "summary"),
        [
            (
                tag(_word(j.view.outcome), TONES.get(j.view.outcome, "")),
                str(j.view.check),
                str(j.view.reason),
                text(j.view.summary, 500),
            )
            for j in judged
        ],
    )


def _word(outcome: Outcome) -> str:
    return "n/a" if outcome is Outcome.NOT_APPLICABLE else outcome.value.upper()


def _arms(results: ResultFacts) -> list[Arm]:
    return [results.candidate, *([results.baseline] if results.baseline is not None else [])]


def _lengths(results: ResultFacts) -> Iterator[Markup]:
    """All families together, then each, if there are some."""
    families = sorted({r.family for a in _arms(results) for r in a.records})
    yield el("h2", "Lengths")
    for family in [None, *(families[:FAMILIES_MAX] if len(families) > 1 else [])]:
        drawn = distributions(
            [
                (
                    a.name,
                    [
                        float(word_count(visible(r.output)))
                        for r in a.records
                        if family is None or r.family == family
                    ],
                )
                for a in _arms(results)
            ],
            LENGTH,
        )
        if drawn is not None:
            yield el("p", "all families" if family is None else text(family or "no family", 80))
            yield drawn
    yield from _left_out(len(families), FAMILIES_MAX, "families")


def _scores(results: ResultFacts) -> Iterator[Markup]:
    """Distributions of scores that are more than yes and no."""
    names = sorted({n for a in _arms(results) for r in a.records for n in r.scores})
    graded = [n for n in names if not all(_is_binary(a, n) for a in _arms(results))]
    if graded:
        yield el("h2", "Scores")
    for name in graded[:METRICS_MAX]:
        drawn = distributions([(a.name, _values(a, name)) for a in _arms(results)], "")
        if drawn is not None:
            yield el("p", text(name, 80))
            yield drawn
    yield from _left_out(len(graded), METRICS_MAX, "scores")


def _values(arm: Arm, name: str, family: str | None = None) -> list[float]:
    of = (r.scores.get(name) for r in arm.records if family is None or r.family == family)
    return [value for value in of if value is not None]


def _is_binary(arm: Arm, name: str) -> bool:
    return all(value in (0.0, 1.0) for value in _values(arm, name))


def _intervals(results: ResultFacts, judged: Sequence[Judged]) -> Iterator[Markup]:
    """Shares on one axis; what has another scale (quartiles of lengths) on one of its own."""
    shares = [*_rates(results), *_of_verdicts(judged, SHARES)]
    others = [*_of_verdicts(judged, COUNTS)]
    if shares or others:
        yield el("h2", "Intervals")
    for spans, said in (
        (shares, "Shares; those of scores that are yes or no with Wilson's interval at 95 %."),
        (others, "Lengths, and others that are no shares."),
    ):
        drawn = intervals(spans[:SPANS_MAX], "")
        if drawn is not None:
            yield el("p", said)
            yield drawn
            yield from _left_out(len(spans), SPANS_MAX, "figures")


def _rates(results: ResultFacts) -> Iterator[Span]:
    names = sorted({n for a in _arms(results) for r in a.records for n in r.scores})
    for name in names:
        for i, arm in enumerate(_arms(results)):
            values = _values(arm, name)
            if values and _is_binary(arm, name):
                hits = round(sum(values))
                ends = wilson(hits, len(values))
                yield Span(
                    name=f"{name}, {arm.name}",
                    low=ends.low,
                    at=hits / len(values),
                    high=ends.high,
                    first=i == 0,
                )


def _of_verdicts(judged: Sequence[Judged], units: Collection[str]) -> Iterator[Span]:
    """Figures that a check gave with both ends."""
    for j in judged:
        figures: Mapping[str, Figure] = j.view.figures
        for name, figure in figures.items():
            low, high = figures.get(f"{name}_low"), figures.get(f"{name}_high")
            if low is not None and high is not None and figure.unit in units:
                yield Span(
                    name=f"{j.view.check}: {name}", low=low.value, at=figure.value, high=high.value
                )


def _trip(judged: Sequence[Judged]) -> Iterator[Markup]:
    figures = next((j.view.figures for j in judged if j.view.check == TRIP), {})
    if "rate" not in figures or "threshold" not in figures:
        return
    needed, jitter = figures.get("distance_needed"), figures.get("jitter_sd")
    yield el("h2", "Jitter and trip point")
    yield el("p", "A trip point inside the band flips from run to run.")
    yield trip_point(
        figures["rate"].value,
        None if needed is None else needed.value,
        figures["threshold"].value,
        None if jitter is None else jitter.value,
    )


def _details(judged: Sequence[Judged]) -> Iterator[Markup]:
    """What each saw, what it cannot, and what to do."""
    yield el("h2", "What was seen, and what cannot be")
    for j in judged:
        if j.view.outcome is Outcome.NOT_APPLICABLE:
            continue
        yield el("p", el("b", str(j.view.check)))
        yield facts(
            [
                *((n, f"{f.value:.5g} {f.unit if f.unit != '1' else ''}".strip())
                  for n, f in j.view.figures.items()),
                *([("cannot see", text(j.blind_spot, 800))] if j.blind_spot else []),
                *([("to do", text(j.remedy, 800))] if j.remedy else []),
            ]
        )  # fmt: skip
        if j.evidence:
            yield el("ul", *(el("li", text(line, 400)) for line in j.evidence[:100]))


def _bad(results: ResultFacts) -> Iterator[Markup]:
    bad = [(a.name, b) for a in _arms(results) for b in a.bad]
    if not bad:
        return
    yield el("h2", "Bad records")
    yield table(
        ("arm", "place", "reason", "detail"),
        [
            (text(n, 60), text(b.place, 120), text(b.reason, 60), text(b.detail))
            for n, b in bad[:BAD_MAX]
        ],
    )
    yield from _left_out(sum(a.bad_total for a in _arms(results)), BAD_MAX, "bad records")


def _left_out(n: int, shown: int, what: str) -> Iterator[Markup]:
    if n > shown:
        yield el("p", f"{n - shown} more {what} are not drawn.", class_="dim")
