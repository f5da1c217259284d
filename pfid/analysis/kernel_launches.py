"""Count launches: the one thing that tells whether a flag took.

Source: playbook 3.7. ``max_abs_diff == 0`` cannot tell the same work behind another launcher from
a flag that never took; launches can. A trace says what the traced run did, and nothing about a
flag that the run was not launched with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from pfid.analysis.kernel_table import OUTSIDE, KernelTable
from pfid.domain.kernel import KernelClass
from pfid.domain.outcome import Outcome

FALLBACK_OPERATOR = "transformers::grouped_mm_fallback"


class Experts(Enum):
    """How experts were multiplied."""

    FALLBACK = "fallback_loop"
    """``grouped_mm`` was asked for and a loop over experts ran."""
    GROUPED = "grouped"
    ORDINARY = "ordinary_gemms"
    """No grouped kernel: a loop over experts, or no experts at all."""
    NONE = "no_gemms"


class Attention(Enum):
    """Which way attention went."""

    FLEX = "flex_compiled"
    FUSED = "fused"
    UNFUSED = "gemm_and_softmax"
    """No attention kernel, but softmax beside GEMMs: unfused, as an uncompiled flex is."""
    NONE = "none_seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """What was launched; counts over the whole trace, operators of the host beside.

    Attributes:
        steps: in the trace.
        families: launches by family.
        operators: calls of the host's operators that are watched.
        experts: how they were multiplied.
        attention: which way it went.
        attention_families: families of attention kernels that were launched.
        unnamed_share: share of device time in kernels whose name tells no family.
    """

    steps: int
    families: dict[str, int]
    operators: dict[str, int]
    experts: Experts
    attention: Attention
    attention_families: frozenset[str] = frozenset()
    unnamed_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """So many launches of kernels that ``matches``, in each step or in all."""

    pattern: str
    matches: Callable[[str], bool]
    calls: int
    per_step: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """How an expectation came out; ``counts`` by step, or one figure for all."""

    expectation: Expectation
    outcome: Outcome
    counts: tuple[int, ...]
    why: str


def count_launches(table: KernelTable, operators: Mapping[str, int], steps: int) -> Launches:
    """Count by family."""
    families: dict[str, int] = {}
    for tally in table.used:
        family = tally.identity.family or "unknown"
        families[family] = families.get(family, 0) + tally.calls
    kinds = {tally.identity.kind for tally in table.used}
    total_ns = sum(tally.total_ns for tally in table.used)
    unnamed_ns = sum(tally.total_ns for tally in table.used if tally.identity.family is None)
    return Launches(
        steps=steps,
        families=families,
        operators=dict(operators),
        experts=_experts(families, operators, kinds),
        attention=_attention(families, kinds),
        attention_families=frozenset(
            tally.identity.family or "unknown"
            for tally in table.used
            if tally.identity.kind is KernelClass.ATTENTION
        ),
        unnamed_share=unnamed_ns / total_ns if total_ns else 0.0,
    )


def meet(
    expectation: Expectation, table: KernelTable, steps: tuple[int, ...], unread: str = ""
) -> Met:
    """Hold an expectation against the launches.

    Args:
        expectation: what should be there.
        table: the launches.
        steps: numbers of the steps in the trace.
        unread: why not all of the trace was read: launches that are too many in all are told then,
            and nothing else (a step reaches to the next, which may be missing); empty if it was.
    """
    wanted = {
        index
        for index, tally in enumerate(table.tallies)
        if tally.calls and expectation.matches(tally.key.name)
    }
    in_all = sum(table.tallies[index].calls for index in wanted)
    if unread:
        return _met_by_part(expectation, in_all, unread)
    if not expectation.per_step:
        return _met(expectation, (in_all,))
    if not steps or table.why_no_steps:
        return _untold(
            expectation, table.why_no_steps if steps else "the trace has no ProfilerStep# rows"
        )
    unplaced = sum(table.unplaced.get(index, 0) for index in wanted)
    if unplaced:
        why = (
            f"{unplaced:,} of these launches ran behind the last step, and the trace does not hold"
            " the calls that tell their step"
        )
        return _untold(expectation, why)
    counts = dict.fromkeys(steps, 0)
    for (step, kernel), calls in table.step_calls.items():
        if step != OUTSIDE and kernel in wanted:
            counts[step] += calls
    return _met(expectation, tuple(counts[step] for step in steps))


def _met_by_part(expectation: Expectation, calls: int, unread: str) -> Met:
    """Hold an expectation against the launches that were read: there can be more of them."""
    said = f"at least {calls} launches in all"
    if not expectation.per_step and calls > expectation.calls:
        why = f"{said}, {expectation.calls} expected"
        return Met(expectation=expectation, outcome=Outcome.FAIL, counts=(calls,), why=why)
    return _untold(expectation, f"{said}, but not all was read: {unread}")


def _untold(expectation: Expectation, why: str) -> Met:
    return Met(expectation=expectation, outcome=Outcome.UNKNOWN, counts=(), why=why)


def _met(expectation: Expectation, counts: tuple[int, ...]) -> Met:
    good = all(count == expectation.calls for count in counts)
    said = ", ".join(str(count) for count in sorted(set(counts)))
    where = "per step" if expectation.per_step else "in all"
    return Met(
        expectation=expectation,
        outcome=Outcome.PASS if good else Outcome.FAIL,
        counts=counts,
        why=f"{said} launches {where}, {expectation.calls} expected",
    )


def _experts(
    families: Mapping[str, int], operators: Mapping[str, int], kinds: set[KernelClass]
) -> Experts:
    if operators.get(FALLBACK_OPERATOR):
        return Experts.FALLBACK
    if families.get("grouped_gemm"):
        return Experts.GROUPED
    return Experts.ORDINARY if KernelClass.GEMM in kinds else Experts.NONE


def _attention(families: Mapping[str, int], kinds: set[KernelClass]) -> Attention:
    if families.get("flex_template"):
        return Attention.FLEX
    if KernelClass.ATTENTION in kinds:
        return Attention.FUSED
    softmax = families.get("softmax") or families.get("triton_softmax")
    unfused = KernelClass.GEMM in kinds and softmax
    return Attention.UNFUSED if unfused else Attention.NONE
