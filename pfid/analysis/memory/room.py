"""Whether a training's peak fits a card: an account held against what of the card may be used.

Where it does not come to the peak, what keeps a checkpoint from being a base says so, in order.
"""

from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.memory.account import Account, account
from pfid.analysis.memory.packed import is_trainable_packed
from pfid.analysis.memory.peak import GIB
from pfid.analysis.memory.recurrent import is_accounted
from pfid.domain.model import FUSING, ModelShape
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.domain.weights import Weights

BY_PEAK: Final = (
    *("fits", "fits_with_chunked_loss", "does_not_fit"),
    *("too_close", "kernels_decide", "recurrent_unmeasured", "activations_never_held"),
)
"""Words for how a peak stands to a card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One model, one plan, one card.

    Attributes:
        shape: of the model.
        weights: as its files tell.
        plan: of the training.
        usable_bytes: of the card.
        found: the account of the three.
    """

    shape: ModelShape
    weights: Weights
    plan: Plan
    usable_bytes: float
    found: Account

    @property
    def weights_at_least(self) -> float:
        """Bytes; four-bit weights are smaller than those on disk."""
        if self.plan.method is not Method.QLORA or self.found.peak is None:
            return self.found.weights.low
        return next(i.size.low for i in self.found.peak.items if i.name == "weights")

    @property
    def by_peak(self) -> str:
        """One of ``BY_PEAK``; ``shapes_unknown`` where there is no peak."""
        peak, whole = self.found.peak, self.found.whole
        if peak is None or whole is None:
            return "shapes_unknown"
        if peak.whole.low > self.usable_bytes:
            return "does_not_fit"
        if self.found.calibrated is None and not all(map(is_accounted, self.shape.layers)):
            return "recurrent_unmeasured"
        if peak.whole.high > self.usable_bytes:
            return self._why_not_decided()
        chunked = self.plan.loss is Loss.CHUNKED
        chunks_only = chunked and whole.whole.low > self.usable_bytes
        return "fits_with_chunked_loss" if chunks_only else "fits"

    def _why_not_decided(self) -> str:
        """The card lies within the bounds: by what they are apart."""
        if self._kernels_decide():
            return "kernels_decide"
        doubted = not self.shape.held and self.found.calibrated is None
        return "activations_never_held" if doubted else "too_close"

    def _kernels_decide(self) -> bool:
        """Whether it would fit with fused kernels, and nobody said if there are any."""
        if not self.shape.count(*FUSING) or self.plan.fused is not None:
            return False
        fused = account(self.shape, self.weights, replace(self.plan, fused=True)).peak
        fits = fused is not None and fused.whole.high <= self.usable_bytes
        return self.found.calibrated is None and fits

    def code(self, differs_max: float) -> str:
        """What to say of it; doubts about the files come before the peak.

        Args:
            differs_max: share by which files and shapes may disagree.
        """
        weights, found = self.weights, self.found
        lost = weights.missing > 0 and (weights.on_disk > 0 or weights.pointers > 0)
        doubts = (
            ("quantised", self._is_no_base()),
            ("weights_do_not_fit", self.weights_at_least > self.usable_bytes),
            ("weights_are_pointers", weights.pointers > 0),
            ("shards_missing", lost),
            ("shards_outside", weights.outside > 0),
            ("shards_unreadable", bool(weights.broken)),
            ("sizes_disagree", found.differs is not None and found.differs > differs_max),
            ("shapes_unknown", found.peak is None),
            ("measurement_contradicts", found.contradicted),
        )
        return next((code for code, holds in doubts if holds), None) or self.by_peak

    def _is_no_base(self) -> bool:
        """Packed weights are one for adapters over bitsandbytes alone, which `qlora` means."""
        adapts = self.plan.method is Method.QLORA and is_trainable_packed(self.shape)
        return bool(self.shape.quantised) and not adapts

    def said(self, code: str) -> str:
        """How much of how much, where that decided; "" elsewhere."""
        peak = self.found.peak
        if code == "weights_do_not_fit":
            return of_card(self.plan, self.weights_at_least)
        if code not in BY_PEAK or peak is None:
            return ""
        return of_card(self.plan, peak.whole.low, peak.whole.high)


def room_for(shape: ModelShape, weights: Weights, plan: Plan, usable_bytes: float) -> Room:
    """Account for a model and hold it against a card."""
    found = account(shape, weights, plan)
    return Room(shape=shape, weights=weights, plan=plan, usable_bytes=usable_bytes, found=found)


def of_card(plan: Plan, *needed: float) -> str:
    """Sizes, and of which card."""
    ends = " to ".join(dict.fromkeys(f"{size / GIB:.1f}" for size in needed))
    return f"{ends} GiB of {plan.gpu_memory_bytes / GIB:.1f} GiB"
