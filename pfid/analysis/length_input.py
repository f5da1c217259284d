"""Read the lengths of a data set, and the sources of its records, out of what people have.

Text (numbers between blanks, commas or lines), JSON (a list; records; columns), JSON lines and
.npy. A value is a number of tokens, or a list (``input_ids``), which has its length. Whatever is
malformed is named by its record, and nothing is guessed.
"""

import re
import warnings
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.json_items import PIECE_BYTES
from pfid.analysis.length_json import BOM, JsonStream, lengths_in, read_document, sources_in
from pfid.analysis.length_sources import Sources, SourceTally, sorted_sources
from pfid.analysis.length_values import Columns, Fields, Ints, LengthsError, source_name

NPY: Final = b"\x93NUMPY"
PARQUET: Final = b"PAR1"
ARROW: Final = (b"ARROW1", b"\xff\xff\xff\xff")
_BETWEEN: Final = bytes.maketrans(b",;\t\r\n\v\f", b"       ")
_NUMBER: Final = re.compile(rb"[+-]?\d+")
_PART: Final = re.compile(rb"[^\s,;]+")
_SHOWN_CHARS: Final = 40
_TOO_LARGE: Final = 10**18


class Stream(JsonStream, Protocol):
    """A binary stream whose beginning can be looked at."""

    def peek(self, size: int, /) -> bytes:
        """Return what comes next without taking it."""
        ...


def read_lengths(stream: Stream, fields: Fields) -> Columns:
    """Read everything.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    head = _head(stream)
    if head.startswith(NPY):
        return Columns(lengths=_whole_numbers(read_npy(stream)))
    if head[:1] in (b"{", b"["):
        return lengths_in(read_document(stream), fields)
    return Columns(lengths=_text_numbers(stream.read()))


def read_sources(stream: Stream, fields: Fields) -> Sources:
    """Read one name a record: a text line each, JSON, JSON lines or .npy.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    head = _head(stream)
    if head.startswith(NPY):
        return _array_names(read_npy(stream))
    if head[:1] in (b"{", b"["):
        return sources_in(read_document(stream), fields)
    return _text_names(stream)


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
    elif found.dtype.kind == "u":
        wrong = np.flatnonzero(found > _TOO_LARGE)
        if len(wrong):
            raise LengthsError(f"record {wrong[0] + 1}: {found[wrong[0]]} is no number of tokens")
    elif found.dtype.kind != "i":
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


def _head(stream: Stream) -> bytes:
    return stream.peek(64).lstrip(BOM + b" \t\r\n")


def _array_names(found: NDArray[Any]) -> Sources:
    values, codes = np.unique(found, return_inverse=True)
    names = [str(value) for value in values.tolist()]
    if "" in names:
        record = int(np.flatnonzero(codes == names.index(""))[0]) + 1
        source_name("", f"record {record}")
    return sorted_sources(names, codes)


def _text_names(stream: Stream) -> Sources:
    """A name a line, in pieces of whole lines."""
    tally, line = SourceTally(), 0
    piece = stream.readline().removeprefix(BOM)
    while piece:
        names = _lines(piece, line)
        for number, name in enumerate(names, line + 1):
            if not name:
                source_name(name, f"line {number}")
        tally.add(tally.coded(names))
        line += len(names)
        piece = stream.read(PIECE_BYTES)
        if piece and not piece.endswith(b"\n"):
            piece += stream.readline()
    return tally.sources()


def _lines(piece: bytes, before: int) -> list[str]:
    try:
        return [line.strip() for line in piece.decode().removesuffix("\n").split("\n")]
    except UnicodeDecodeError as error:
        line = before + piece.count(b"\n", 0, error.start) + 1
        raise LengthsError(f"line {line}: not UTF-8") from error
