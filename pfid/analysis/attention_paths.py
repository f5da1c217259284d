"""Which attention kernels can carry which layers of a model.

Source: playbook 3.1, 3.3 and 3.11 (uniform heads of at most 128 without a window reach everything;
mixed heads with a window force a dense square).
"""

from collections import Counter
from dataclasses import dataclass

from pfid.domain.model import Attention, Layer, ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Layers by what can carry them.

    Attributes:
        attending: layers that attend over positions.
        flash: of them those whose heads flash attention takes.
        cudnn: those whose heads cuDNN takes backward too.
        windowed: those with a window or chunk shorter than the sequence.
        widest: head.
        grouped: queries that share a key, at most.
        said: a line for each shape that occurs.
    """

    attending: int
    flash: int
    cudnn: int
    windowed: int
    widest: int
    grouped: int
    said: tuple[str, ...]


def paths_of(shape: ModelShape, sequence: int, flash_max: int, cudnn_max: int) -> Paths:
    """Sort the layers.

    Args:
        shape: of the model.
        sequence: tokens of a row; a window that is no shorter is none.
        flash_max: widest head flash attention takes.
        cudnn_max: widest that cuDNN takes backward.
    """
    layers = [layer for layer in shape.layers if layer.attention is not None]
    heads = [layer.attention for layer in layers if layer.attention is not None]
    return Paths(
        attending=len(heads),
        flash=sum(_widest(a) <= flash_max for a in heads),
        cudnn=sum(_widest(a) <= cudnn_max and a.head_dim == a.value_dim for a in heads),
        windowed=sum((a.window or sequence) < sequence for a in heads),
        widest=max((_widest(a) for a in heads), default=0),
        grouped=max((a.heads // max(1, a.kv_heads) for a in heads), default=0),
        said=tuple(f"{n} x {text}" for text, n in Counter(map(_line, layers)).items()),
    )


def _widest(attention: Attention) -> int:
    return max(attention.head_dim, attention.value_dim)


def _line(layer: Layer) -> str:
    a = layer.attention
    if a is None:
        return layer.mixer.value
    window = f", window {a.window}" if a.window else ""
    value = f" (values {a.value_dim})" if a.value_dim != a.head_dim else ""
    return (
        f"{layer.mixer.value}: {a.heads} heads of {a.head_dim}{value} on {a.kv_heads} keys{window}"
    )
