"""Where device time goes: by class, by generation, and how much communication is hidden.

Source: playbook 3.3 and 3.8. Communication that runs beside computation costs less than it sums
to: what is left exposed is what shortening it could gain.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pfid.analysis.interval_union import IntervalUnion, overlap, union_of
from pfid.analysis.kernel_table import KernelTable, KernelTally
from pfid.domain.kernel import KernelClass

COMPUTE = (
    KernelClass.ATTENTION,
    KernelClass.GEMM,
    KernelClass.ELEMENTWISE,
    KernelClass.OTHER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassShare:
    """One class; ``share`` is of the sum of all rows."""

    calls: int
    sum_ns: int
    union_ns: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Communication, and how much of it runs beside computation on the same device."""

    union_ns: int
    beside_compute_ns: int

    @property
    def exposed_ns(self) -> int:
        """Nanoseconds in which nothing but communication runs."""
        return self.union_ns - self.beside_compute_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationShare:
    """Device time of the kernels of one generation; None is unknown."""

    generation: int | None
    sum_ns: int
    share: float
    families: tuple[str, ...]
    newer_known: bool | None


def by_class(table: KernelTable) -> dict[KernelClass, ClassShare]:
    """Return every class that has rows."""
    used = table.used
    total_ns = sum(tally.total_ns for tally in used)
    found = {}
    for kind in KernelClass:
        mine = [tally for tally in used if tally.identity.kind is kind]
        if mine:
            sum_ns = sum(tally.total_ns for tally in mine)
            unions = (union for (_, one), union in table.unions.items() if one is kind)
            found[kind] = ClassShare(
                calls=sum(tally.calls for tally in mine),
                sum_ns=sum_ns,
                union_ns=sum(union.length for union in unions),
                share=sum_ns / total_ns if total_ns else 0.0,
            )
    return found


def hidden_communication(table: KernelTable) -> Hidden | None:
    """Return how much communication runs beside computation; None where there is none."""
    union_ns = beside_ns = 0
    for device in table.busy:
        talk = table.unions.get((device, KernelClass.COMMUNICATION))
        if talk is not None:
            union_ns += talk.length
            beside_ns += overlap(talk, _compute(table, device))
    return Hidden(union_ns=union_ns, beside_compute_ns=beside_ns) if union_ns else None


def by_generation(tallies: Sequence[KernelTally]) -> tuple[GenerationShare, ...]:
    """Return device time by generation, the most first; memory and communication have none."""
    groups: dict[int | None, list[KernelTally]] = defaultdict(list)
    for tally in tallies:
        if tally.identity.kind not in (KernelClass.MEMORY, KernelClass.COMMUNICATION):
            groups[tally.identity.generation].append(tally)
    total_ns = sum(tally.total_ns for tally in tallies)
    shares = [_generation(gen, group, total_ns) for gen, group in groups.items()]
    return tuple(sorted(shares, key=lambda one: -one.sum_ns))


def _generation(
    generation: int | None, group: Sequence[KernelTally], total_ns: int
) -> GenerationShare:
    sum_ns = sum(tally.total_ns for tally in group)
    known = {tally.identity.newer_known for tally in group}
    return GenerationShare(
        generation=generation,
        sum_ns=sum_ns,
        share=sum_ns / total_ns if total_ns else 0.0,
        families=tuple(sorted({tally.identity.family or "unknown" for tally in group})),
        newer_known=known.pop() if len(known) == 1 else True if True in known else None,
    )


def _compute(table: KernelTable, device: str) -> IntervalUnion:
    unions = (table.unions.get((device, kind)) for kind in COMPUTE)
    return union_of(union for union in unions if union is not None)
