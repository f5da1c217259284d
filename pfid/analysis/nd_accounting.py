"""What a step costs by its parameters and tokens: 6ND, 4ND where frozen, attention apart.

Source: playbook sections 3.8 and 3.9. Every such figure is a convention, so it carries its name,
and it stands beside what the profiler counted, never in its place. Checkpointing's recompute is in
none of them.
"""

from dataclasses import dataclass
from typing import Final

from pfid.analysis.memory.parameters import count_parameters
from pfid.domain.model import ModelShape
from pfid.trainer.accounting import Accounting

PASSES: Final = 3
"""Forward, and twice as much backward: both operands of attention's products need gradients."""
PER_PRODUCT: Final = 2
"""A multiplication and an addition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCost:
    """Attention of some layers alike.

    Attributes:
        layers: how many.
        widths: heads times head dimension, of keys and of values together.
        window: positions a token sees back; None for all.
    """

    layers: int
    widths: int
    window: int | None = None

    def flops(self, tokens: float, width: int) -> float:
        """Of a step over so many tokens in rows of a width; the causal half is counted whole."""
        span = width if self.window is None else min(width, self.window)
        return PASSES * PER_PRODUCT * self.layers * self.widths * span * tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Parameters that cost something.

    Attributes:
        parameters: that a token passes; what is only looked up is not among them.
        trained: of these.
        all_parameters: with the experts that a token does not pass.
        attention: of every layer; empty where it is not known.
        source: where that comes from, in words.
    """

    parameters: float
    trained: float
    all_parameters: float
    attention: tuple[AttentionCost, ...] = ()
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """One step by the ND accounting.

    Attributes:
        name: what was counted.
        source: where parameters (or the whole figure) come from.
        parameters: N; None where the run told a finished figure.
        trained: of these; likewise.
        tokens: of a step, padding included.
        width: of a row; None where it is not known.
        seconds: of a step.
        flops: of a step, attention's products not in them unless ``name`` says so.
        attention_flops: those products; None where they are not known.
    """

    name: str
    source: str
    parameters: float | None
    trained: float | None
    tokens: float | None
    width: int | None
    seconds: float
    flops: float
    attention_flops: float | None = None

    @property
    def flops_per_s(self) -> float:
        """Achieved."""
        return self.flops / self.seconds

    @property
    def attention_flops_per_s(self) -> float | None:
        """Achieved in attention's products."""
        return None if self.attention_flops is None else self.attention_flops / self.seconds


def counted_of(shape: ModelShape, source: str, trained: float | None = None) -> Counted:
    """Count a model by its shapes.

    Args:
        shape: the model.
        source: in words.
        trained: parameters that are trained; None for all.

    Raises:
        ValueError: if its shapes are not told.
    """
    count = count_parameters(shape)
    if not count.known:
        raise ValueError(f"{source}: {shape.untold or 'not every layer tells its shapes'}")
    active = float(count.active)
    costs: dict[tuple[int, int | None], int] = {}
    for layer in shape.layers:
        one = layer.attention
        if one is not None:
            key = (one.heads * (one.head_dim + one.value_dim), one.window)
            costs[key] = costs.get(key, 0) + 1
    return Counted(
        parameters=active,
        trained=active if trained is None else min(trained, active),
        all_parameters=max(active, float(count.low)),
        attention=tuple(
            AttentionCost(layers=layers, widths=widths, window=window)
            for (widths, window), layers in costs.items()
        ),
        source=source,
    )


def account(counted: Counted, tokens: float, width: int | None, seconds: float) -> Accounted:
    """Account for a step.

    Args:
        counted: the model's parameters.
        tokens: of a step, padding included.
        width: of a row, for attention; None if it is not known.
        seconds: of a step, above 0.
    """
    accounting = Accounting(
        counted.all_parameters,
        active=counted.parameters if counted.parameters < counted.all_parameters else None,
        frozen=counted.parameters - counted.trained,
    )
    attention = None
    if counted.attention and width is not None:
        attention = sum(one.flops(tokens, width) for one in counted.attention)
    return Accounted(
        name=accounting.name,
        source=counted.source,
        parameters=counted.parameters,
        trained=counted.trained,
        tokens=tokens,
        width=width,
        seconds=seconds,
        flops=accounting.flops(tokens),
        attention_flops=attention,
    )
