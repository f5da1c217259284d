"""What ``pfid trace`` says of one file, as one object (DESIGN, section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pfid.analysis.flag_taken import FLAGS
from pfid.analysis.kernel_closure import Closure, close
from pfid.analysis.kernel_decomposition import (
    by_class,
    hidden_communication,
)
from pfid.analysis.kernel_durations import VALUE_ERROR
from pfid.analysis.kernel_launches import Expectation, Met, count_launches, meet
from pfid.analysis.kernel_steps import by_step
from pfid.analysis.kernel_table import KernelTally, in_order
from pfid.cli.kernel_notes import generation_text, generations_json
from pfid.cli.nd_options import nd_json
from pfid.cli.trace_accounting import StepWork, accounted
from pfid.cli.trace_notes import Facts, notes
from pfid.cli.trace_provenance import bind, flags_of, provenance_json
from pfid.cli.trace_reading import ReadTrace
from pfid.domain.kernel import KernelIdentity
from pfid.formats.kernel_names.capability import Device, device_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user wants to know.

    Attributes:
        capability: of the device, where the trace does not tell it.
        wall_ns: wall clock to hold the device time against.
        expectations: launches that should be there.
        run: whose trace it is; None for the manifest beside it, if there is one.
        flags: fields of that run's manifest that are judged.
        work: what a step of it costs.
    """

    capability: int | None = None
    wall_ns: int | None = None
    expectations: Sequence[Expectation] = ()
    run: str | None = None
    flags: Sequence[str] = FLAGS
    work: StepWork = field(default_factory=StepWork)


def us(ns: float) -> float:
    """Return microseconds."""
    return ns / 1000


def report_of(read: ReadTrace, asked: Asked) -> dict[str, Any]:
    """Put together what one trace says."""
    table, steps = read.table, read.collected.steps
    used = table.used
    device = device_for(read, asked)
    closure = close(table, steps.values(), asked.wall_ns)
    numbers = tuple(window.number for window in in_order(steps.values()))
    launches = count_launches(table, read.collected.operators, len(numbers))
    met = [meet(one, table, numbers, read.unread) for one in asked.expectations]
    total_ns = sum(tally.total_ns for tally in used)
    hidden = hidden_communication(table)
    bound = bind(read.name, asked.run)
    flags = [] if bound is None else flags_of(bound, read, launches, asked.flags)
    cost, unknown = accounted(read, asked.wall_ns, asked.work, bound, _rank(read))
    facts = Facts(
        read=read,
        device=device,
        closure=closure,
        launches=launches,
        hidden=hidden,
        bound=bound,
        flags=flags,
    )
    return {
        "file": read.name,
        "rank": _rank(read),
        "device": {
            "name": device.name,
            "capability": capability_text(device.capability),
            "count": len(table.busy),
        },
        "rows": sum(tally.calls for tally in used),
        "sum_us": us(total_ns) if used else None,
        "union_us": us(sum(u.length for u in table.busy.values())) if used else None,
        "kernels_only": _kernels_only(read),
        "closure": closure and closure.union_share,
        **_wall(closure),
        "classes": {
            kind.value: {
                "calls": one.calls,
                "sum_us": us(one.sum_ns),
                "union_us": us(one.union_ns),
                "share": one.share,
            }
            for kind, one in by_class(table).items()
        },
        "communication": hidden
        and {
            "union_us": us(hidden.union_ns),
            "beside_compute_us": us(hidden.beside_compute_ns),
            "exposed_us": us(hidden.exposed_ns),
        },
        "generations": generations_json(used),
        "kernels": [kernel_json(tally, total_ns) for tally in used],
        "steps": _steps(read),
        "launches": {
            "steps": launches.steps,
            "families": launches.families,
            "operators": launches.operators,
            "experts": launches.experts.value,
            "attention": launches.attention.value,
            "provenance": provenance_json(bound, flags),
        },
        "expectations": [expectation_json(one) for one in met],
        "flops": None,
        "accounting": nd_json(cost),
        "accounting_unknown": unknown,
        "reading": _reading(read),
        "notes": [{"code": code, "text": text} for code, text in notes(facts)],
    }


def device_for(read: ReadTrace, asked: Asked) -> Device:
    """Return the device: from the trace, or as the user says."""
    amd = asked.capability is None and any(tally.identity.amd for tally in read.table.used)
    device = device_of(read.reading.facts, read.table.busy, amd_names=amd)
    if asked.capability is None:
        return device
    return replace(device, capability=asked.capability, given=True)


def kernel_json(tally: KernelTally, total_ns: int) -> dict[str, Any]:
    """One kernel."""
    return {
        "name": tally.key.name,
        "calls": tally.calls,
        "total_us": us(tally.total_ns),
        "min_us": us(tally.min_ns),
        "p50_us": us(tally.durations.percentile(50)),
        "p50_error": VALUE_ERROR if tally.durations.coarse else 0.0,
        "max_us": us(tally.max_ns),
        "share": tally.total_ns / total_ns if total_ns else 0.0,
        **identity_json(tally.identity),
    }


def identity_json(identity: KernelIdentity) -> dict[str, Any]:
    """What a name tells."""
    return {
        "class": identity.kind.value,
        "family": identity.family,
        "generation": generation_text(identity.generation),
        "generation_from": identity.generation_from and identity.generation_from.value,
        "newer_known": identity.newer_known,
        "tier": identity.tier,
        "dtype": identity.dtype,
    }


def capability_text(capability: int | None) -> str | None:
    """Return ``8.0``."""
    return None if capability is None else f"{capability // 10}.{capability % 10}"


def expectation_json(met: Met) -> dict[str, Any]:
    """How an expectation came out."""
    return {
        "pattern": met.expectation.pattern,
        "calls": met.expectation.calls,
        "per_step": met.expectation.per_step,
        "outcome": met.outcome.value,
        "counts": met.counts,
        "why": met.why,
    }


def _wall(closure: Closure | None) -> dict[str, Any]:
    return {
        "sum_share": closure and closure.sum_share,
        "wall_us": closure and us(closure.wall_ns),
        "wall_source": closure and closure.source.value,
    }


def _kernels_only(read: ReadTrace) -> dict[str, Any] | None:
    """Kernels without copies: what a table of kernels shows, and from first begin to last end."""
    kinds = [t for t in read.table.used if t.identity.family not in ("memcpy", "memset")]
    span = read.table.kernel_span
    if span is None:
        return None
    return {
        "calls": sum(tally.calls for tally in kinds),
        "sum_us": us(sum(tally.total_ns for tally in kinds)),
        "span_us": us(span[1] - span[0]),
    }


def _steps(read: ReadTrace) -> list[dict[str, Any]]:
    return [
        {
            "step": step.number,
            "wall_us": us(step.wall_ns),
            "calls": step.calls,
            "sum_us": us(step.sum_ns),
            "union_us": us(step.union_ns),
            "closure": step.union_ns / (step.wall_ns * max(1, len(read.table.busy)))
            if step.wall_ns > 0
            else None,
            "classes": {kind.value: us(ns) for kind, ns in step.classes_ns.items()},
        }
        for step in by_step(read.table, read.collected.steps.values())
    ]


def _rank(read: ReadTrace) -> int | None:
    info = read.reading.facts.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if type(rank) is int else None


def _reading(read: ReadTrace) -> dict[str, Any]:
    malformed = read.reading.malformed
    return {
        "bytes": read.reading.bytes_read,
        "way": read.reading.way.value,
        "parser_from_byte": read.reading.parser_from_byte,
        "cut": read.reading.cut or read.broken is not None,
        "behind": read.reading.behind,
        "damaged": malformed.damaged,
        "damage": [
            {"byte": one.byte, "why": one.why, "begins": one.begins} for one in malformed.damage
        ],
        "rejected": malformed.rejected,
        "rejects": [{"name": one.name, "why": one.why} for one in malformed.rejects],
    }
