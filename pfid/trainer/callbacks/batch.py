"""What a batch tells of a step without waiting for a device: shapes, and what lies on the CPU."""

from typing import Any, Dict, Mapping, Optional, Sequence

from ..step_reporter import is_count

_COUNTS = frozenset({"tokens", "real_tokens", "width"})


def measured(batch: Any) -> Dict[str, int]:
    """Tokens, real tokens and width of one micro-batch, as far as they can be told.

    A batch of texts is a mapping with ``input_ids`` (batch, width); ``attention_mask`` says which
    tokens are real, and is read only where that waits for nothing.
    """
    ids = _of(batch, "input_ids")
    shape: Sequence[int] = getattr(ids, "shape", ())
    if len(shape) < 2:
        return {}
    said = {"tokens": _product(shape), "width": int(shape[-1])}
    mask = _of(batch, "attention_mask")
    if tuple(getattr(mask, "shape", ())) == tuple(shape) and on_cpu(mask):
        said["real_tokens"] = int((mask != 0).sum())
    return said


def added(said: Mapping[str, Any], more: Mapping[str, Any]) -> Dict[str, Any]:
    """Micro-batches of one step together: tokens add up, the widest counts, else the last.

    What is no count in one of them (None, a tensor, which is not read) is none of the step: the
    sum of the others would be taken for it.
    """
    total = dict(said)
    for name, value in more.items():
        before = total.get(name, 0)
        if name not in _COUNTS:
            total[name] = value
        elif not (is_count(value) and is_count(before)):
            total[name] = None
        else:
            sides = (int(before), int(value))
            total[name] = max(sides) if name == "width" else sum(sides)
    return total


def on_cpu(tensor: Any) -> bool:
    """Whether reading it waits for no device."""
    return getattr(getattr(tensor, "device", None), "type", "") == "cpu"


def loss_of(outputs: Any) -> Optional[float]:
    """The loss of a step, where reading it waits for nothing."""
    loss = _of(outputs, "loss") if isinstance(outputs, Mapping) else outputs
    return float(loss) if on_cpu(loss) and loss.numel() == 1 else None


def _of(batch: Any, name: str) -> Any:
    return batch.get(name) if isinstance(batch, Mapping) else getattr(batch, name, None)


def _product(shape: Any) -> int:
    total = 1
    for length in shape:
        total *= int(length)
    return total
