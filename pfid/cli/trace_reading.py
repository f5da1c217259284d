"""One file of ``pfid trace``, read: a Kineto trace or a ``key_averages`` table."""

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pfid.analysis.kernel_table import KernelTable
from pfid.cli.trace_files import TraceBytes
from pfid.domain.errors import PfidError
from pfid.formats.kernel_names.identity import identify
from pfid.formats.trace.collected import Collected
from pfid.formats.trace.key_averages import Averages, read_tables
from pfid.formats.trace.reader import Reading, TraceReader

TEXT_MAX_BYTES: Final = 16 << 20
_SPACE: Final = b" \t\r\n\xef\xbb\xbf"


class TraceError(PfidError):
    """A file is no trace and no table; says which, and what it was taken for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTrace:
    """A Kineto trace; ``broken`` tells why its compression ended early."""

    name: str
    reading: Reading
    collected: Collected
    table: KernelTable
    broken: str | None

    @property
    def unread(self) -> str:
        """Why it was not read whole, so that what is not seen in it may be; empty if it was."""
        return "; ".join(self._left())

    def _left(self) -> Iterator[str]:
        reading, malformed = self.reading, self.reading.malformed
        if self.broken is not None:
            yield self.broken
        elif reading.cut:
            yield f"the file ends in its middle after {reading.bytes_read:,} bytes"
        if reading.behind:
            yield f"{reading.behind:,} characters behind the end of the document were not read"
        if malformed.damaged:
            yield f"records that could not be read: {malformed.damaged:,}"
        if malformed.rejected:
            yield f"rows without usable times: {malformed.rejected:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAverages:
    """A ``key_averages`` table.

    Attributes:
        name: of the file, and which of its tables where it has several.
        averages: what it holds.
        clipped: behind it the file goes on, and was not read.
        others: the further tables of the file.
    """

    name: str
    averages: Averages
    clipped: bool = False
    others: tuple["ReadAverages", ...] = ()


def read_file(name: str) -> ReadTrace | ReadAverages:
    """Read a file to its end, or to where it is cut.

    Raises:
        TraceError: if it cannot be read or is neither a trace nor a table.
    """
    source = TraceBytes(name=name)
    try:
        blocks = source.blocks()
        first = _first(blocks)
        if first.lstrip(_SPACE)[:1] in (b"{", b"["):
            return _trace(source, chain((first,), blocks))
        return _averages(source, first, blocks)
    except OSError as problem:
        raise TraceError(f"{name}: cannot be read ({problem.strerror or problem})") from problem


def _first(blocks: Iterator[bytes]) -> bytes:
    """Return the first bytes that hold more than space."""
    first = b""
    for block in blocks:
        first += block
        if first.lstrip(_SPACE):
            break
    return first


def _trace(source: TraceBytes, blocks: Iterator[bytes]) -> ReadTrace:
    reader = TraceReader()
    collected = reader.collected
    table = KernelTable(collected.names, identify)
    with _without_collector():
        for block in blocks:
            table.add(reader.feed(block), collected.steps)
        table.add(reader.finish(), collected.steps)
        table.finish(collected.steps, collected.processes)
    reading = reader.reading()
    if not reading.events:
        raise TraceError(
            f"{source.name}: JSON without a list of events (traceEvents); is it a profiler trace?"
        )
    return ReadTrace(
        name=source.name,
        reading=reading,
        collected=collected,
        table=table,
        broken=source.broken,
    )


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Let the garbage collector rest: rows are built by the million, and none of them in a ring."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _averages(source: TraceBytes, first: bytes, blocks: Iterator[bytes]) -> ReadAverages:
    name = source.name
    text, clipped = bytearray(first), False
    for block in blocks:
        clipped = len(text) > TEXT_MAX_BYTES
        if clipped:
            break
        text += block
    if source.broken is not None:
        raise TraceError(f"{name}: {source.broken}")
    if not text.strip(_SPACE):
        raise TraceError(f"{name}: is empty")
    tables = read_tables(text.decode("utf-8", "replace"))
    if not tables:
        raise TraceError(
            f"{name}: neither JSON (it begins with neither {{ nor [) nor a table of key_averages()"
        )
    count = len(tables)
    found = [
        ReadAverages(
            name=name if count == 1 else f"{name}, table {n} of {count} (line {one.line:,})",
            averages=one,
            clipped=clipped and n == count,
        )
        for n, one in enumerate(tables, 1)
    ]
    return replace(found[0], others=tuple(found[1:]))
