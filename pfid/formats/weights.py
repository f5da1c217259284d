"""From index and headers to what the weights are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.domain.weights import Weights
from pfid.formats.safetensors import Index, Tensor
from pfid.formats.tensor_names import (
    further_tensors,
    has_head,
    has_sinks,
    is_joined,
    layer_norms,
    text_prefix,
    tower_modules,
)

PLAIN: Final = {"F64", "F32", "F16", "BF16"}
THREE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One weight file as it was met.

    Attributes:
        name: as index or folder call it.
        size_bytes: of the file.
        tensors: of its header; None if it was not read.
        pointer_bytes: what it stands for, if it is a Git LFS pointer.
        problem: ``missing``, ``outside`` the folder, or why its header cannot be read.
        path: where it lies; "" if it is not there.
        data_at: where its tensors begin.
    """

    name: str
    size_bytes: int = 0
    tensors: tuple[Tensor, ...] | None = None
    pointer_bytes: int | None = None
    problem: str = ""
    path: str = ""
    data_at: int = 0


def weights_of(index: Index | None, shards: Sequence[Shard], layers: int = 0) -> Weights:
    """Join them; an index is believed about size only where no header contradicts it.

    Args:
        index: of the shards; None without one.
        shards: as they were met.
        layers: of the decoder, where layers behind it predict further tokens; else 0.
    """
    tensors = [t for shard in shards for t in shard.tensors or ()]
    read = bool(shards) and all(s.tensors is not None for s in shards)
    names = list(index.shards) if index is not None else [t.name for t in tensors]
    listed = bool(names)
    pointers = [s.pointer_bytes for s in shards if s.pointer_bytes is not None]
    source = "headers" if read else "index" if index is not None and index.total_bytes else ""
    size = sum(t.size_bytes for t in tensors) if read else (index.total_bytes if index else 0)
    prefix = text_prefix(names)
    further = further_tensors(names, prefix, layers)
    norms = layer_norms((name for name in names if name not in further), prefix)
    towers = tower_modules(names, tensors if read else ())
    return Weights(
        source=source,
        size_bytes=size or 0,
        parameters=_parameters(index, tensors, read=read),
        by_dtype=_by_dtype(tensors),
        tensors=len(names),
        pointers=len(pointers),
        pointer_bytes=sum(pointers),
        missing=sum(s.problem == "missing" for s in shards),
        broken=tuple(
            f"{s.name[-80:]}: {s.problem}"
            for s in shards
            if s.problem and s.problem not in ("missing", "outside")
        ),
        outside=sum(s.problem == "outside" for s in shards),
        on_disk=sum(s.tensors is not None for s in shards),
        has_head=has_head(names) if listed else None,
        vision_linears=towers.total() if listed else None,
        tower_modules=tuple(towers.items()),
        mtp_tensors=len(further) if listed else None,
        mtp_parameters=sum(t.elements for t in tensors if t.name in further) if read else None,
        text_prefix=prefix,
        norms=norms.wide,
        norms_behind=norms.behind,
        head_norms=norms.heads,
        norms_biased=norms.biased,
        joined=is_joined(names, prefix) if prefix else None,
        sinks=has_sinks(names) if listed else None,
        fused_experts=sum(t.size_bytes for t in tensors if _is_fused(t)),
        notes=tuple(_contradictions(index, tensors, read=read).items()),
    )


def _parameters(index: Index | None, tensors: Sequence[Tensor], *, read: bool) -> int | None:
    if read:
        return sum(t.elements for t in tensors)
    return index.total_parameters if index is not None else None


def _by_dtype(tensors: Sequence[Tensor]) -> tuple[tuple[str, int], ...]:
    counted: Counter[str] = Counter()
    for tensor in tensors:
        counted[tensor.dtype] += tensor.size_bytes
    return tuple(counted.most_common())


def _is_fused(tensor: Tensor) -> bool:
    return len(tensor.shape) == THREE and ".experts" in tensor.name and tensor.dtype in PLAIN


def _contradictions(
    index: Index | None, tensors: Sequence[Tensor], *, read: bool
) -> Mapping[str, str]:
    found: dict[str, str] = {}
    if index is None:
        return found
    told, lie = index.total_bytes, sum(t.size_bytes for t in tensors)
    if read and told is not None and told != lie:
        found["index_size_differs"] = f"the index tells of {told} bytes, the headers of {lie}"
    if read and set(index.shards) != {t.name for t in tensors}:
        found["index_names_differ"] = "the index lists other tensors than the headers"
    if told and index.total_parameters and told % index.total_parameters:
        found["index_mixed"] = "the index's bytes are no multiple of its parameters"
    return found
