"""How a model would be trained: what its peak of memory depends on beside its shapes."""

from dataclasses import dataclass
from enum import Enum


class Method(Enum):
    """What is trained."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"


class Loss(Enum):
    """Whether the logits of a whole micro-batch stand in memory at once."""

    CHUNKED = "chunked"
    WHOLE = "whole"


class AttentionKind(Enum):
    """Which implementation attends."""

    SDPA = "sdpa"
    FLASH = "flash"
    EAGER = "eager"


class Packing(Enum):
    """Whether several documents stand in one row, and whether anybody tells where they meet."""

    NONE = "none"
    PLAIN = "plain"
    BOUNDARIES = "boundaries"


class Optimizer(Enum):
    """Whose states stand beside the trained parameters."""

    ADAMW = "adamw"
    ADAMW_8BIT = "adamw_8bit"
    SGD = "sgd"
    LION = "lion"
    ADAFACTOR = "adafactor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One training.

    Attributes:
        gpu_memory_bytes: of one card.
        method: what is trained.
        sequence: tokens of one row, padding included.
        micro_batch: rows of one forward pass.
        checkpointing: whether activations of a layer are computed again in backward.
        loss: how the loss head computes.
        loss_chunk: positions whose logits stand at once in a chunked loss.
        optimizer: whose states.
        momentum: whether SGD keeps a momentum of every parameter.
        attention: which implementation.
        rank: of the adapters.
        targets: modules that get adapters: ``all-linear`` or names; "" if nobody says.
        packing: whether documents share a row.
        padded: whether rows of a micro-batch are filled up to one length, so that a mask is handed
            on; None if nobody says, and several rows then are.
        float32: whether trained parameters are kept and used in float32; None if nobody says: a
            full training then keeps the checkpoint's own type, and adapters are in float32, as PEFT
            makes them.
        accumulates: whether gradients outlive a micro-batch.
        fused: whether recurrent layers have their fused kernels where training runs; None if
            nobody says, and then the bounds hold both.
        measured_bytes: a peak somebody measured; None without.
        measured_sequence: at which sequence; None for the plan's.
        measured_micro_batch: at which micro-batch; None for the plan's.
    """

    gpu_memory_bytes: int
    method: Method = Method.LORA
    sequence: int = 4096
    micro_batch: int = 1
    checkpointing: bool = True
    loss: Loss = Loss.CHUNKED
    loss_chunk: int = 1024
    optimizer: Optimizer = Optimizer.ADAMW
    momentum: bool = False
    attention: AttentionKind = AttentionKind.SDPA
    rank: int = 16
    targets: str = ""
    packing: Packing = Packing.NONE
    padded: bool | None = None
    float32: bool | None = None
    accumulates: bool = False
    fused: bool | None = None
    measured_bytes: int | None = None
    measured_sequence: int | None = None
    measured_micro_batch: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens of one forward pass."""
        return self.sequence * self.micro_batch

    @property
    def masked(self) -> bool:
        """Whether a mask is handed to attention that it must add.

        Boundaries of packed documents are one, and so is padding: several rows of text are padded
        unless somebody says that they are not, and a single row has none.
        """
        if self.packing is not Packing.NONE:
            return self.packing is Packing.BOUNDARIES
        return self.micro_batch > 1 if self.padded is None else self.padded
