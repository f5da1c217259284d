"""Gather lengths and sources from the items of a document, a piece at a time.

A piece whose items are all of the type of the first one is decoded at once, into structs; another
one item by item, so that the one that is malformed is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from pfid.analysis.json_items import NO_JSON, Items
from pfid.analysis.length_sources import Codes, Sources, SourceTally
from pfid.analysis.length_values import Ints, LengthsError, shown, source_name, token_count

_NOT_ALIKE: Final = (*NO_JSON, ValueError, OverflowError)


class Column(Protocol):
    """What is gathered of each item: blocks of numbers."""

    def kind(self, first: Any, /) -> Any:
        """Return the type of a column whose first value is this."""
        ...

    def coded(self, values: Sequence[Any]) -> NDArray[Any]:
        """Return values of that type as they are kept.

        Raises:
            ValueError: if one of them is malformed.
            OverflowError: if one of them is too large.
        """
        ...

    def coded_singly(self, values: Iterable[tuple[str, Any]]) -> NDArray[Any]:
        """Return values of any type, each behind where it stands.

        Raises:
            LengthsError: naming the first that is malformed.
        """
        ...

    def add(self, block: NDArray[Any]) -> None:
        """Keep what was returned."""
        ...


class LengthColumn:
    """Numbers of tokens, or lists of them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._blocks: list[Ints] = []
        self._lists = False

    def kind(self, first: Any, /) -> Any:
        """Take lists for lists, and for all else whole numbers."""
        self._lists = isinstance(first, list)
        return list if self._lists else int

    def coded(self, values: Sequence[Any]) -> Ints:
        """Return tokens of each."""
        return np.array(list(map(len, values)) if self._lists else values, dtype=np.int64)

    def coded_singly(self, values: Iterable[tuple[str, Any]]) -> Ints:
        """Return tokens of each."""
        return np.array([token_count(value, where) for where, value in values], dtype=np.int64)

    def add(self, block: NDArray[Any]) -> None:
        """Keep tokens."""
        self._blocks.append(block)

    def lengths(self) -> Ints:
        """Return all."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self._blocks])


class SourceColumn:
    """Names."""

    def __init__(self) -> None:
        """Begin with none."""
        self._tally = SourceTally()

    def kind(self, _first: Any, /) -> Any:
        """Take texts and whole numbers."""
        return str | int

    def coded(self, values: Sequence[Any]) -> Codes:
        """Return numbers of names."""
        return self._tally.coded(values)

    def coded_singly(self, values: Iterable[tuple[str, Any]]) -> Codes:
        """Return numbers of names."""
        return self._tally.coded([source_name(value, where) for where, value in values])

    def add(self, block: NDArray[Any]) -> None:
        """Keep numbers of names."""
        self._tally.add(block)

    def sources(self) -> Sources:
        """Return all."""
        return self._tally.sources()


def gather_values(items: Items, column: Column, field: str | None = None) -> None:
    """Gather items that are themselves the values, those of ``field`` where they are a column.

    Raises:
        LengthsError: for one that is malformed.
    """
    decoder = items.decoder(column.kind(items.first))
    inside = f" in {field!r}" if field else ""
    taken = 0
    for piece in items.pieces():
        try:
            block = column.coded(items.typed(piece, decoder))
        except _NOT_ALIKE:
            values = items.plain(piece, taken)
            block = column.coded_singly((f"{items.unit} {n}{inside}", v) for n, v in values)
        column.add(block)
        taken += len(block)


def gather_fields(items: Items, fields: Sequence[str], columns: Sequence[Column]) -> None:
    """Gather a field for each column, of items that are objects.

    Raises:
        LengthsError: for one that is malformed.
    """
    kinds = [column.kind(items.first[field]) for field, column in zip(fields, columns, strict=True)]
    decoder = items.decoder(_record(dict(zip(fields, kinds, strict=True))))
    attributes = [attrgetter(f"f{list(dict.fromkeys(fields)).index(field)}") for field in fields]
    taken = 0
    for piece in items.pieces():
        try:
            rows = items.typed(piece, decoder)
            values = (list(map(attribute, rows)) for attribute in attributes)
            blocks = [column.coded(one) for column, one in zip(columns, values, strict=True)]
        except _NOT_ALIKE:
            blocks = _singly(items, piece, taken, fields, columns)
        for column, block in zip(columns, blocks, strict=True):
            column.add(block)
        taken += len(blocks[0])


def _singly(
    items: Items, piece: bytes, taken: int, fields: Sequence[str], columns: Sequence[Column]
) -> list[NDArray[Any]]:
    unit, values = items.unit, list(items.plain(piece, taken))
    for number, value in values:
        if not isinstance(value, dict):
            raise LengthsError(f"{unit} {number}: {shown(value)} is no object as the first one is")
    return [
        column.coded_singly((f"{unit} {n} in {field!r}", value.get(field)) for n, value in values)
        for field, column in zip(fields, columns, strict=True)
    ]


def _record(kinds: Mapping[str, Any]) -> Any:
    """The type of a record with these fields; if a name is too odd for one, of none."""
    rename = {f"f{n}": field for n, field in enumerate(kinds)}
    pairs = list(zip(rename, kinds.values(), strict=True))
    try:
        return msgspec.defstruct("Record", pairs, rename=rename, gc=False)
    except ValueError:
        return bool
