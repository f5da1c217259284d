"""Lengths and sources out of JSON: a list, a list of records, columns, or a record a line."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from pfid.analysis.json_items import NO_JSON, Items, LineItems, Lines, ListItems, is_json
from pfid.analysis.length_gather import (
    Column,
    LengthColumn,
    SourceColumn,
    gather_fields,
    gather_values,
)
from pfid.analysis.length_sources import Sources
from pfid.analysis.length_values import Columns, Fields, LengthsError, shown

BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"
_LISTS: Final = re.compile(rb"\s*\[\s*[\[\]]")
_BEHIND: Final = re.compile(r"\s*")
_COMMA: Final = re.compile(r"\s*,\s*")
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _no_number(name: str) -> None:
    raise ValueError(name)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
"""NaN and Infinity are no JSON to whoever reads the numbers; neither are they here."""


class JsonStream(Lines, Protocol):
    """A binary stream, by lines and to its end."""

    def read(self, size: int = -1, /) -> bytes:
        """Return so many bytes, or the rest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON document: items, or columns as they are written."""

    items: Items | None = None
    columns: dict[str, bytes] | None = None


def read_document(stream: JsonStream) -> Document:
    """Find out which of them a document is; items are read when they are gathered.

    Raises:
        LengthsError: if it is no JSON, or holds nothing.
    """
    before, first = 0, stream.readline().removeprefix(BOM)
    while first and not first.strip(_SPACE):
        before, first = before + 1, stream.readline()
    behind, second = b"", stream.readline()
    while second and not second.strip(_SPACE):
        behind, second = behind + second, stream.readline()
    if second and is_json(first):
        return Document(items=LineItems(first, behind + second, stream, before))
    return _whole(first + behind + second + stream.read(), stream, before)


def lengths_in(document: Document, fields: Fields) -> Columns:
    """Return lengths, and sources where they are named.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    lengths, sources = LengthColumn(), SourceColumn()
    record = _record(document)
    if record is None:
        gather_values(_items(document), lengths)
        return Columns(lengths=lengths.lengths())
    wanted: list[tuple[str, Column]] = [(fields.length_of(record), lengths)]
    if fields.names_source(record):
        wanted.append((fields.source_of(record), sources))
    _gather(document, wanted)
    return Columns(
        lengths=lengths.lengths(), sources=sources.sources() if len(wanted) > 1 else None
    )


def sources_in(document: Document, fields: Fields) -> Sources:
    """Return sources.

    Raises:
        LengthsError: for what is malformed, with its record.
    """
    sources = SourceColumn()
    record = _record(document)
    if record is None:
        gather_values(_items(document), sources)
    else:
        _gather(document, [(fields.source_of(record), sources)])
    return sources.sources()


def _gather(document: Document, wanted: list[tuple[str, Column]]) -> None:
    if document.columns is None:
        gather_fields(_items(document), [name for name, _ in wanted], [c for _, c in wanted])
        return
    for name, column in wanted:
        written = document.columns[name]
        if not written.startswith(b"["):
            raise LengthsError(f"column {name!r} is {shown(msgspec.json.decode(written))}, no list")
        gather_values(_elements(written), column, name)


def _record(document: Document) -> dict[str, Any] | None:
    """The first record, or all columns; None for items that are no objects."""
    if document.columns is not None:
        return document.columns
    first = _items(document).first
    return first if isinstance(first, dict) else None


def _items(document: Document) -> Items:
    if document.items is None:
        raise LengthsError("there is no record")
    return document.items


def _elements(data: bytes) -> ListItems:
    try:
        return ListItems(data)
    except ValueError as error:
        raise LengthsError(str(error)) from error


def _whole(data: bytes, ended: Lines, before: int) -> Document:
    """One JSON value over several lines; or JSON lines whose first is malformed."""
    _check(data)
    if data.lstrip(_SPACE).startswith(b"["):
        return Document(items=_elements(data))
    columns = {name: bytes(value) for name, value in _OBJECT.decode(data).items()}
    if any(_is_column(name, value) for name, value in columns.items()):
        return Document(columns=columns)
    return Document(items=LineItems(data, b"", ended, before))


def _is_column(name: str, value: bytes) -> bool:
    """Whether a field of the only object is a list; of one record, ``input_ids`` is one too."""
    return bool(_LISTS.match(value)) if name == "input_ids" else value.startswith(b"[")


def _check(data: bytes) -> None:
    """Refuse what is no JSON, by its record where it is a list that begins well."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except NO_JSON as error:
        number = _elements_read(data) + 1
        where = "line 1: no JSON, and neither is the whole"
        raise LengthsError(
            f"{where if number == 1 else f'record {number}: no JSON'}: {error}"
        ) from error


def _elements_read(data: bytes) -> int:
    """Count the elements of a list before the one that is malformed."""
    text = data.decode("utf-8", "replace")
    count, at = 0, _BEHIND.match(text, text.find("[") + 1)
    while at is not None:
        try:
            _, end = _DECODER.raw_decode(text, at.end())
        except (ValueError, RecursionError):
            break
        count, at = count + 1, _COMMA.match(text, end)
    return count
