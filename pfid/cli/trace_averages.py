"""What ``pfid trace`` says of a ``key_averages`` table; what it cannot know is null."""

from collections.abc import Iterator
from typing import Any, Final

from pfid.analysis.kernel_closure import LOW_CLOSURE
from pfid.analysis.kernel_durations import DurationCounts
from pfid.analysis.kernel_launches import Expectation, Met
from pfid.analysis.kernel_table import KernelTally
from pfid.analysis.nd_accounting import account
from pfid.cli.kernel_notes import Note, generation_notes, generations_json, kind_notes
from pfid.cli.nd_options import nd_json
from pfid.cli.trace_reading import TEXT_MAX_BYTES, ReadAverages
from pfid.cli.trace_report import Asked, capability_text, expectation_json, identity_json, us
from pfid.domain.kernel import KernelClass, KernelIdentity
from pfid.domain.outcome import Outcome
from pfid.formats.kernel_names.capability import Device
from pfid.formats.kernel_names.identity import identify
from pfid.formats.trace.key_averages import (
    ROUNDING_SHARE,
    AverageRow,
    Averages,
    key_of,
)

EVIDENCE_SHOWN = 3
UNSURE: Final = frozenset({"footer_exceeded", "rows_unread", "clipped", "cut"})
"""Notes with which the figures of a table are not those of its kernels."""


def report_of_averages(read: ReadAverages, asked: Asked) -> dict[str, Any]:
    """Put together what one table says."""
    table = read.averages
    rows = sorted(table.device, key=lambda row: -row.self_device_ns)
    named = [(row, identify(key_of(row))) for row in rows]
    used = [_tally(*one) for one in named]
    amd = asked.capability is None and any(one.amd for _, one in named)
    device = Device(capability=asked.capability, amd=amd)
    total_ns = sum(row.self_device_ns for row in rows)
    wall_ns = asked.wall_ns
    share = total_ns / wall_ns if wall_ns and rows else None
    flops = table.flops
    return {
        "file": read.name,
        "rank": None,
        "device": {"name": None, "capability": capability_text(asked.capability), "count": None},
        "rows": sum(row.calls for row in rows),
        "sum_us": us(total_ns) if rows else None,
        "union_us": None,
        "kernels_only": None,
        "closure": None,
        "sum_share": share,
        "wall_us": us(wall_ns) if wall_ns else None,
        "wall_source": "given" if wall_ns else None,
        "classes": _classes(named, total_ns),
        "communication": None,
        "generations": generations_json(used),
        "kernels": [_kernel(row, one, total_ns) for row, one in named],
        "steps": [],
        "launches": None,
        "expectations": [expectation_json(_met(one, table)) for one in asked.expectations],
        "flops": None
        if flops is None
        else {"total": flops, "per_second": flops / (wall_ns / 1e9) if wall_ns else None},
        **_accounting(asked),
        "reading": None,
        "notes": [
            {"code": code, "text": text} for code, text in _all_notes(read, share, device, used)
        ],
    }


def _met(expected: Expectation, table: Averages) -> Met:
    """Hold an expectation against the rows shown: more than expected is told, and nothing else.

    Names are cut and rows may be left out (``row_limit``), so that there can be more launches than
    are seen; rows of which some are annotations can be too many.
    """
    calls = sum(row.calls for row in table.device if expected.matches(row.name))
    sure = table.footer_share is not None and not table.exceeds_footer
    if sure and not expected.per_step and calls > expected.calls:
        outcome, why = Outcome.FAIL, f"at least {calls} launches in all, {expected.calls} expected"
        return Met(expectation=expected, outcome=outcome, counts=(calls,), why=why)
    why = "a table of averages has no steps, cuts names and leaves out rows; give the trace"
    return Met(expectation=expected, outcome=Outcome.UNKNOWN, counts=(), why=why)


def _accounting(asked: Asked) -> dict[str, Any]:
    """By parameters and tokens, where wall clock and steps are given: the table has neither."""
    work, wall_ns = asked.work, asked.wall_ns
    if work.counted is None or not work.tokens or not work.steps or not wall_ns:
        why = "a table of averages takes --model or --parameters, --tokens, --steps and --wall"
        return {"accounting": None, "accounting_unknown": why}
    cost = account(work.counted, work.tokens, work.width, wall_ns / 1e9 / work.steps)
    return {"accounting": nd_json(cost), "accounting_unknown": None}


def _classes(named: list[tuple[AverageRow, KernelIdentity]], total_ns: int) -> dict[str, Any]:
    found = {}
    for kind in KernelClass:
        mine = [row for row, identity in named if identity.kind is kind]
        if mine:
            sum_ns = sum(row.self_device_ns for row in mine)
            found[kind.value] = {
                "calls": sum(row.calls for row in mine),
                "sum_us": us(sum_ns),
                "union_us": None,
                "share": sum_ns / total_ns if total_ns else 0.0,
            }
    return found


def _kernel(row: AverageRow, identity: KernelIdentity, total_ns: int) -> dict[str, Any]:
    return {
        "name": row.name,
        "calls": row.calls,
        "total_us": us(row.self_device_ns),
        "min_us": None,
        "p50_us": None,
        "p50_error": None,
        "max_us": None,
        "share": row.self_device_ns / total_ns if total_ns else 0.0,
        **identity_json(identity),
    }


def _footer_notes(table: Averages) -> Iterator[Note]:
    share = table.footer_share
    if share is not None and table.exceeds_footer:
        yield (
            "footer_exceeded",
            (
                f"the rows of kernels sum to {share:.1%} of the total below the table: annotations"
                " are among them that cannot be told apart; print the table without row_limit, or"
                " give the trace"
            ),
        )
    elif share is not None and share < 1 - ROUNDING_SHARE:
        yield "footer_differs", f"the rows shown are {share:.1%} of the total below the table"


def _tally(row: AverageRow, identity: KernelIdentity) -> KernelTally:
    """Put a row as the kernel that it sums up, without its durations."""
    return KernelTally(
        key=key_of(row),
        identity=identity,
        calls=row.calls,
        total_ns=row.self_device_ns,
        durations=DurationCounts(),
    )


def _all_notes(
    read: ReadAverages, share: float | None, device: Device, used: list[KernelTally]
) -> Iterator[Note]:
    yield from _notes(read.averages, share)
    if used:
        yield from generation_notes(device, used)
        yield from kind_notes(used)
    if read.clipped:
        size = f"{TEXT_MAX_BYTES >> 20} MiB"
        yield "clipped", f"the text was read up to {size}; tables behind that are not shown"


def _notes(table: Averages, share: float | None) -> Iterator[Note]:
    if table.cut:
        yield "cut", "the table has no closing rule; what follows holds for the rows before"
    if table.unread:
        shown = "; ".join(f"line {row.line}: {row.why}" for row in table.unread[:EVIDENCE_SHOWN])
        yield (
            "rows_unread",
            f"{len(table.unread)} rows cannot be read and are counted nowhere: {shown}",
        )
    if not table.device:
        why = "its rows of kernels are missing" if table.device_column else "it is of the CPU only"
        yield "no_device_rows", f"the table has no device rows ({why}), so there is no kernel table"
        return
    total_ns = sum(row.self_device_ns for row in table.device)
    doubles = table.doubles()
    if doubles:
        pairs = "; ".join(
            f"{host.name} = {kernel.name} ({host.calls} calls, {us(host.self_device_ns):,.1f} us)"
            for host, kernel in doubles[:EVIDENCE_SHOWN]
        )
        yield (
            "double_count",
            (
                f"the whole table sums to {table.unfiltered_ns / total_ns:.0%} of its device rows:"
                f" {len(doubles)} operators repeat their kernel's time, e.g. {pairs};"
                " only device rows are counted"
            ),
        )
    yield from _footer_notes(table)
    if share is not None and share > 1:
        yield "sum_over_wall", f"rows sum to {share:.1%} of the wall clock given"
    if share is not None and share < LOW_CLOSURE:
        yield "low_closure", f"device rows cover {share:.1%} of the wall clock, below 60%"
    yield "averages_only", "a table of averages tells no least, p50, most, union or steps"
