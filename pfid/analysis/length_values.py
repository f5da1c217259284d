"""What one value of a file says: a number of tokens or a source; or how it is no such thing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.length_sources import Sources
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
_SHOWN_CHARS: Final = 40


class LengthsError(PfidError):
    """Lengths or sources cannot be read; says where and why, and the caller says which file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Which fields of a record are meant; None for the first usual one that is there."""

    length: str | None = None
    source: str | None = None

    def length_of(self, record: dict[str, Any]) -> str:
        """Return the field of a record's length.

        Raises:
            LengthsError: if there is none.
        """
        return _field(record, self.length, LENGTH_FIELDS, "length")

    def source_of(self, record: dict[str, Any]) -> str:
        """Return the field of a record's source.

        Raises:
            LengthsError: if there is none.
        """
        return _field(record, self.source, SOURCE_FIELDS, "source")

    def names_source(self, record: dict[str, Any]) -> bool:
        """Whether sources are asked for, or named as usual."""
        return self.source is not None or any(name in record for name in SOURCE_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """What was read.

    Attributes:
        lengths: one a record.
        sources: likewise; None where the records name none.
    """

    lengths: Ints
    sources: Sources | None = None


def token_count(value: Any, where: str) -> int:
    """Return the tokens of a record that says ``value``, a number or a list of them.

    Raises:
        LengthsError: if it is neither; ``where`` says which record.
    """
    if type(value) is int and abs(value) < 1 << 62:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, list):
        return len(value)
    why = "text is no number of tokens" if isinstance(value, str) else "is no number of tokens"
    raise LengthsError(f"{where}: {shown(value)}: {why}")


def source_name(value: Any, where: str) -> str:
    """Return the source that ``value`` names.

    Raises:
        LengthsError: if it names none; ``where`` says which record.
    """
    if isinstance(value, str) and value:
        return value
    if type(value) is int:
        return str(value)
    raise LengthsError(f"{where}: {shown(value)} names no source")


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    text = repr(value) if value is not None else "nothing"
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."


def _field(record: dict[str, Any], asked: str | None, usual: Sequence[str], what: str) -> str:
    if asked is not None and asked in record:
        return asked
    found = next((name for name in usual if name in record), None)
    if asked is None and found is not None:
        return found
    there = ", ".join(sorted(str(k) for k in record)[:20])
    wanted = f"field {asked!r}" if asked else f"field of a {what} ({', '.join(usual)})"
    raise LengthsError(f"the first record has no {wanted}; it has: {there}")
