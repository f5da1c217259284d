"""What a run itself reported of its steps: tokens, width and FLOPs of a middling one."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import median_low
from typing import Final

from pfid.domain.step import Phase, StepEvent
from pfid.formats.steps_file import StepsFileParser

READ_MAX_BYTES: Final = 64 << 20
_BLOCK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedWork:
    """A step as its run reported it; None is not said.

    Attributes:
        tokens: padding included.
        width: of a row.
        flops: as ``accounting`` counts them.
        accounting: in words, "" if nothing was said.
        steps: that were looked at.
    """

    tokens: int | None
    width: int | None
    flops: float | None
    accounting: str
    steps: int


def reported_work(folder: Path, rank: int | None) -> ReportedWork | None:
    """Read the step files of a run.

    Args:
        folder: that its step files lie in.
        rank: whose steps; None for the lowest that reports.

    Returns:
        None where nobody reported a step of training.
    """
    steps: dict[int, list[StepEvent]] = {}
    names: dict[int, str] = {}
    for file in sorted(folder.glob("*.jsonl")):
        if not file.is_file():  # a pipe would never end
            continue
        parser = StepsFileParser()
        events = [one for one in _events(file, parser) if one.phase is Phase.TRAIN]
        for event in events:
            steps.setdefault(event.rank or 0, []).append(event)
        if events:
            names.setdefault(events[0].rank or 0, parser.notes.inside.accounting)
    wanted = min(steps, default=0) if rank is None else rank
    mine = steps.get(wanted)
    if not mine:
        return None
    flops = [e.report.flops / e.interval_steps for e in mine if e.report and e.report.flops]
    flops = [one for one in flops if isfinite(one)]
    return ReportedWork(
        tokens=_middle([e.tokens // e.interval_steps for e in mine if e.tokens]),
        width=_middle([e.width for e in mine if e.width]),
        flops=median_low(flops) if flops else None,
        accounting=names.get(wanted, ""),
        steps=len(mine),
    )


def _middle(values: list[int]) -> int | None:
    return median_low(values) if values else None


def _events(file: Path, parser: StepsFileParser) -> Iterator[StepEvent]:
    with suppress(OSError), file.open("rb") as opened:
        for _ in range(READ_MAX_BYTES // _BLOCK_BYTES):
            block = opened.read(_BLOCK_BYTES)
            if not block:
                break
            yield from parser.feed(block)
        yield from parser.finish()
