"""The table that ``key_averages().table()`` prints, as text.

It lists an operator of the host and the kernels that it launched, each with the same device time,
so its sum is about twice the truth (playbook 3.4). Device rows are those without any time on the
host. Annotations among them are no work: they bear the name of a row of the host, or, where
``row_limit`` cut that off, a name that torch gives to its own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pfid.domain.kernel import DeviceCategory, KernelKey

_UNITS_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME: Final = re.compile(r"(-?\d+(?:\.\d+)?)(ns|us|ms|s)")
_RULE: Final = re.compile(r"-{4,}(?:  -{4,})+")
_FOOTER: Final = re.compile(r"Self (?!CPU)(\w+) time total: (\S+)")
_TOTAL: Final = re.compile(r"Self \w+ time total: ")
_SOURCE: Final = "Source Location"
_SHOWN_CHARS: Final = 24
_FLOPS: Final = {"FLOPs": 1.0, "KFLOPs": 1e3, "MFLOPs": 1e6, "GFLOPs": 1e9, "TFLOPs": 1e12}
_SELF: Final = re.compile(r"Self (?!CPU)(?!.*Mem)(\w+)")
_ANNOTATION: Final = re.compile(
    r"ProfilerStep[*#]|Optimizer\.(?:step|zero_grad)#|enumerate\(DataLoader\)#|(?:nccl|gloo|mpi|ucc):"
    r"|DistributedDataParallel\.|FullyShardedDataParallel\.|FSDP::|Torch-Compiled Region|## Call "
)
"""How the annotations begin that torch itself puts on the device."""
NO_VALUE: Final = "--"
ROUNDING_SHARE: Final = 0.01
"""By how much the sum of rounded rows may differ from the total below them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageRow:
    """One row; times in nanoseconds, rounded as the table rounds them."""

    name: str
    calls: int
    self_host_ns: int
    host_ns: int
    self_device_ns: int
    flops: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRow:
    """A line between the rules that is no row; ``line`` counts from 1 in the whole text."""

    line: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Averages:
    """A table, sorted out.

    Attributes:
        device: rows of kernels and copies.
        annotations: device rows that are no work.
        host: rows of operators.
        device_column: there is a column of device time at all.
        footer_ns: the total that torch prints below, without annotations.
        cut: the table has no closing rule.
        unread: lines of the table that could not be read; they count nowhere.
        line: of the text, where it begins, from 1.
    """

    device: tuple[AverageRow, ...]
    annotations: tuple[AverageRow, ...]
    host: tuple[AverageRow, ...]
    device_column: bool
    footer_ns: int | None
    cut: bool
    unread: tuple[UnreadRow, ...] = ()
    line: int = 1

    @property
    def unfiltered_ns(self) -> int:
        """What the whole table adds up to."""
        rows = (*self.device, *self.annotations, *self.host)
        return sum(row.self_device_ns for row in rows)

    @property
    def flops(self) -> float | None:
        """Floating-point operations recorded (``with_flops``); None if none were."""
        known = [row.flops for row in self.host if row.flops is not None]
        return sum(known) if known else None

    @property
    def footer_share(self) -> float | None:
        """Device rows over the total below the table; None without one of them."""
        total_ns = sum(row.self_device_ns for row in self.device)
        return total_ns / self.footer_ns if self.footer_ns and total_ns else None

    @property
    def exceeds_footer(self) -> bool:
        """Device rows add up to more than the total below them: some are annotations."""
        return (self.footer_share or 0.0) > 1 + ROUNDING_SHARE

    def doubles(self) -> tuple[tuple[AverageRow, AverageRow], ...]:
        """Return operators with a kernel of exactly their calls and device time."""
        kernels = {(row.calls, row.self_device_ns): row for row in self.device}
        pairs = ((row, kernels.get((row.calls, row.self_device_ns))) for row in self.host)
        return tuple((row, kernel) for row, kernel in pairs if kernel and row.self_device_ns)


def read_averages(text: str) -> Averages | None:
    """Read the first table in a text; None if there is none."""
    return next(iter(read_tables(text)), None)


def read_tables(text: str) -> list[Averages]:
    """Read every table in a text, as a log of several profiles holds them."""
    lines = text.splitlines()
    rules = [number for number, line in enumerate(lines) if _RULE.search(line)]
    heads = [n for n in rules if n + 1 < len(lines) and "# of Calls" in lines[n + 1]]
    return [_table(lines, head, end) for head, end in pairwise([*heads, len(lines)])]


def _table(lines: list[str], head: int, bound: int) -> Averages:
    """Read the table that begins at a line, and its totals, before the next one."""
    columns = _columns(lines[head + 1])
    rest = [number for number in range(head + 2, bound) if _RULE.search(lines[number])]
    end = rest[1] if len(rest) > 1 else bound
    rows, unread = [], []
    for number in range(rest[0] + 1 if rest else end, end):
        cells = _cells(lines[number], columns)
        if not cells or _TOTAL.match(lines[number]):
            continue
        read = _row(cells, columns)
        if isinstance(read, AverageRow):
            rows.append(read)
        else:
            unread.append(UnreadRow(line=number + 1, why=read))
    footer_ns = _footer(lines[end:bound])
    found = _sorted_out(rows, columns, footer_ns, cut=len(rest) < 2)
    return replace(found, unread=tuple(unread), line=head + 1)


def key_of(row: AverageRow) -> KernelKey:
    """Return a device row's kernel."""
    copies = {"Memcpy ": DeviceCategory.MEMCPY, "Memset ": DeviceCategory.MEMSET}
    found = (category for start, category in copies.items() if row.name.startswith(start))
    return KernelKey(next(found, DeviceCategory.KERNEL), row.name)


def time_ns(text: str) -> int | None:
    """Return nanoseconds of ``1.234ms``."""
    match = _TIME.fullmatch(text)
    return round(float(match[1]) * _UNITS_NS[match[2]]) if match else None


def _columns(header: str) -> list[str]:
    return re.split(r"\s{2,}", header.strip())


def _cells(line: str, columns: list[str]) -> list[str]:
    """A line's cells; none for one that is empty or goes on with the stack of the row above."""
    cells = re.split(r"\s{2,}", line.strip())
    if _SOURCE in columns and len(cells) == len(columns) - 1 > 1:
        cells.insert(columns.index(_SOURCE), "")  # a row without a stack
    extra = len(cells) - len(columns)
    if extra > 0:
        cells = ["  ".join(cells[: extra + 1]), *cells[extra + 1 :]]
    goes_on = _SOURCE in columns and len(cells) == 1
    return [] if goes_on or not cells[0] else cells


def _row(cells: list[str], columns: list[str]) -> AverageRow | str:
    """Read a row; what is wrong with it where that cannot be done."""
    if len(cells) != len(columns):
        return f"{len(cells)} cells of {len(columns)}"
    by_name = dict(zip(columns, cells, strict=True))
    calls, device = by_name["# of Calls"], _device_column(columns)
    if not calls.isdecimal():
        return f"# of Calls is {calls[:_SHOWN_CHARS]!r}"
    times = {}
    for name in ("Self CPU", "CPU total", device or ""):
        text = by_name.get(name, NO_VALUE)
        time = 0 if text == NO_VALUE else time_ns(text)
        if time is None:
            return f"{name} is {text[:_SHOWN_CHARS]!r}"
        times[name] = time
    return AverageRow(
        name=cells[0],
        calls=int(calls),
        self_host_ns=times["Self CPU"],
        host_ns=times["CPU total"],
        self_device_ns=times[device or ""],
        flops=_flops(by_name),
    )


def _device_column(columns: Iterable[str]) -> str | None:
    return next((name for name in columns if _SELF.fullmatch(name)), None)


def _flops(cells: dict[str, str]) -> float | None:
    for unit, factor in _FLOPS.items():
        text = cells.get(f"Total {unit}", NO_VALUE)
        if re.fullmatch(r"\d+(?:\.\d+)?", text):
            return float(text) * factor
    return None


def _sorted_out(
    rows: list[AverageRow], columns: list[str], footer_ns: int | None, *, cut: bool
) -> Averages:
    host = [row for row in rows if row.host_ns or row.self_host_ns or not row.self_device_ns]
    names = {row.name for row in host}
    mine = [row for row in rows if row not in host]
    no_work = [row for row in mine if row.name in names or _ANNOTATION.match(row.name)]
    return Averages(
        device=tuple(row for row in mine if row not in no_work),
        annotations=tuple(no_work),
        host=tuple(host),
        device_column=_device_column(columns) is not None,
        footer_ns=footer_ns,
        cut=cut,
    )


def _footer(lines: list[str]) -> int | None:
    matches = (_FOOTER.search(line) for line in lines)
    return next((time_ns(match[2]) for match in matches if match), None)
