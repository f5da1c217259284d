"""Opens files of lengths: what pfid reads itself, and parquet or Arrow where pyarrow is there."""

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pfid.analysis.length_input import ARROW, PARQUET, read_lengths, read_sources
from pfid.analysis.length_records import Records, records_of
from pfid.analysis.length_sources import Sources, sorted_sources
from pfid.analysis.length_values import (
    LENGTH_FIELDS,
    SOURCE_FIELDS,
    Columns,
    Fields,
    LengthsError,
)
from pfid.domain.extras import how_to_install

Found = TypeVar("Found")
STDIN: Final = "-"


def load_lengths(name: str, fields: Fields) -> Columns:
    """Read lengths, and sources where the records name them; ``-`` is standard input.

    Raises:
        LengthsError: naming file, record and reason.
    """
    return _opened(
        name,
        lambda stream: read_lengths(stream, fields),
        lambda table: _arrow_columns(table, fields),
    )


def load_records(
    name: str, fields: Fields, *, longest: int | None, sources: Sources | None = None
) -> Records:
    """Read lengths as the records of a data set, none longer than ``longest``.

    Args:
        name: a file; ``-`` is standard input.
        fields: where a record has its length, and its source.
        longest: tokens at which records are cut; None for none.
        sources: of the records, in their order, instead of what the file says.

    Raises:
        LengthsError: naming file, record and reason.
    """
    columns = load_lengths(name, fields)
    try:
        return records_of(
            columns.lengths, columns.sources if sources is None else sources, longest=longest
        )
    except ValueError as error:
        raise LengthsError(f"{name}: {error}") from error


def load_sources(name: str, fields: Fields) -> Sources:
    """Read one source a record.

    Raises:
        LengthsError: naming file, record and reason.
    """
    return _opened(
        name,
        lambda stream: read_sources(stream, fields),
        lambda table: _arrow_names(table, _chosen(table, fields.source, SOURCE_FIELDS)),
    )


def _opened(name: str, read: Callable[[Any], Found], read_arrow: Callable[[Any], Found]) -> Found:
    try:
        if name == STDIN:
            return _read(
                io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer)), read, read_arrow
            )
        with Path(name).open("rb") as stream:
            return _read(stream, read, read_arrow)
    except LengthsError as error:
        shown = "standard input" if name == STDIN else name
        raise LengthsError(f"{shown}: {error}") from error
    except IsADirectoryError as error:
        raise LengthsError(f"{name}: is a folder; name its .arrow or .parquet file") from error
    except OSError as error:
        raise LengthsError(f"{name}: cannot be read: {error.strerror}") from error


def _read(
    stream: io.BufferedReader, read: Callable[[Any], Found], read_arrow: Callable[[Any], Found]
) -> Found:
    head = stream.peek(8)
    if head.startswith((PARQUET, *ARROW)):
        return read_arrow(_arrow_table(stream, head))
    return read(stream)


def _arrow_table(stream: io.BufferedReader, head: bytes) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise LengthsError(
            f"parquet and Arrow need pyarrow beside pfid: {how_to_install('arrow')}"
        ) from error
    source = pa.BufferReader(stream.read())
    try:
        if head.startswith(PARQUET):
            return pa.parquet.read_table(source)
        if head.startswith(ARROW[0]):
            return pa.ipc.open_file(source).read_all()
        return pa.ipc.open_stream(source).read_all()
    except (pa.ArrowException, OSError) as error:
        raise LengthsError(f"no table in it: {error}") from error


def _arrow_columns(table: Any, fields: Fields) -> Columns:
    import pyarrow as pa
    import pyarrow.compute as pc

    name = _chosen(table, fields.length, LENGTH_FIELDS)
    column = table.column(name)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        column = pc.list_value_length(column)
    elif not pa.types.is_integer(kind):
        raise LengthsError(f"column {name!r} holds {kind}; wanted whole numbers or lists")
    if column.null_count:
        first = pc.index(pc.is_null(column), value=True).as_py()
        raise LengthsError(f"record {first + 1} in {name!r}: nothing is no number of tokens")
    named = fields.source is not None or any(s in table.column_names for s in SOURCE_FIELDS)
    sources = None
    if named:
        sources = _arrow_names(table, _chosen(table, fields.source, SOURCE_FIELDS))
    return Columns(lengths=column.cast("int64").to_numpy(), sources=sources)


def _arrow_names(table: Any, name: str) -> Sources:
    import pyarrow as pa

    column = table.column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.dictionary_encode()
    names = ["" if v is None else str(v) for v in column.dictionary.to_pylist()]
    codes = column.indices.fill_null(-1).to_numpy()
    if column.null_count or "" in names:
        empty = {-1} | {number for number, one in enumerate(names) if not one}
        wrong = next(n for n, code in enumerate(codes.tolist(), 1) if code in empty)
        raise LengthsError(f"record {wrong} in {name!r}: nothing names no source")
    return sorted_sources(names, codes)


def _chosen(table: Any, asked: str | None, usual: Sequence[str]) -> str:
    names: list[str] = table.column_names
    if asked is not None and asked in names:
        return asked
    found = next((name for name in usual if name in names), None)
    if asked is None and found is not None:
        return found
    wanted = repr(asked) if asked else f"of those usual ({', '.join(usual)})"
    raise LengthsError(f"there is no column {wanted}; there are: {', '.join(names[:20])}")
