"""What a trace says of where the time goes, and the last resort: kernels and backends.

Source: playbook sections 1, 3.3, 3.7, 3.8 and 8. A device that waits for launches is launch-bound
whatever its kernels are; what runs already is not recommended.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.analysis.launch_gaps import SHORT_GAP_NS, LaunchGaps
from pfid.analysis.levers import (
    BIGGER_BATCH,
    COMPILE,
    CUDA_GRAPHS,
    FEED,
    FLASH_2,
    FLASH_4,
    FLEX,
    FUSED_LOSS,
    GROUPED_MM,
    OVERLAP,
    Lever,
    Negative,
    sifted,
)
from pfid.analysis.loss_head import LossHead
from pfid.analysis.regime import Regime
from pfid.analysis.triage_findings import Finding, Looked, TriageStage, not_looked
from pfid.domain.kernel import KernelClass

EXPOSED_MIN: Final = 0.3
"""Share of device time in communication that nothing hides."""
LOW_CLOSURE: Final = 0.6
LOSS_SHARE_MIN: Final = 0.1
CLASS_SHARE_MIN: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """What a trace says.

    Attributes:
        shares: of device time by class.
        closure: busy time over wall clock; None where that is not known.
        exposed: share of device time in communication with nothing beside it.
        old_share: share of device time in kernels of an older generation than the device's, for
            whose family a newer one is known.
        compiled: share of device time in elementwise kernels that are compiled already.
        families: what was launched.
        gaps: what the device waited for; None where that is not known.
        experts_loop: whether experts are multiplied one after the other; None: not known.
    """

    shares: Mapping[KernelClass, float]
    closure: float | None
    exposed: float = 0.0
    old_share: float = 0.0
    compiled: float = 0.0
    families: frozenset[str] = frozenset()
    gaps: LaunchGaps | None = None
    experts_loop: bool | None = None


def of_kernels(facts: KernelFacts, negatives: Sequence[Negative]) -> Finding:
    """The cost centre; a device that waits, or talks, is an answer by itself."""
    most = max(facts.shares, key=lambda kind: facts.shares[kind])
    figures = {kind.value: share for kind, share in facts.shares.items()}
    said = f"{most.value} takes {facts.shares[most]:.1%} of device time"
    levers: tuple[Lever, ...] = ()
    regime: Regime | None = None
    if facts.gaps is not None and facts.gaps.per_step is not None:
        figures["launches_per_step"] = facts.gaps.per_step
    if facts.closure is not None and facts.closure < LOW_CLOSURE:
        said, levers, regime = _waiting(facts.closure, facts.gaps)
    elif facts.exposed >= EXPOSED_MIN:
        said = f"{facts.exposed:.1%} of device time is communication that nothing hides"
        levers = (OVERLAP,)
    elif facts.old_share > 0:
        said += f"; {facts.old_share:.1%} runs in kernels of an older generation than the device's"
    kept, dropped = sifted(levers, negatives)
    return Finding(
        stage=TriageStage.KERNELS,
        looked=Looked.FOUND,
        said=said,
        ends=bool(kept),
        levers=kept,
        dropped=dropped,
        regime=regime,
        figures=figures,
    )


def _waiting(
    closure: float, gaps: LaunchGaps | None
) -> tuple[str, tuple[Lever, ...], Regime | None]:
    """What a device waits for, by the length of its gaps; both levers where they are unknown."""
    said = f"the device works {closure:.1%} of the wall clock and waits "
    if gaps is None or gaps.short_ns + gaps.long_ns == 0:
        return f"{said}for the rest", (FEED, CUDA_GRAPHS, COMPILE), None
    short, long = gaps.short_ns / gaps.wall_ns, gaps.long_ns / gaps.wall_ns
    each = f"{gaps.per_step:,.0f} a step" if gaps.per_step else f"{gaps.launches:,} in all"
    how = f"{each}, {gaps.mean_ns / 1e3:,.1f} us each"
    if gaps.launch_bound:
        said += (
            f"{short:.1%} in gaps of at most {SHORT_GAP_NS / 1e3:.0f} us between launches ({how}):"
            " launch-bound"
        )
        return said, (CUDA_GRAPHS, COMPILE, BIGGER_BATCH), Regime.LAUNCH_BOUND
    said += (
        f"{long:.1%} in longer gaps, {gaps.longest_ns / 1e6:,.1f} ms the longest: for data or the"
        f" host, not for launches ({how})"
    )
    return said, (FEED,), None


def of_backends(
    regime: Regime | None,
    kernels: KernelFacts | None,
    loss: LossHead | None,
    negatives: Sequence[Negative],
    running: Iterable[str] = (),
    unseen: Sequence[TriageStage] = (),
) -> Finding:
    """The last resort: kernels and backends, by what takes the time.

    Args:
        regime: by scaling.
        kernels: of a trace.
        loss: of the loss head.
        negatives: what was measured to be of no use.
        running: implementations that training is known to ask for.
        unseen: stages that could have had a cheaper answer, had they been looked at.
    """
    if regime is None and kernels is None and loss is None:
        return not_looked(
            TriageStage.BACKENDS,
            Looked.FAILED,
            "nothing tells what takes the time: there is neither the scaling of a step, nor a "
            "trace that tells, nor the loss to go by",
        )
    wanted = _wanted(regime, kernels, loss)
    seen = kernels.families if kernels is not None else frozenset()
    already = tuple(one for one in wanted if one.key in set(running) or one.families & seen)
    kept, dropped = sifted([one for one in wanted if one not in already], negatives)
    if not wanted:
        said = "nothing takes enough time for a backend to matter" + _but(unseen)
    elif not kept:
        said = "every backend that would be next runs already, or was measured to be of no use"
    else:
        said = "a backend, one at a time, with launches counted: "
        said += f"nothing cheaper is left{_but(unseen)}"
    if already:
        said += f" (running already: {', '.join(one.key for one in already)})"
    return Finding(
        stage=TriageStage.BACKENDS,
        looked=Looked.FOUND if kept else Looked.NO_ANSWER,
        said=said,
        ends=bool(kept),
        levers=kept,
        dropped=dropped,
        running=already,
    )


def _but(unseen: Sequence[TriageStage]) -> str:
    names = ", ".join(one.value for one in unseen)
    return f" of what was looked at ({names} could not be or was not)" if names else ""


def _wanted(
    regime: Regime | None, kernels: KernelFacts | None, loss: LossHead | None
) -> list[Lever]:
    shares = kernels.shares if kernels is not None else {}
    attention = shares.get(KernelClass.ATTENTION, 0.0)
    found: list[Lever] = []
    if attention >= CLASS_SHARE_MIN or (not shares and regime is Regime.QUADRATIC):
        found += [FLEX, FLASH_2, FLASH_4]
    if kernels is not None:
        if shares.get(KernelClass.ELEMENTWISE, 0.0) - kernels.compiled >= CLASS_SHARE_MIN:
            found.append(COMPILE)
        # Of no use to a dense model, and to experts that are one launch already.
        if shares.get(KernelClass.GEMM, 0.0) >= CLASS_SHARE_MIN and kernels.experts_loop:
            found.append(GROUPED_MM)
    if loss is not None and loss.whole_share >= LOSS_SHARE_MIN:
        found.append(FUSED_LOSS)
    return found
