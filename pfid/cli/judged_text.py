"""How the verdicts of a stage look to people: a table, what was measured, what to do, what next."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from pfid.bootstrap.stage_judging import Judged
from pfid.cli.colours import outcome_cell
from pfid.cli.output import say, table
from pfid.cli.times import age
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Figure

WRONG: Final = (Outcome.FAIL, Outcome.UNKNOWN)
EVIDENCE_LINES: Final = 20
GIB: Final = 1 << 30
_SEVERITIES: Final = ("critical", "warning", "info")
_SENTENCE: Final = re.compile(r"(?<=[^.]\.)\s+(?=[A-Z`])|(?<=;)\s+")


def print_judged(judged: Sequence[Judged]) -> None:
    """Print a table, and for each check that does not pass what was seen and what to do."""
    table(
        ("OUTCOME", "CHECK", "REASON", "SUMMARY"),
        [
            (outcome_cell(j.view.outcome), j.view.check, j.view.reason, j.view.summary)
            for j in judged
        ],
    )
    for alike in _alike(judged):
        _explain(alike)


def print_figures(judged: Sequence[Judged], *, but: Sequence[str] = ()) -> None:
    """Print what each check measured, a line a check.

    Args:
        judged: the verdicts.
        but: ends of names of figures that stand elsewhere.
    """
    rows = [(j.view.check, figures_text(j.view.figures, but)) for j in judged]
    if any(text for _, text in rows):
        click.echo()
        table(("CHECK", "MEASURED"), [(check, text) for check, text in rows if text])


def print_outcome(judged: Sequence[Judged], *, good: str) -> None:
    """Print how many of each there are, and as the last line what to do.

    Args:
        judged: the verdicts.
        good: what to do where nothing is wrong.
    """
    click.echo()
    say(counted(judged))
    say(next_step(judged) or good, begin="next: ")


def counted(judged: Sequence[Judged]) -> str:
    """How many of each outcome; of those that do not apply, why not."""
    counts = Counter(j.view.outcome for j in judged)
    optional = sum(not j.required and j.view.outcome is Outcome.UNKNOWN for j in judged)
    may = f" ({optional} of them may be)" if optional else ""
    why = Counter(j.view.reason for j in judged if j.view.outcome is Outcome.NOT_APPLICABLE)
    reasons = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in why.most_common())
    return (
        f"{counts[Outcome.PASS]} pass, {counts[Outcome.FAIL]} fail, "
        f"{counts[Outcome.UNKNOWN]} unknown{may}, {counts[Outcome.NOT_APPLICABLE]} n/a"
        + (f" ({reasons})" if reasons else "")
    )


def next_step(judged: Sequence[Judged]) -> str:
    """What to do first; "" where nothing is wrong that counts."""
    wrong = [alike for alike in _alike(judged) if _counts(alike[0])]
    if not wrong:
        return ""
    first = min(wrong, key=_urgency)
    begins = _SENTENCE.split(first[0].remedy, maxsplit=1)[0].rstrip(";")
    more = f" (and {len(wrong) - 1} more above)" if len(wrong) > 1 else ""
    return f"{_names(first)}: {begins or first[0].view.summary}{more}"


def figures_text(figures: Mapping[str, Figure], but: Sequence[str] = ()) -> str:
    """Names and values with their units; "" for none."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value_text(figure)}"
        for name, figure in figures.items()
        if not name.endswith(tuple(but))
    )


def value_text(figure: Figure) -> str:
    """A figure as people read it."""
    value, unit = figure.value, figure.unit
    if unit == "bytes":
        return f"{value / GIB:.2f} GiB" if value >= GIB / 100 else f"{value:,.0f} bytes"
    if unit == "s":
        return age(value)
    number = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
    return number if unit in {"1", "ratio"} else f"{number} {unit}"


def _counts(judged: Judged) -> bool:
    blind = judged.view.outcome is Outcome.UNKNOWN and judged.required
    return judged.view.outcome is Outcome.FAIL or blind


def _urgency(alike: Sequence[Judged]) -> tuple[bool, int]:
    ranks = (_SEVERITIES.index(j.view.severity) for j in alike if j.view.severity in _SEVERITIES)
    return alike[0].view.outcome is not Outcome.FAIL, min(ranks, default=len(_SEVERITIES))


def _alike(judged: Sequence[Judged]) -> Iterator[tuple[Judged, ...]]:
    """Those that do not pass; those that one and the same thing stands against, together."""
    together: dict[tuple[object, ...], list[Judged]] = {}
    for j in judged:
        if j.view.outcome in WRONG:
            key = (j.view.outcome, j.view.reason, j.view.summary, j.remedy, j.required)
            together.setdefault(key, []).append(j)
    yield from map(tuple, together.values())


def _names(alike: Sequence[Judged]) -> str:
    return ", ".join(str(j.view.check) for j in alike)


def _explain(alike: Sequence[Judged]) -> None:
    click.echo()
    say(f"{_names(alike)}: {alike[0].view.summary}", indent="  ")
    lines = dict.fromkeys(
        line for j in alike for text in j.evidence for line in text.splitlines()[-EVIDENCE_LINES:]
    )
    for line in lines:
        say(line, begin="    ")
    if alike[0].remedy:
        say(alike[0].remedy, begin="  -> ")
