"""GPUs as lines: what each is busy with, in words and figures, and its last minutes."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pfid.cli.table import Cell
from pfid.domain.gpu_view import GpuView, HolderView, WorkKind

COLUMNS: Final = (
    "GPU",
    "KIND",
    "UTIL",
    "POWER",
    "TENSOR",
    "MEMORY",
    "RUNS AND USERS",
    "LAST MINUTES",
)
GIB: Final = 1024**3
NONE: Final = "-"
WORDS: Final = {
    WorkKind.IDLE: Cell("idle", "dim"),
    WorkKind.MATMUL: Cell("matmul", "green"),
    WorkKind.NOT_MATMUL: Cell("not matmul", "bold red"),
    WorkKind.LOW_POWER: Cell("low power", "bold red"),
    WorkKind.THROTTLED: Cell("throttled", "yellow"),
    WorkKind.LIGHT: Cell("light"),
    WorkKind.UNKNOWN: Cell("?", "yellow"),
}
BARS: Final = "▁▂▃▄▅▆▇█"
PLAIN_BARS: Final = "_.-=+*#@"
SHOWN_POINTS: Final = 24


def row(gpu: GpuView) -> tuple[str | Cell, ...]:
    """One line of the table."""
    last = gpu.last
    name = f"{gpu.facts.index} {gpu.facts.name}{mig(gpu)}"
    if last is None:
        gone = Cell("gone" if not gpu.present else "no fresh sample", "bold red")
        return (name, gone, NONE, NONE, NONE, NONE, holders(gpu), spark(gpu.recent_utilization))
    return (
        name,
        kind(gpu),
        percent(last.utilization),
        power(gpu),
        percent(last.tensor_activity),
        memory(gpu),
        holders(gpu),
        spark(gpu.recent_utilization),
    )


def mig(gpu: GpuView) -> str:
    """The slices of a card under MIG, alike ones together; "" for one that is whole."""
    if not gpu.facts.mig:
        return ""
    slices = Counter(each.name for each in gpu.facts.instances)
    said = ", ".join(f"{n} x {name}" if n > 1 else name for name, n in slices.items())
    return f" (MIG: {said or 'no instance'})"


def kind(gpu: GpuView) -> Cell:
    """What it is busy with; where that is not known, why."""
    word = WORDS[gpu.kind]
    if gpu.kind is WorkKind.UNKNOWN and gpu.kind_reason:
        return Cell(f"? {gpu.kind_reason.replace('_', ' ')}", word.style)
    return word


def percent(share: float | None) -> str:
    """A share of 1 as a percentage."""
    return NONE if share is None else f"{share * 100:.0f} %"


def power(gpu: GpuView) -> str:
    """Watts of the enforced limit; how the power was had stands in the JSON."""
    last = gpu.last
    if last is None or last.power_w is None:
        return NONE
    limit = "" if last.power_limit_w is None else f" / {last.power_limit_w:.0f}"
    return f"{last.power_w:.0f}{limit} W"


def memory(gpu: GpuView) -> str:
    """GiB used of all."""
    used = None if gpu.last is None else gpu.last.memory_used_bytes
    total = gpu.facts.memory_total_bytes
    if used is None:
        return NONE
    return f"{used / GIB:.1f} GiB" if total is None else f"{used / GIB:.1f} / {total / GIB:.0f} GiB"


def holders(gpu: GpuView) -> str:
    """Runs with their users; strangers by user; what nobody can see by its memory."""
    if gpu.holders is None:
        return "?" if gpu.last is not None else NONE
    said: dict[str, None] = dict.fromkeys(_holder(h) for h in gpu.holders)
    return ", ".join(said) or NONE


def _holder(holder: HolderView) -> str:
    held = "" if holder.memory_bytes is None else f" {holder.memory_bytes / GIB:.1f} GiB"
    if holder.visible is False and holder.run_id is None:
        return f"held by no visible process{held}"
    if holder.visible is None:
        return f"pid {holder.pid} of another namespace{held}"
    who = holder.username or "nobody anyone can see"
    if holder.run_id is None:
        return f"{who} (pid {holder.pid}{held})"
    return f"{holder.run_id} ({who}{', defunct' if holder.zombie else ''})"


def spark(shares: Sequence[float | None]) -> str:
    """The last minutes as a line of bars; a gap where nothing was read."""
    bars = BARS if _speaks_unicode() else PLAIN_BARS
    points = shares[-SHOWN_POINTS:]
    return "".join(
        " " if share is None else bars[min(int(share * len(bars)), len(bars) - 1)]
        for share in points
    )


def _speaks_unicode() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return "utf" in encoding.lower()


def sentence(gpu: GpuView) -> str:
    """One GPU in a sentence, for the facts of a run."""
    parts = [
        kind(gpu).text if gpu.last is not None else "no fresh sample",
        f"{percent(None if gpu.last is None else gpu.last.utilization)} busy",
        power(gpu),
        f"tensor {percent(None if gpu.last is None else gpu.last.tensor_activity)}",
        memory(gpu),
    ]
    return (
        f"{gpu.facts.index} {gpu.facts.name}{mig(gpu)}: {', '.join(p for p in parts if p != NONE)}"
    )
