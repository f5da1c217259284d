"""An account as verdicts carry it: in figures, and in lines about where they come from."""

from collections.abc import Iterator
from typing import Final

from pfid.analysis.memory.account import Account
from pfid.analysis.memory.peak import CONTEXT, GIB
from pfid.analysis.memory.room import Room
from pfid.domain.model import FUSING
from pfid.domain.training_plan import Method, Optimizer

_KERNELS: Final = {
    True: "of fused kernels, which the training interpreter has",
    False: "of code without fused kernels, which the training interpreter lacks",
    None: "of both with fused kernels and without: --python names the interpreter that decides",
}
_OPTIMIZERS: Final = {
    Optimizer.SGD: "SGD is counted without weight decay, which copies every gradient",
    Optimizer.LION: "Lion's momentum is counted in the parameters' own type: bitsandbytes' with 32 "
    "bits keeps float32",
    Optimizer.ADAFACTOR: "Adafactor is counted as transformers writes it; torch's own takes less",
    Optimizer.ADAMW_8BIT: "states of the embedding are counted in float32, as Trainer has "
    "bitsandbytes keep them",
}

DECIDING: Final = 0.15
"""Half the bounds' width as a share of their middle, above which it is said why."""

Figures = dict[str, tuple[float | None, str]]


def figures_of(found: Account) -> Figures:
    """Parameters, weights and the peak by its items, each as ``NAME_low`` and ``NAME_high``."""
    low, high = found.parameters
    figures: Figures = {
        "parameters": ((low + high) // 2, "1"),
        "active_parameters": (found.counted.active, "1"),
        "expert_parameters": (found.counted.experts, "1"),
        "weights": (round((found.weights.low + found.weights.high) / 2), "bytes"),
        "calibration": (found.calibrated, "ratio"),
    }
    if found.peak is not None:
        figures |= {
            "peak_low": (round(found.peak.whole.low), "bytes"),
            "peak_high": (round(found.peak.whole.high), "bytes"),
            "peak_apart": (found.peak.apart, "ratio"),
            "trained_parameters": (found.peak.trained, "1"),
            "whole_logits": (round(found.peak.logits_whole.low), "bytes"),
        }
        for item in found.peak.items:
            figures[f"{item.name}_low"] = (round(item.size.low), "bytes")
            figures[f"{item.name}_high"] = (round(item.size.high), "bytes")
    return figures


def lines_of(room: Room) -> tuple[str, ...]:
    """Where sizes come from, what is missing of the files, and what the bounds hold."""
    weights, shape, found = room.weights, room.shape, room.found
    said = [f"sizes from {weights.source or shape.source}"]
    said += [f"{dtype}: {size / GIB:.2f} GiB" for dtype, size in weights.by_dtype[:6]]
    if weights.pointers:
        said.append(f"{weights.pointers} pointers stand for {weights.pointer_bytes / GIB:.2f} GiB")
    if weights.missing:
        said.append(f"{weights.missing} shards are not there")
    said += weights.broken[:5]
    if found.counted.experts and room.plan.method is Method.QLORA:
        said.append(
            f"{2 * found.counted.experts / GIB:.1f} GiB of experts are three-dimensional tensors, "
            "which four-bit quantisation of linear modules does not reach"
        )
    if room.plan.method is not Method.FULL and room.plan.float32 is None:
        said.append("adapters are counted in float32, as PEFT makes them: --bfloat16 if autocast")
    if room.plan.optimizer is Optimizer.SGD and not room.plan.momentum:
        said.append("SGD is counted without a momentum: --momentum if it keeps one")
    if room.plan.optimizer in _OPTIMIZERS:
        said.append(_OPTIMIZERS[room.plan.optimizer])
    if room.plan.masked and room.plan.padded is None and room.plan.micro_batch > 1:
        said.append("rows are counted as padded, with a mask for every layer: --unpadded if not")
    if shape.count(*FUSING):
        bounds = _KERNELS[room.plan.fused]
        said.append(f"{shape.count(*FUSING)} layers are recurrent: the bounds are {bounds}")
    if found.peak is not None:
        said.append(f"the worst moment is the {found.peak.moment}'s")
    return (*said, *_apart(room))


def _apart(room: Room) -> Iterator[str]:
    """Why bounds are wide, loudly."""
    shape, peak = room.shape, room.found.peak
    if peak is None or room.found.calibrated is not None:
        return
    if not shape.held:
        yield (
            f"what layers of {shape.model_type or 'this type'} keep was never held against torch's "
            "tracker: they are counted at half to one and a half, as if scores were kept: measure "
            "one step and give it with --measured-peak"
        )
    if peak.apart > DECIDING:
        yield f"the bounds are {peak.apart:.0%} of their middle apart either way: {_cause(room)}"


def _cause(room: Room) -> str:
    if not room.shape.held:
        return "the type was never held"
    if room.shape.count(*FUSING) and room.plan.fused is None:
        return "with fused kernels and without, --python decides"
    if room.shape.norms is None or room.shape.norm_kind is None:
        return "norms are told neither by the type nor by the files"
    return f"a CUDA context alone takes {CONTEXT.low / GIB:.2f} to {CONTEXT.high / GIB:.2f} GiB"
