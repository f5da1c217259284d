"""What an adapter makes of the tensors of its base, read out of its factors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pfid.adapters.weight_files import WeightFiles
from pfid.adapters.weight_identities import runs_of, sampled
from pfid.analysis.adapter_change import Change, low_rank, rows_of
from pfid.analysis.adapter_parts import (
    beside,
    by_length,
    length_shares,
    replaced,
    rows_replaced,
)
from pfid.analysis.adapter_stack import Part, stacked
from pfid.analysis.adapter_targets import Place
from pfid.analysis.weight_sample import Array, is_float, numbers
from pfid.formats.adapter_scale import adapter_scale
from pfid.formats.adapter_tensors import Adapted
from pfid.formats.safetensors import Tensor

MAGNITUDE: Final = "lora_magnitude_vector"
TOKENS: Final = "trainable_tokens_delta"
_SHARED: Final = (("lora_A", 0), ("lora_B", -1))
"""The dimension of each factor that is the rank."""
_FACTORS: Final = (("lora_A", "lora_B"), ("lora_embedding_A", "lora_embedding_B"))


class AdapterMakes:
    """An open adapter and its open base."""

    def __init__(
        self,
        adapter: WeightFiles,
        base: WeightFiles,
        modules: Sequence[Adapted],
        configured: Mapping[str, Any],
    ) -> None:
        """Read nothing yet."""
        self._adapter, self._base = adapter, base
        self._modules = {one.module: one for one in modules}
        self._scale = adapter_scale(configured)
        self._tensors = {t.name: t for t in adapter.tensors if is_float(t.dtype) and t.shape}

    @property
    def untold(self) -> str:
        """Why it cannot be told how much of anything it makes; "" where it can."""
        factors = any(not one.whole for one in self._modules.values())
        return self._scale.untold if factors else ""

    def idle_experts(self) -> Mapping[str, int]:
        """Of stacks those modules some of whose experts get nothing, and how many.

        Raises:
            WeightsError: if a file is cut off.
        """
        found = {}
        for name, module in self._modules.items():
            parts = self._parts(module)
            if not {"lora_A", "lora_B"} <= parts.keys():
                continue
            rows, columns = (self._tensors[parts[p]].shape[i] for p, i in _SHARED)
            experts = self._scale.experts_of(name, rows)
            if experts > 1 and rows == columns:
                second = self._values(parts["lora_B"])
                by_expert = second.reshape(second.shape[0], -1, experts).any(axis=(0, 1))
                found[name] = experts - int(by_expert.sum())
        return {name: idle for name, idle in found.items() if idle}

    def of(self, tensor: Tensor, places: Sequence[Place]) -> list[Change]:
        """What it adds to the sampled elements of a tensor, in every way its names may be read.

        Args:
            tensor: of the base.
            places: modules of the adapter that it belongs to.

        Raises:
            WeightsError: if a file is cut off.
        """
        if any(place.part is not None for place in places):
            return list(self._of_parts(tensor, places))
        return [change for place in places for change in self._of(tensor, place)]

    def _of_parts(self, tensor: Tensor, places: Sequence[Place]) -> Iterator[Change]:
        """Modules of single experts, of which the base keeps a stack: all together make it."""
        parts = [self._part(place) for place in places]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            yield from stacked(known, tensor.shape, runs_of(tensor)[0])

    def _part(self, place: Place) -> Part | None:
        """None where it is no plain product of two factors, or not the module of one expert."""
        parts = self._parts(self._modules[place.module])
        if place.part is None or {*parts} != {*_FACTORS[0]}:
            return None
        a, b = (self._values(parts[name]) for name in _FACTORS[0])
        scale = self._scale.of(place.module, a.shape[0] if a.ndim == 2 else 0)
        if scale is None:
            return None
        at = {"matrix": place.part, "half": place.half, "halves": place.halves}
        return Part(a=a, b=b, scale=scale, **at)

    def _of(self, tensor: Tensor, place: Place) -> Iterator[Change]:
        module = self._modules[place.module]
        runs, _ = runs_of(tensor)
        if module.whole:
            yield from self._whole(tensor, module)
            return
        parts = self._parts(module)
        if "bias" in parts:
            yield from self._bias(tensor, module, parts["bias"])
        if TOKENS in parts:
            yield from self._tokens(tensor, place, self._values(parts[TOKENS]))
        pair = next(((a, b) for a, b in _FACTORS if a in parts and b in parts), None)
        if pair is None:
            return
        a, b = (self._values(parts[name]) for name in pair)
        shape, moved = place.within(tensor.shape, runs)
        experts = shape[0] if len(shape) == 3 else 1
        scale = self._scale.of(module.module, a.shape[0] // experts if a.ndim == 2 else 0)
        if scale is None:
            return
        for change in low_rank(a, b, shape, moved):
            scaled = change.times(scale)
            if MAGNITUDE not in parts:
                yield scaled
            elif len(tensor.shape) == 2:
                yield from self._with_lengths(tensor, scaled, parts[MAGNITUDE], (a, b, scale))

    def _parts(self, module: Adapted) -> dict[str, str]:
        """Those of its tensors that hold numbers to be multiplied."""
        return {part: name for part, name in module.parts if name in self._tensors}

    def _whole(self, tensor: Tensor, module: Adapted) -> Iterator[Change]:
        saved = self._tensors.get(module.name)
        if saved is not None and saved.shape == tensor.shape:
            new = numbers(saved.dtype, sampled(self._adapter, saved))
            yield replaced(self._before(tensor), new)

    def _bias(self, tensor: Tensor, module: Adapted, name: str) -> Iterator[Change]:
        of = module.module.removesuffix(".bias")
        first = self._parts(self._modules[of]).get("lora_A") if of in self._modules else None
        rank = self._tensors[first].shape[0] if first is not None else 0
        scale = self._scale.of(of, rank)
        if scale is not None and self._tensors[name].shape == tensor.shape:
            yield beside(self._values(name), scale, runs_of(tensor)[0])

    def _tokens(self, tensor: Tensor, place: Place, new: Array) -> Iterator[Change]:
        rows = self._scale.tokens_of(place.module)
        if (len(rows), *tensor.shape[1:]) == new.shape and len(new.shape) == 2:
            runs, _ = runs_of(tensor)
            yield rows_replaced(self._before(tensor), new, rows, tensor.shape, runs)

    def _with_lengths(
        self, tensor: Tensor, change: Change, name: str, made_by: tuple[Array, Array, float]
    ) -> Iterator[Change]:
        """DoRA, as a linear layer has it: a length of each row, out of whole rows of the base."""
        lengths, (runs, _) = self._values(name).reshape(-1), runs_of(tensor)
        if lengths.size != tensor.shape[0]:
            return
        columns = tensor.shape[1]
        rows = {
            row: self._elements(tensor, [(row * columns, columns)])
            for row in dict.fromkeys(rows_of(tensor.shape, runs))
        }
        shares = length_shares(lengths, rows, (made_by[0], made_by[1]), made_by[2])
        yield by_length(change, self._before(tensor), shares, tensor.shape, runs)

    def _before(self, tensor: Tensor) -> Array:
        return self._elements(tensor, runs_of(tensor)[0])

    def _elements(self, tensor: Tensor, runs: Sequence[tuple[int, int]]) -> Array:
        item_bytes = tensor.size_bytes // max(1, tensor.elements)
        raw = self._base.runs(tensor.name, runs, item_bytes)
        return numbers(tensor.dtype, raw).astype("float64")

    def _values(self, name: str) -> Array:
        """A factor, whole."""
        tensor = self._tensors[name]
        item_bytes = tensor.size_bytes // max(1, tensor.elements)
        raw = self._adapter.runs(name, [(0, tensor.elements)], item_bytes)
        return numbers(tensor.dtype, raw).reshape(tensor.shape)
