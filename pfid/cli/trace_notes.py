"""What a reader of a kernel table must be told beside it: facts, each with its figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pfid.analysis.flag_taken import FlagTaken
from pfid.analysis.kernel_closure import LOW_CLOSURE, Closure, WallSource
from pfid.analysis.kernel_decomposition import Hidden
from pfid.analysis.kernel_launches import Attention, Experts, Launches
from pfid.analysis.kernel_steps import outside
from pfid.cli.kernel_notes import Note, generation_notes, kind_notes
from pfid.cli.trace_provenance import Bound, provenance_notes
from pfid.cli.trace_reading import ReadTrace
from pfid.domain.kernel import KernelClass
from pfid.formats.kernel_names.capability import Device
from pfid.formats.trace.collected import CATEGORIES, HOST_CATEGORIES
from pfid.formats.trace.malformed import Malformed


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that the notes are made of."""

    read: ReadTrace
    device: Device
    closure: Closure | None
    launches: Launches
    hidden: Hidden | None
    bound: Bound | None = None
    flags: Sequence[FlagTaken] = ()


def notes(facts: Facts) -> Iterator[Note]:
    """Say what must be said, the reading first."""
    yield from _reading(facts)
    if facts.bound is not None:
        yield from provenance_notes(facts.bound, facts.flags)
    if not facts.read.table.used:
        yield _no_device_rows(facts)
        return
    yield from _closure(facts)
    yield from _communication(facts)
    yield from generation_notes(facts.device, facts.read.table.used)
    yield from kind_notes(facts.read.table.used)
    yield from _flags(facts)


def _reading(facts: Facts) -> Iterator[Note]:
    reading = facts.read.reading
    if facts.read.broken:
        yield "cut", f"{facts.read.broken}; what follows holds for what was read before"
    elif reading.cut:
        yield (
            "cut",
            (
                f"the file ends in its middle after {reading.bytes_read:,} bytes; what follows"
                " holds for the whole records before"
            ),
        )
    if reading.behind:
        yield (
            "more_behind",
            (
                f"behind the end of the document {reading.behind:,} characters were not read: if"
                " they are another trace, give it as a file of its own"
            ),
        )
    yield from _malformed(reading.malformed)
    if reading.parser_from_byte:
        yield (
            "slow_way",
            (
                f"from byte {reading.parser_from_byte:,} on the file is not as Kineto writes it; it"
                " was read by the full parser"
            ),
        )
    table = facts.read.table
    if table.merged:
        yield "ranks_merged", _merged(table.processes, table.shared_calls)
    elif table.steps_late:
        yield "steps_late", "steps were told after their rows; nothing can be said by step"


def _merged(processes: int, shared_calls: int) -> str:
    seen = f"{processes:,} processes of the host launch" if processes > 1 else ""
    same = f"{shared_calls:,} correlations are of more than one call" if shared_calls else ""
    return (
        f"several ranks are in one file ({'; '.join(one for one in (seen, same) if one)}): all of"
        " them are counted together, devices of the same number as one, and nothing is said by"
        " step; give the trace of each rank by itself"
    )


def _malformed(malformed: Malformed) -> Iterator[Note]:
    if malformed.damaged:
        which = "; ".join(f"at byte {one.byte:,}: {one.why}" for one in malformed.damage)
        yield (
            "damaged",
            (
                f"{malformed.damaged:,} records could not be read and were skipped: {which}"
                f"{_more(malformed.damaged, malformed.damage)}; the first begins"
                f" {malformed.damage[0].begins!r}"
            ),
        )
    if malformed.rejected:
        which = "; ".join(f"{one.name}: {one.why}" for one in malformed.rejects)
        yield (
            "rejected",
            (
                f"{malformed.rejected:,} rows without usable times were left out: {which}"
                f"{_more(malformed.rejected, malformed.rejects)}"
            ),
        )


def _more(count: int, kept: Sequence[object]) -> str:
    rest = count - len(kept)
    return f"; and {rest:,} more" if rest else ""


def _no_device_rows(facts: Facts) -> Note:
    seen = facts.read.collected.categories
    if seen & set(CATEGORIES):
        return "no_device_rows", "no device row has times that can be used, so there is no table"
    if seen & {"cuda_runtime", "cuda_driver", "cuda_profiler_range"}:
        return (
            "no_device_rows",
            (
                "the profile has no device activity: CUPTI did not record (or range-profiler mode);"
                " launches of the host are no kernels, so there is no table"
            ),
        )
    if seen & HOST_CATEGORIES:
        return (
            "cpu_only",
            "CPU-only profile: there are no device rows, so there is no kernel table",
        )
    return (
        "not_torch",
        (
            "no event of it is one that torch's profiler writes; another tool's trace may have its"
            " device time in rows that are not known here"
        ),
    )


def _closure(facts: Facts) -> Iterator[Note]:
    closure, table = facts.closure, facts.read.table
    total_ns = sum(tally.total_ns for tally in table.used)
    busy_ns = sum(union.length for union in table.busy.values())
    if table.twins:
        yield (
            "double_count",
            (
                f"{table.twins:,} rows repeat another row in name, stream, begin and duration, e.g."
                f" {table.twin_example}: one launch written twice"
            ),
        )
    if total_ns > busy_ns:
        yield (
            "streams_overlap",
            (
                f"rows sum to {_ms(total_ns)}, the device was busy {_ms(busy_ns)}: streams run side"
                " by side; busy time is the union"
            ),
        )
    if closure is None:
        return
    against = {
        WallSource.GIVEN: "the wall clock given",
        WallSource.STEPS: "the steps' wall clock",
        WallSource.SPAN: "the time from first to last device row",
    }[closure.source]
    if closure.over:
        yield "sum_over_wall", f"rows sum to {closure.sum_share:.1%} of {against}"
    if closure.low:
        yield (
            "low_closure",
            (
                f"device time covers {closure.union_share:.2%} of {against}"
                f" ({_ms(closure.wall_ns)}), below {LOW_CLOSURE:.0%}: the kernel table"
                " cannot explain the wall clock"
            ),
        )
    calls, ns = outside(table)
    if calls and not table.merged:
        yield "outside_steps", f"{calls:,} rows ({_ms(ns)}) belong to no step"
    unplaced = 0 if table.merged else sum(table.unplaced.values())
    if unplaced:
        yield (
            "steps_unsure",
            (
                f"{unplaced:,} rows ran behind the last step, and the trace does not hold the calls"
                " that tell their step: what is said by step may be too low"
            ),
        )


def _communication(facts: Facts) -> Iterator[Note]:
    hidden, largest = facts.hidden, facts.read.table.used[0]
    if hidden is None:
        return
    share = hidden.beside_compute_ns / hidden.union_ns
    yield (
        "communication",
        (
            f"communication runs {_ms(hidden.union_ns)}, {share:.0%} of it beside computation;"
            f" exposed are {_ms(hidden.exposed_ns)}"
        ),
    )
    if largest.identity.kind is KernelClass.COMMUNICATION and hidden.beside_compute_ns:
        yield (
            "largest_is_communication",
            (
                "the largest kernel is communication that overlaps computation: shortening it gains"
                " at most what is exposed"
            ),
        )


def _flags(facts: Facts) -> Iterator[Note]:
    launches = facts.launches
    if launches.experts is Experts.FALLBACK:
        yield (
            "grouped_mm_fallback",
            "transformers::grouped_mm_fallback ran: a loop over experts, whatever the config says",
        )
    if launches.attention is Attention.UNFUSED:
        yield (
            "unfused_attention",
            "no attention kernel, but GEMMs and softmax: attention, if there is any, ran unfused",
        )
    if facts.read.reading.facts.get("with_flops"):
        yield (
            "flops_not_in_trace",
            "FLOPs were recorded, but the profiler writes them to its table and not to this file",
        )
    if facts.bound is None:
        yield (
            "no_provenance",
            (
                "no provenance is given: this says what the traced run did, and nothing about a"
                " flag that it may not have been launched with; --run RUN binds it"
            ),
        )


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.2f} ms"
