"""What the installed transformers makes of a model's attention masks, as the mask probe saw it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class MaskKind(Enum):
    """What a mask function returned."""

    NONE = "none"
    TWO_D = "2d"
    """The padding mask itself: tokens are unpadded by it."""
    TENSOR = "tensor"
    BLOCK = "block"
    """A BlockMask of flex attention."""
    RAISED = "raised"
    OTHER = "other"


class MaskCase(Enum):
    """What the batch looks like."""

    NONE = "none"
    ALL_ONES = "all_ones"
    RIGHT_PAD = "right_pad"
    LEFT_PAD = "left_pad"
    PACKED = "packed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFact:
    """One mask: an implementation, a case, a layer type.

    Attributes:
        attention: name of the attention implementation.
        case: of the batch.
        layer_type: as the configuration names it.
        kind: what came back.
        width: tokens a row.
        size: window or chunk it was made for; None for a layer without one.
        max_allowed: most positions that a real token may look at; None where nothing was counted.
        saturating_row: first row that may look at so many.
        future: allowed positions behind the token itself.
        padding: allowed positions that are padding.
        documents: allowed positions of another document.
        beyond: allowed positions outside window or chunk.
        missing: positions that should be allowed and are not.
        kept: whether a padding mask came back as it was given.
        sparsity: percent of blocks that are left out.
        raised: the library's own refusal, untrusted.
        fault: what was planted in it; "" for an honest one.
    """

    attention: str
    case: MaskCase
    layer_type: str
    kind: MaskKind
    width: int
    size: int | None = None
    max_allowed: int | None = None
    saturating_row: int | None = None
    future: int = 0
    padding: int = 0
    documents: int = 0
    beyond: int = 0
    missing: int = 0
    kept: bool = True
    sparsity: float | None = None
    raised: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdpaCall:
    """What transformers' own sdpa handed to torch.

    Attributes:
        is_causal: the causal way, without a mask.
        masked: whether a mask was handed over.
        kv_heads: heads of the keys; as many as query heads where they were copied.
    """

    is_causal: bool = False
    masked: bool = False
    kv_heads: int = 0
    raised: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFact:
    """What one layer hands to attention.

    Attributes:
        index: of the layer.
        type: as the configuration names it.
        mask_function: where its mask comes from; None if attention was not reached.
        window: the window it passes on as a keyword.
        window_passed: whether it passes one at all, be it None.
        heads: of the queries.
        kv_heads: of keys and values.
        head_dim: of a head.
        sdpa: what sdpa would be called with, by ``without_mask`` and ``with_mask``.
    """

    index: int
    type: str
    mask_function: str | None
    window: int | None = None
    window_passed: bool = False
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    sdpa: Mapping[str, SdpaCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskReport:
    """Everything the probe said of one model.

    Attributes:
        transformers: installed version.
        torch: installed version.
        model_type: of the text configuration.
        requested: attention implementation that the configuration asks for; None for none.
        causal: whether the configuration means causal attention.
        registered: implementations that have a mask function.
        unsupported: implementations that the model's own class refuses.
        layer_types: number of layers by type.
        configured: window or chunk by layer type, as configured.
        probed: as probed; smaller where a mask of the configured one would not fit.
        width: tokens a row.
        layers: what the layers themselves hand over; None where the model cannot be built.
        layers_why: why it cannot.
        masks: every mask.
        not_judged: mask function by layer type, where no definition is known here.
        flash_window: positions a row that flash attention's keywords allow; None if unknown.
        packed_seen_by_flash: whether it tells packed documents apart; None if unknown.
        cliff: the windowed mask without padding, one below the window's width and at it.
        planted: faults made on purpose.
        kernels: implementations that are kernels of the hub, and whose masks each takes; None
            where that is known only once it is loaded.
    """

    transformers: str
    torch: str
    model_type: str
    requested: str | None
    causal: bool
    registered: tuple[str, ...]
    unsupported: tuple[str, ...]
    layer_types: Mapping[str, int]
    configured: Mapping[str, int | None]
    probed: Mapping[str, int]
    width: int
    layers: tuple[LayerFact, ...] | None
    layers_why: str
    masks: tuple[MaskFact, ...]
    not_judged: Mapping[str, str | None]
    flash_window: int | None
    packed_seen_by_flash: bool | None
    cliff: tuple[MaskFact, ...]
    planted: tuple[MaskFact, ...]
    kernels: Mapping[str, str | None] = field(default_factory=dict)
