"""Read a metrics page back: Prometheus text format 0.0.4 to samples. Pure, and strict.

The self-test asks the page itself what it says, so this reader refuses what Prometheus would
refuse instead of guessing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pfid.domain.errors import PfidError

_NAME: Final = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|\Z)')
_SAMPLE: Final = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)(?: -?\d+)?\Z")
_ESCAPES: Final = {r"\\": "\\", r"\n": "\n", r"\"": '"'}
_ESCAPE: Final = re.compile(r'\\["\\n]')


class ExpositionError(PfidError):
    """A page is not text format 0.0.4; the message names the line."""


@dataclass(frozen=True, slots=True)
class ReadSample:
    """One sample as a scraper sees it."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(text: str) -> Iterator[ReadSample]:
    """Every sample of a page, in order.

    Raises:
        ExpositionError: at the first line that is neither comment, blank nor sample.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.startswith("#"):
            yield _sample(number, line)


def _sample(number: int, line: str) -> ReadSample:
    try:
        return _of_line(line)
    except ValueError as error:
        raise ExpositionError(f"line {number}: {error}") from error


@lru_cache(maxsize=1_024)
def _of_line(line: str) -> ReadSample:
    """One sample. Pages that follow each other share most of their lines.

    Raises:
        ValueError: if it is none.
    """
    match = _SAMPLE.match(line)
    if match is None:
        raise ValueError(f"no sample: {line[:80]!r}")
    name, labels, value = match.groups()
    return ReadSample(name, _labels(labels or ""), float(value))


def _labels(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            raise ValueError(f"labels cannot be read from {text[at : at + 40]!r}")
        name, value = match.groups()
        if name in found:
            raise ValueError(f"label {name} stands twice")
        found[name] = _ESCAPE.sub(lambda m: _ESCAPES[m.group()], value)
        at = match.end()
    return found
