"""Timings of a step by width: ``W:T,W:T,...``, tables in text, JSON and JSON lines; pure.

A table has a column of widths and one of times; its header says which (``seq``, ``width``, ...) and
in which unit (``_ms``, ``seconds``, ...). JSON is what ``pfid probe scaling --json`` prints, or
records with ``width`` and ``seconds``.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pfid.domain.errors import PfidError

WIDTH_NAMES: Final = ("width", "w", "seq", "seq_len", "sequence_length", "length", "tokens")
UNITS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
LISTS: Final = ("timings", "residuals", "points")
"""Where records lie in what pfid itself prints; the first has repeats."""
SECONDS_MIN: Final = 1e-9
SECONDS_MAX: Final = 1e9
_SPLIT: Final = re.compile(r"[,;\t]|\s+")
_SHOWN_CHARS: Final = 40


class TimingsError(PfidError):
    """Timings cannot be read; says which record, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One timing: width in tokens, and seconds."""

    width: int
    seconds: float


def parse_inline(text: str) -> tuple[Point, ...]:
    """Read ``W:T,W:T,...``; a width may come again.

    Raises:
        TimingsError: for what is no such list.
    """
    points = []
    for number, part in enumerate((p for p in re.split(r"[,\s]+", text) if p), 1):
        width, colon, seconds = part.partition(":")
        if not colon:
            raise TimingsError(f"point {number}: {_shown(part)} is not WIDTH:SECONDS")
        points.append(_point(width, seconds, 1.0, f"point {number}"))
    if not points:
        raise TimingsError("there is no point")
    return tuple(points)


def parse_file(data: bytes, column: str | None = None) -> tuple[Point, ...]:
    """Read a file's content.

    Args:
        data: of the file.
        column: of the times, where there are several.

    Raises:
        TimingsError: for what is malformed, with its line or record.
    """
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        raise TimingsError(f"byte {error.start}: not UTF-8") from error
    if text.lstrip()[:1] in ("{", "["):
        return _of_json(text, column)
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1)]
    rows = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if not rows:
        raise TimingsError("there is no line in it")
    if ":" in rows[0][1]:
        return parse_inline(",".join(line for _, line in rows))
    return _of_table(rows, column)


def _of_table(rows: Sequence[tuple[int, str]], column: str | None) -> tuple[Point, ...]:
    first = _cells(rows[0][1])
    header = first if _number(first[0]) is None else None
    width_at, time_at = _columns(header, len(first), column)
    unit = _unit(header[time_at]) if header else 1.0
    points = []
    for number, line in rows[1:] if header else rows:
        cells = _cells(line)
        if len(cells) <= max(width_at, time_at):
            raise TimingsError(f"line {number}: {len(cells)} columns, {len(first)} in the first")
        points.append(_point(cells[width_at], cells[time_at], unit, f"line {number}"))
    if not points:
        raise TimingsError("there is a header and nothing below it")
    return tuple(points)


def _columns(header: Sequence[str] | None, count: int, column: str | None) -> tuple[int, int]:
    """Where the widths and the times are."""
    if header is None:
        if column is not None:
            raise TimingsError(f"there is no header, so no column {column!r}")
        if count != 2:
            raise TimingsError(f"{count} columns and no header; wanted a width and a time")
        return 0, 1
    lower = [name.lower() for name in header]
    width_at = next((lower.index(name) for name in WIDTH_NAMES if name in lower), 0)
    others = [at for at in range(count) if at != width_at]
    if column is not None:
        if column not in header:
            raise TimingsError(f"there is no column {column!r}; there are {', '.join(header)}")
        return width_at, header.index(column)
    if len(others) != 1:
        names = ", ".join(header[at] for at in others)
        raise TimingsError(f"{len(others)} columns of times ({names}); choose one with --column")
    return width_at, others[0]


def _unit(name: str) -> float:
    """Unit in a column's name, seconds where it says none."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((UNITS[word] for word in reversed(words) if word in UNITS), 1.0)


def _of_json(text: str, column: str | None) -> tuple[Point, ...]:
    unit, records = _records(text)
    points = []
    for number, record in enumerate(records, 1):
        where = f"{unit} {number}"
        if isinstance(record, list) and len(record) == 2:
            points.append(_point(record[0], record[1], 1.0, where))
        elif isinstance(record, dict):
            points.append(_of_record(record, column, where))
        else:
            raise TimingsError(f"{where}: {_shown(record)} is neither a record nor a pair")
    if not points:
        raise TimingsError("there is no timing in it")
    return tuple(points)


def _records(text: str) -> tuple[str, Iterable[Any]]:
    try:
        value = msgspec.json.decode(text)
    except RecursionError as error:
        raise TimingsError("record 1: nested without end") from error
    except msgspec.DecodeError:
        return "line", list(_lines(text))
    if isinstance(value, list):
        return "record", value
    found = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
    if found is None:
        return "record", [value]
    return "record", found


def _lines(text: str) -> Iterable[Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                raise TimingsError(f"line {number}: no JSON: {error}") from error


def _of_record(record: Mapping[str, Any], column: str | None, where: str) -> Point:
    width = next((name for name in WIDTH_NAMES if name in record), None)
    if width is None:
        raise TimingsError(f"{where}: it has no width ({', '.join(WIDTH_NAMES)})")
    named = column or next((n for n in ("seconds", "s", "ms", "us") if n in record), None)
    if named is None or named not in record:
        raise TimingsError(f"{where}: it has no {column or 'seconds'}")
    return _point(record[width], record[named], _unit(named), where)


def _point(width: object, seconds: object, unit: float, where: str) -> Point:
    """Check one timing.

    Raises:
        TimingsError: unless the width is a whole number >= 1 and the time finite and above 0.
    """
    wide, took = _number(width), _number(seconds)
    if wide is None or not wide.is_integer() or not 1 <= wide < 1 << 40:
        raise TimingsError(f"{where}: {_shown(width)} is no width, a whole number of tokens")
    if took is None or not 0 < took < math.inf:
        raise TimingsError(f"{where}: {_shown(seconds)} is no time above 0")
    if not SECONDS_MIN <= took * unit <= SECONDS_MAX:
        raise TimingsError(f"{where}: {took * unit:g} s is no time of a step")
    return Point(width=int(wide), seconds=took * unit)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _SPLIT.split(line) if cell.strip()]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
