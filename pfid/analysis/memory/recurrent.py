"""Bytes that a recurrent mixer keeps for its backward pass, with its fused kernels and without.

Without them transformers computes in Python, in float32 and chunk by chunk, and keeps every
intermediate: counted tensor by tensor as its functions make them (5.x: the chunked delta rule, the
chunked scan of the second Mamba, the step by step scan of the first). With them it is what the
kernels' sources keep for backward (fla, mamba_ssm). Each per token.
"""

from dataclasses import dataclass

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.counted import FLOAT, HALF, Counted
from pfid.domain.model import Layer, Mixer, Recurrence
from pfid.domain.training_plan import Plan

STANDING = 0.95
"""Of what code without kernels keeps, what stands at least at the worst moment of a layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentBytes:
    """Of one mixer, per token.

    Attributes:
        kept: for its backward pass.
        beside: at the worst moment of that pass.
        share: of what it keeps that stands at that moment at least.
    """

    kept: Bytes
    beside: Bytes
    share: float = 1.0

    @property
    def standing(self) -> Bytes:
        """What of it is still there at the worst moment."""
        return Bytes(self.share * self.kept.low, self.kept.high)


NONE = RecurrentBytes(kept=NOTHING, beside=NOTHING)


def is_accounted(layer: Layer) -> bool:
    """Whether it is known what the layer's recurrence keeps; true without one."""
    r = layer.recurrence
    if r is None or layer.mixer is Mixer.CONV:
        return True
    if layer.mixer is Mixer.DELTA:
        return bool(r.chunk and r.state and r.heads)
    return bool(r.rank or (r.chunk and r.heads))


def recurrent_bytes(layer: Layer, plan: Plan) -> RecurrentBytes:
    """Count one layer's recurrence; both ways at once where nobody says which."""
    r = layer.recurrence
    if r is None:
        return NONE
    of = _Of(r=r, plan=plan)
    if layer.mixer is Mixer.CONV:
        return _convolution(of)
    kind = _first_scan if r.rank else (_delta if layer.mixer is Mixer.DELTA else _scan)
    fused, plain = kind(of)
    if plan.fused is True or not is_accounted(layer):
        return fused
    if plan.fused is False:
        return plain
    return RecurrentBytes(
        kept=Bytes(fused.kept.low, max(fused.kept.high, plain.kept.high)),
        beside=Bytes(fused.beside.low, max(fused.beside.high, plain.beside.high)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of(Counted):
    """With the shapes of the recurrence."""

    r: Recurrence

    @property
    def mixed(self) -> int:
        """Channels of the short convolution."""
        return self.r.inner + self.r.keys

    @property
    def chunks(self) -> int:
        """Of a row; 1 where nothing is chunked."""
        return -(-self.plan.sequence // self.r.chunk) if self.r.chunk else 1

    @property
    def padded(self) -> float:
        """A row is filled up to whole chunks."""
        return self.chunks * self.r.chunk / self.plan.sequence if self.r.chunk else 1.0


def _convolution(of: _Of) -> RecurrentBytes:
    """Both gates' inputs, the convolution's in and out."""
    inner, width = of.r.inner, of.width
    kept = Bytes(width * 4 * inner, width * 6 * inner)
    return RecurrentBytes(kept=kept, beside=exactly(2 * width * inner))


def _delta(of: _Of) -> tuple[RecurrentBytes, RecurrentBytes]:
    """A gated delta rule: queries and keys are as wide as heads times a state's side."""
    r, width, inner = of.r, of.width, of.r.inner
    keys, scores = r.heads * r.state, r.heads * r.chunk
    states = keys * (inner / r.heads) / r.chunk if r.chunk and r.heads else 0.0
    gated = FLOAT * 3 * inner + width * inner  # norm and gate in float32, the gate as it came
    out = width * inner if of.trains else 0
    # the convolution keeps what came in; queries and keys are repeated for every value's head;
    # values are a copy, or a view that keeps all that came out of the convolution
    least = width * (of.mixed + 2 * keys + inner + scores) + 2 * FLOAT * r.heads + gated + 2 * out
    most = least + width * r.keys + 2 * FLOAT * r.heads
    fused = RecurrentBytes(
        kept=Bytes(least, most),
        beside=Bytes(
            width * (3 * keys + 3 * inner + states), width * (5 * keys + 5 * inner + 2 * states)
        ),
    )
    rule = FLOAT * (8 * keys + 3 * inner + 5 * scores + states + 9 * r.heads) * of.padded
    kept = rule + width * 2 * of.mixed + gated + 2 * out
    gradients = FLOAT * (4 * keys + 3 * inner + scores) * of.padded
    return fused, _plain(exactly(kept), Bytes(0.5, 0.75).times(gradients))


def _scan(of: _Of) -> tuple[RecurrentBytes, RecurrentBytes]:
    """The second Mamba: B and C are repeated for every head, scores stand for whole chunks."""
    r, width, inner = of.r, of.width, of.r.inner
    repeated, scores = r.heads * r.state, r.heads * r.chunk
    states = inner * r.state / r.chunk if r.chunk else 0.0
    projected = width * (inner + of.mixed + r.heads)
    out = width * inner if of.trains else 0
    least = projected + width * inner + FLOAT * r.heads
    fused = RecurrentBytes(
        kept=Bytes(least, least + width * inner + 2 * out),  # where the output is projected outside
        beside=Bytes(width * (2 * inner + of.mixed), width * 3 * (inner + of.mixed) + 8 * states),
    )
    begun = 2 + 1 / of.chunks  # states at the chunks' ends, once with the one before the first
    scan = 4 * inner + 5 * repeated + 3 * scores + begun * states + 6 * r.heads
    scan += inner if of.trains else 0
    kept = FLOAT * scan * of.padded + projected + width * of.mixed + out
    norm = (Bytes(4, 5) if of.trains else Bytes(3, 4)).times(FLOAT * inner)
    gradients = FLOAT * (scores + repeated + 3 * states + inner) * of.padded
    return fused, _plain(exactly(kept) + norm, Bytes(0.8, 1.1).times(gradients))


def _plain(kept: Bytes, beside: Bytes) -> RecurrentBytes:
    """Without kernels: some of what was kept has gone when most gradients stand."""
    return RecurrentBytes(kept=kept, beside=beside, share=STANDING)


def _first_scan(of: _Of) -> tuple[RecurrentBytes, RecurrentBytes]:
    """The first Mamba: a state for every channel and token, three times where nothing is fused."""
    r, width, inner = of.r, of.width, of.r.inner
    trained = 3.5 * width * inner if of.trains else 0.0
    fused = RecurrentBytes(
        kept=Bytes(4 * width * inner, 7 * width * inner + trained),
        beside=Bytes(2 * width * inner, 4 * width * inner),
    )
    states = inner * r.state
    kept = (3 * FLOAT + HALF) * states + 3 * FLOAT * inner + 4 * width * inner + trained
    return fused, _plain(exactly(kept), Bytes(3, 4.25).times(FLOAT * states))
