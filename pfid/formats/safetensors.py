"""Safetensors files as text: index, header, and the pointer that lies in the place of one.

A header is a JSON object behind eight bytes of its length; the tensors behind it are never read.
Source: the format's own description (huggingface/safetensors).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from pfid.domain.errors import PfidError

LENGTH_BYTES: Final = 8
HEADER_MAX_BYTES: Final = 100_000_000
"""The format's own limit."""
BITS: Final = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
    "F32": 32, "I32": 32, "U32": 32,
    "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I8": 8, "U8": 8, "BOOL": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
_LISTS: Final = ("shape", "data_offsets")
_POINTER: Final = re.compile(
    rb"\Aversion https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?size (\d{1,20})\n?"
)


class SafetensorsError(PfidError):
    """An index or header that is none."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a header; ``begins_at`` counts from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    begins_at: int = 0

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Which shard holds which tensor, and what the index says of their sum."""

    shards: Mapping[str, str]
    total_bytes: int | None
    total_parameters: int | None


def read_index(raw: Mapping[str, Any]) -> Index:
    """Read an index.

    Raises:
        SafetensorsError: if it maps nothing.
    """
    mapped = raw.get("weight_map")
    if not isinstance(mapped, dict) or not mapped:
        raise SafetensorsError("the index maps no tensor to a shard")
    shards = {name: shard for name, shard in mapped.items() if isinstance(shard, str)}
    if len(shards) != len(mapped):
        raise SafetensorsError("the index maps a tensor to what is no file name")
    said = raw.get("metadata")
    said = said if isinstance(said, dict) else {}
    return Index(
        shards=shards,
        total_bytes=_whole(said.get("total_size")),
        total_parameters=_whole(said.get("total_parameters")),
    )


def is_inside(name: str) -> bool:
    """Whether a shard's name stays in the folder of its index."""
    return bool(name) and name[0] != "/" and ".." not in name.split("/") and "\0" not in name


def header_length(begin: bytes) -> int:
    """Length of the header by a file's first eight bytes.

    Raises:
        SafetensorsError: if no header can be of that length.
    """
    length = int.from_bytes(begin[:LENGTH_BYTES], "little")
    if len(begin) < LENGTH_BYTES or not 2 <= length <= HEADER_MAX_BYTES:
        raise SafetensorsError("its first bytes are not the length of a header")
    return length


def read_header(text: bytes, data_bytes: int) -> tuple[Tensor, ...]:
    """Every tensor of a header.

    Args:
        text: the header, without its length.
        data_bytes: what lies behind it in the file.

    Raises:
        SafetensorsError: if it is cut off, or describes other data than lie behind it.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SafetensorsError(f"its header is no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise SafetensorsError("its header is no JSON object")
    tensors = tuple(_tensor(name, of) for name, of in raw.items() if name != "__metadata__")
    told = sum(tensor.size_bytes for tensor in tensors)
    if told != data_bytes:
        raise SafetensorsError(f"its header tells of {told} bytes, {data_bytes} lie behind it")
    return tensors


def _tensor(name: str, of: Any) -> Tensor:
    known = of if isinstance(of, dict) else {}
    dtype, shape, place = known.get("dtype"), *(_wholes(known.get(k)) for k in _LISTS)
    if not isinstance(dtype, str) or shape is None or place is None or len(place) != 2:
        raise SafetensorsError(f"its header describes {name[:80]!r} in no known way")
    size, bits = place[1] - place[0], BITS.get(dtype)
    if size < 0 or (bits is not None and size * 8 != prod(shape) * bits):
        raise SafetensorsError(f"its header gives {name[:80]!r} another size than its shape has")
    return Tensor(name, dtype, shape, size, place[0])


def _wholes(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    found = [_whole(item) for item in value]
    return tuple(n for n in found if n is not None) if None not in found else None


def pointer_size(begin: bytes) -> int | None:
    """Bytes that a Git LFS pointer stands for; None if the text is none."""
    found = _POINTER.match(begin)
    return int(found[1]) if found else None


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if usable else None
