"""Metric families that know their own text.

``prometheus_client.generate_latest`` takes 7-9 us a sample, which alone would spend the whole
idle budget on 64 runs scraped every 5 s. A :class:`Family` is one of the library's metrics, which
any of its consumers can read, and writes the same text 0.0.4 itself in about 0.5 us a sample; a
contract test holds the two byte for byte equal.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from prometheus_client.core import Metric, Sample
from prometheus_client.utils import floatToGoString

from pfid.formats.untrusted import printable

LABEL_MAX_CHARS: Final = 200
COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
SUMMARY: Final = "summary"

number = lru_cache(maxsize=2_048)(floatToGoString)
"""A value as Go writes it. Zeros, ones and constants are most of a page."""


class Labels:
    """A set of labels and its text, made once and used by every family that needs it."""

    __slots__ = ("_wider", "pairs", "text")

    def __init__(self, **pairs: str) -> None:
        """Escape the values; names are ours and need none."""
        self.pairs = pairs
        inner = ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(pairs.items()))
        self.text = f"{{{inner}}}" if inner else ""
        self._wider: dict[tuple[str, ...], Labels] = {}

    def wider(self, **more: str) -> "Labels":
        """These and ``more``, made once: only for values of a bounded set."""
        known = (*more, *more.values())
        if known not in self._wider:
            self._wider[known] = Labels(**self.pairs, **more)
        return self._wider[known]

    def with_one(self, name: str, value: str) -> "Labels":
        """The same for one label more, without a mapping on the way: for what stands often."""
        found = self._wider.get((name, value))
        return self.wider(**{name: value}) if found is None else found


NO_LABELS: Final = Labels()
shared = lru_cache(maxsize=2_048)(Labels)
"""Labels that come again on every page, made once: escaping is half of what a small family costs.
Those of a run are kept by its :class:`~pfid.adapters.page.run_labels.RunLabels` instead."""
Row = tuple[str, Labels, float]


def escaped(value: str) -> str:
    """Escape a label value as the text format wants it."""
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


@lru_cache(maxsize=512)
def untrusted(value: str) -> str:
    """A label value made of somebody's text: no control character, no surrogate, bounded."""
    return printable(value, LABEL_MAX_CHARS)


class Spec:
    """What a family is: name as exposed, type, help, and the two header lines made of them."""

    __slots__ = ("documentation", "header", "kind", "name", "told")

    def __init__(self, name: str, kind: str, documentation: str) -> None:
        """Take the exposed name: a counter's ends in ``_total``."""
        self.name = name
        self.kind = kind
        self.documentation = documentation
        base = name.removesuffix("_total") if kind == COUNTER else name
        self.told = (base, documentation, kind)
        """As the library calls it: without the suffix of counters."""
        self.header = f"# HELP {name} {documentation}\n# TYPE {name} {kind}\n"


class Family(Metric):
    """The samples of one spec at one moment."""

    unit = ""

    def __init__(self, spec: Spec) -> None:
        """Start empty. The library's own constructor would check the name again every time."""
        self.spec = spec
        self._rows: list[Row] = []
        # What the library's consumers read; ours writes by the spec.
        self.name, self.documentation, self.type = spec.told

    def add(self, value: float, labels: Labels = NO_LABELS, suffix: str = "") -> None:
        """Add one sample."""
        self._rows.append((suffix, labels, value))

    def add_all(self, rows: Iterable[Row]) -> None:
        """Add many samples: suffix, labels and value of each."""
        self._rows.extend(rows)

    def add_known(self, value: float | None, labels: Labels = NO_LABELS) -> None:
        """Add a sample if there is a value; an unknown one is absent, never 0."""
        if value is not None:
            self.add(value, labels)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def text(self) -> str:
        """The family in text format 0.0.4."""
        if not self._rows:
            return self.spec.header
        name = self.spec.name
        lines = [f"{name}{suffix}{of.text} {number(value)}\n" for suffix, of, value in self._rows]
        return self.spec.header + "".join(lines)

    @property
    def samples(self) -> list[Sample]:  # type: ignore[override]
        """The samples as the library's other consumers want them."""
        name = self.spec.name
        return [Sample(name + suffix, labels.pairs, value) for suffix, labels, value in self._rows]

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__: Any = object.__hash__
