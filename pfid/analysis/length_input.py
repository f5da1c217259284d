"""Read the lengths of a data set, and the sources of its records, out of what people have.

Text (numbers between blanks, commas or lines), JSON (a list; records; columns), JSON lines and
.npy. A value is a number of tokens, or a list (``input_ids``), which has its length. Whatever is
malformed is named by its record, and nothing is guessed.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from pfid.domain.errors import PfidError

Ints = NDArray[np.int64]
LENGTH_FIELDS: Final = (
    "length",
    "lengths",
    "n_tokens",
    "num_tokens",
    "token_count",
    "tokens",
    "input_ids",
)
SOURCE_FIELDS: Final = ("source", "root", "dataset", "origin")
NPY: Final = b"\x93NUMPY"
PARQUET: Final = b"PAR1"
ARROW: Final = (b"ARROW1", b"\xff\xff\xff\xff")
_BETWEEN: Final = bytes.maketrans(b",;\t\r\n\v\f", b"       ")
_NUMBER: Final = re.compile(rb"[+-]?\d+")
_PART: Final = re.compile(rb"[^\s,;]+")
_NO_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_SHOWN_CHARS: Final = 40
_TOO_LARGE: Final = 10**18


class LengthsError(PfidError):
    """Lengths or sources cannot be read; says where and why, and the caller says which file."""


class Stream(Protocol):
    """A binary stream whose beginning can be looked at."""

    def peek(self, size: int, /) -> bytes:
        """Return what comes next without taking it."""
        ...

    def read(self) -> bytes:
        """Return the rest."""
        ...

    def readline(self) -> bytes:
        """Return the next line."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Lines."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Which fields of a record are meant; None for the first usual one that is there."""

    length: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """What was read.

    Attributes:
        lengths: one a record.
        sources: likewise; None where the records name none.
    """

    lengths: Ints
    sources: tuple[str, ...] | None = None


def read_lengths(stream: Stream, fields: Fields) -> Columns:
    """Read everything.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    head = stream.peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(NPY):
        return Columns(lengths=_whole_numbers(read_npy(stream)))
    if head[:1] in (b"{", b"["):
        return _of_values(*_json_values(stream), fields)
    return Columns(lengths=_text_numbers(stream.read()))


def read_sources(stream: Stream, fields: Fields) -> tuple[str, ...]:
    """Read one name a record: a text line each, JSON, JSON lines or .npy.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    head = stream.peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(NPY):
        return tuple(str(value) for value in read_npy(stream).tolist())
    if head[:1] in (b"{", b"["):
        unit, values = _json_values(stream)
        first, values = _first(values)
        if isinstance(first, dict):
            name = _field(first, fields.source, SOURCE_FIELDS, "source")
            if unit == "column":
                return tuple(_name(v, n, "record") for n, v in enumerate(first[name], 1))
            return tuple(_name(v.get(name), n, unit) for n, v in enumerate(values, 1))
        return tuple(_name(v, n, unit) for n, v in enumerate(values, 1))
    try:
        lines = stream.read().removeprefix(b"\xef\xbb\xbf").decode().splitlines()
    except UnicodeDecodeError as error:
        raise LengthsError(f"byte {error.start}: not UTF-8") from error
    return tuple(_name(line.strip(), n, "line") for n, line in enumerate(lines, 1))


def read_npy(stream: Any) -> NDArray[Any]:
    """Read one array of numpy's own format; never a pickle.

    Raises:
        LengthsError: if it is none, or has not one dimension.
    """
    try:
        found = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise LengthsError(f"no .npy array: {error}") from error
    if found.ndim != 1:
        raise LengthsError(
            f"an array of shape {found.shape}; wanted one number a record (for input_ids, save "
            "how many tokens of each row are not padding)"
        )
    return found


def _whole_numbers(found: NDArray[Any]) -> Ints:
    if found.dtype.kind == "f":
        wrong = np.flatnonzero(~(np.isfinite(found) & (found == np.trunc(found))))
        if len(wrong):
            raise LengthsError(f"record {wrong[0] + 1}: {found[wrong[0]]} is no number of tokens")
    elif found.dtype.kind not in "iu":
        raise LengthsError(f"an array of {found.dtype}; wanted whole numbers")
    return found.astype(np.int64)


def _text_numbers(data: bytes) -> Ints:
    plain = data.removeprefix(b"\xef\xbb\xbf").translate(_BETWEEN)
    if not plain or plain.isspace():
        raise LengthsError("there is no number in it")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            # UTF-8 or not: what is no number is found below, by its line
            found = np.fromstring(plain.decode("latin-1"), dtype=np.int64, sep=" ")
        except (DeprecationWarning, ValueError, OverflowError) as error:
            raise _first_wrong(data) from error
    if abs(int(found.max())) >= _TOO_LARGE or abs(int(found.min())) >= _TOO_LARGE:
        raise _first_wrong(data)  # numpy stops at the largest number it has
    return found


def _first_wrong(data: bytes) -> LengthsError:
    """Say which line holds the first part that is no whole number."""
    for number, part in enumerate(_PART.finditer(data), 1):
        if _NUMBER.fullmatch(part[0]) is None or len(part[0]) > 18:
            line = data.count(b"\n", 0, part.start()) + 1
            shown = part[0][:_SHOWN_CHARS].decode("utf-8", "replace")
            return LengthsError(f"line {line}, record {number}: {shown!r} is no whole number")
    return LengthsError("it is no list of whole numbers")


def _json_values(stream: Stream) -> tuple[str, Iterable[Any]]:
    """Records and what one is called: ``record`` of a list, ``line``, ``column`` for one object."""
    first = stream.readline()
    while not first.strip(b"\xef\xbb\xbf \t\r\n"):
        first = stream.readline()
    first = first.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(first)
    except _NO_JSON:
        return _document(first + stream.read())
    second = next((line for line in stream if line.strip()), None)
    if second is not None:
        return "line", chain((value,), _json_lines(chain((second,), stream)))
    return ("record", value) if isinstance(value, list) else _object(value)


def _document(data: bytes) -> tuple[str, Iterable[Any]]:
    """One JSON value over several lines; or JSON lines whose first is malformed."""
    try:
        value = msgspec.json.decode(data)
    except _NO_JSON as error:
        raise LengthsError(f"line 1: no JSON, and neither is the whole: {error}") from error
    return ("record", value) if isinstance(value, list) else _object(value)


def _object(value: dict[str, Any]) -> tuple[str, Iterable[Any]]:
    """One object: columns, or the only record of JSON lines."""
    columns = any(isinstance(v, list) for k, v in value.items() if k != "input_ids") or (
        isinstance(value.get("input_ids"), list)
        and all(isinstance(v, list) for v in value["input_ids"])
    )
    return ("column" if columns else "line"), (value,)


def _json_lines(lines: Iterable[bytes]) -> Iterator[Any]:
    for number, line in enumerate(lines, 2):
        if line.strip():
            try:
                yield msgspec.json.decode(line)
            except _NO_JSON as error:
                raise LengthsError(f"line {number}: no JSON: {error}") from error


def _of_values(unit: str, values: Iterable[Any], fields: Fields) -> Columns:
    if isinstance(values, list) and fields.source is None:
        with_type = _plain_list(values)
        if with_type is not None:
            return Columns(lengths=with_type)
    first, values = _first(values)
    if not isinstance(first, dict):
        return Columns(lengths=_array(_length(v, n, unit) for n, v in enumerate(values, 1)))
    length = _field(first, fields.length, LENGTH_FIELDS, "length")
    named = fields.source is not None or any(name in first for name in SOURCE_FIELDS)
    source = _field(first, fields.source, SOURCE_FIELDS, "source") if named else None
    if unit == "column":
        return _of_columns(first, length, source)
    return _of_records(unit, values, length, source)


def _of_records(unit: str, values: Iterable[Any], length: str, source: str | None) -> Columns:
    lengths, names = [], []
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise LengthsError(f"{unit} {number}: {_shown(value)} is no object as the first one is")
        lengths.append(_length(value.get(length), number, unit, length))
        if source is not None:
            names.append(_name(value.get(source), number, unit))
    return Columns(
        lengths=np.array(lengths, dtype=np.int64), sources=tuple(names) if source else None
    )


def _of_columns(columns: dict[str, Any], length: str, source: str | None) -> Columns:
    values = columns[length]
    if not isinstance(values, list):
        raise LengthsError(f"column {length!r} is {_shown(values)}, no list")
    names = columns[source] if source is not None else None
    if names is not None and not isinstance(names, list):
        raise LengthsError(f"column {source!r} is {_shown(names)}, no list")
    return Columns(
        lengths=_array(_length(v, n, "record") for n, v in enumerate(values, 1)),
        sources=None
        if names is None
        else tuple(_name(v, n, "record") for n, v in enumerate(names, 1)),
    )


def _plain_list(values: Sequence[Any]) -> Ints | None:
    """A list of nothing but numbers, which is what most files are; None for another."""
    return np.array(values, dtype=np.int64) if set(map(type, values)) == {int} else None


def _array(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _first(values: Iterable[Any]) -> tuple[Any, Iterable[Any]]:
    rest = iter(values)
    for value in rest:
        return value, chain((value,), rest)
    raise LengthsError("there is no record")


def _field(record: dict[str, Any], asked: str | None, usual: Sequence[str], what: str) -> str:
    if asked is not None and asked in record:
        return asked
    found = next((name for name in usual if name in record), None)
    if asked is None and found is not None:
        return found
    there = ", ".join(sorted(str(k) for k in record)[:20])
    wanted = f"field {asked!r}" if asked else f"field of a {what} ({', '.join(usual)})"
    raise LengthsError(f"the first record has no {wanted}; it has: {there}")


def _length(value: Any, number: int, unit: str, field: str | None = None) -> int:
    if type(value) is int and abs(value) < 1 << 62:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, list):
        return len(value)
    inside = f" in {field!r}" if field else ""
    why = "text is no number of tokens" if isinstance(value, str) else "is no number of tokens"
    raise LengthsError(f"{unit} {number}{inside}: {_shown(value)}: {why}")


def _name(value: Any, number: int, unit: str) -> str:
    if isinstance(value, str) and value:
        return value
    if type(value) is int:
        return str(value)
    raise LengthsError(f"{unit} {number}: {_shown(value)} names no source")


def _shown(value: Any) -> str:
    text = repr(value) if value is not None else "nothing"
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
