"""Does the daemon emit what a rule or a panel asks for? A selector of nothing never fires."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pfid.formats.exposition import ReadSample
from pfid.monitoring.selectors import Selector, selected

TARGET_LABELS: Final = frozenset({"job", "instance"})
SCRAPED: Final = {
    "up": TARGET_LABELS,
    "scrape_duration_seconds": TARGET_LABELS,
    "scrape_samples_scraped": TARGET_LABELS,
    "ALERTS": frozenset({"alertname", "alertstate", "severity"}),
}
"""What Prometheus adds by itself."""
FIXED: Final = frozenset({"kind", "leg", "level", "reason", "sampler", "state"})
"""Labels with a set of values of their own: a value that never occurs is a misspelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """Labels by name of series, and values by label."""

    labels: Mapping[str, frozenset[str]]
    values: Mapping[str, frozenset[str]]


def emitted(samples: Iterable[ReadSample]) -> Emitted:
    """Gather what a page, or several, show."""
    labels: dict[str, set[str]] = {}
    values: dict[str, set[str]] = {}
    for sample in samples:
        labels.setdefault(sample.name, set()).update(sample.labels)
        for name, value in sample.labels.items():
            values.setdefault(name, set()).add(value)
    return Emitted(
        labels={k: frozenset(v) for k, v in labels.items()},
        values={k: frozenset(v) for k, v in values.items()},
    )


def unknown_selectors(expr: str, shown: Emitted, recorded: frozenset[str]) -> Iterator[str]:
    """Say what of ``expr`` nobody emits.

    Args:
        expr: PromQL, without variables of a dashboard.
        shown: what the daemon emits.
        recorded: names of recorded series; theirs are checked where they are recorded.
    """
    found = selected(expr)
    every = frozenset().union(*shown.labels.values(), TARGET_LABELS, {"alertname"})
    for label in sorted(found.labels - every):
        yield f"no series has a label {label}"
    for selector in found.selectors:
        if selector.name not in recorded:
            yield from _unknown(selector, shown)


def _unknown(selector: Selector, shown: Emitted) -> Iterator[str]:
    labels = SCRAPED.get(selector.name) or shown.labels.get(selector.name)
    if labels is None:
        yield f"nobody emits {selector.name}"
        return
    for matcher in selector.matchers:
        if matcher.label not in labels | TARGET_LABELS:
            yield f"{selector.name} has no label {matcher.label}"
        elif matcher.label in FIXED and matcher.sign in {"=", "=~"}:
            for value in matcher.value.split("|"):
                if value not in shown.values.get(matcher.label, frozenset()):
                    yield f"no {matcher.label} is ever {value}"
