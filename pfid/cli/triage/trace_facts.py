"""What a trace that was read says to a triage."""

from typing import Final

from pfid.analysis.kernel_closure import close
from pfid.analysis.kernel_decomposition import by_class, by_generation, hidden_communication
from pfid.analysis.kernel_launches import Experts, Launches, count_launches
from pfid.analysis.launch_gaps import launch_gaps
from pfid.analysis.triage_kernels import KernelFacts
from pfid.cli.trace_reading import ReadTrace
from pfid.domain.kernel import GenerationFrom, KernelClass
from pfid.formats.kernel_names.capability import device_of

MAJOR: Final = 10


def kernel_facts(read: ReadTrace, *, has_experts: bool | None = None) -> KernelFacts:
    """Where device time goes, what was launched, and what the device waited for.

    Args:
        read: the trace.
        has_experts: whether the model has any, by its configuration; None: not known.
    """
    table, steps = read.table, read.collected.steps
    total_ns = sum(tally.total_ns for tally in table.used)
    hidden = hidden_communication(table)
    closure = close(table, steps.values())
    launches = count_launches(table, read.collected.operators, len(steps))
    exposed = hidden.exposed_ns / total_ns if hidden is not None and total_ns else 0.0
    compiled_ns = sum(
        tally.total_ns
        for tally in table.used
        if tally.identity.kind is KernelClass.ELEMENTWISE
        and tally.identity.generation_from is GenerationFrom.COMPILED
    )
    return KernelFacts(
        shares={kind: one.share for kind, one in by_class(table).items()},
        closure=None if closure is None else closure.union_share,
        exposed=exposed,
        old_share=_old_share(read),
        compiled=compiled_ns / total_ns if total_ns else 0.0,
        families=frozenset(launches.families),
        gaps=launch_gaps(table, steps.values()),
        experts_loop=_loops(launches, has_experts=has_experts),
    )


def why_no_facts(read: ReadTrace) -> str:
    """Why the rows that were read are not those of one rank's run; empty if they are.

    What is missing may be whatever takes the most, and of ranks that were merged neither what a
    device waits for nor what hides communication can be told.
    """
    if not read.table.used:
        return "the trace has no device rows, so there is no kernel table"
    if read.unread:
        return f"the trace was not read whole, so that its shares may be others: {read.unread}"
    return f"the trace tells no shares: {read.table.why_no_steps}" if read.table.merged else ""


def _old_share(read: ReadTrace) -> float:
    """Share of device time in kernels older than the device, where newer ones are known."""
    table = read.table
    capability = device_of(read.reading.facts, table.busy, amd_names=False).capability
    return sum(
        one.share
        for one in by_generation(table.used)
        if one.newer_known
        and capability is not None
        and one.generation is not None
        and one.generation // MAJOR < capability // MAJOR
    )


def _loops(launches: Launches, *, has_experts: bool | None) -> bool | None:
    """Whether experts are multiplied one after the other; ordinary GEMMs alone do not tell."""
    if launches.experts is Experts.FALLBACK:
        return True
    if launches.experts is Experts.GROUPED:
        return False
    return None if has_experts is None else has_experts
