"""Which elements of a tensor are looked at, and what they are in other precisions.

Where is looked hangs on the shape alone: a tensor that was renamed, put into another shard or kept
in another data type is sampled at the same elements.
"""

import hashlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from pfid.domain.weight_identity import TensorPrint

BLOCK: Final = 256
BLOCKS: Final = 8
STACKED_MAX: Final = 4096
"""A tensor of three dimensions and more is looked at in each of its first, as experts are."""
DIGEST_CHARS: Final = 32
_STORED: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
Array = np.ndarray[Any, np.dtype[Any]]


def is_float(dtype: str) -> bool:
    """Whether its numbers can be held against those of another precision."""
    return dtype in _STORED


def blocks(shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Runs of elements to be read, as (first, count), ascending and apart.

    A small tensor is read whole; a matrix at its beginning, its end and between; of stacked
    matrices (fused experts) each has a share.
    """
    size = prod(shape)
    if size <= BLOCK * BLOCKS:
        return ((0, size),) if size else ()
    if len(shape) < 3 or shape[0] > STACKED_MAX:
        return _spread(0, size, BLOCKS)
    each = size // shape[0]
    count = max(2, BLOCKS // shape[0])
    return tuple(run for n in range(shape[0]) for run in _spread(n * each, each, count))


def _spread(first: int, size: int, count: int) -> tuple[tuple[int, int], ...]:
    if size <= BLOCK * count:
        return ((first, size),)
    starts = [first + (size - BLOCK) * n // (count - 1) for n in range(count)]
    return tuple((start, BLOCK) for start in starts)


def by_part(shape: Sequence[int], runs: Sequence[tuple[int, int]]) -> Mapping[int, Array]:
    """Of stacked matrices the places in a sample of what was sampled of each."""
    each = max(1, prod(shape[1:])) if len(shape) > 2 else max(1, prod(shape))
    drawn = [np.arange(first, first + count) // each for first, count in runs]
    parts = np.concatenate([np.empty(0, np.int64), *drawn])
    order = np.argsort(parts, kind="stable")
    found, begins = np.unique(parts[order], return_index=True)
    return dict(zip(map(int, found), np.split(order, begins[1:]), strict=True)) if runs else {}


def numbers(dtype: str, raw: bytes) -> Array:
    """Stored floating-point numbers as float32, as torch widens and narrows them.

    Raises:
        KeyError: for a data type that holds no such numbers.
    """
    stored = np.frombuffer(raw, dtype=_STORED[dtype])
    if dtype == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        return stored.astype(np.float32)


def is_zero(dtype: str, raw: bytes) -> bool:
    """Whether every stored number is zero, of either sign."""
    if is_float(dtype) and raw.strip(b"\0"):
        return not np.any(numbers(dtype, raw))
    return not raw.strip(b"\0")


def rounded(values: Array, dtype: str) -> bytes:
    """Numbers in another precision, to nearest, ties to even; every NaN is one NaN."""
    if dtype == "F16":
        with np.errstate(over="ignore", invalid="ignore"):
            half = values.astype(np.float16)
        half[np.isnan(values)] = np.float16("nan")
        return half.tobytes()
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    short = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    short[np.isnan(values)] = 0x7FC0
    return short.tobytes()


def tensor_print(dtype: str, shape: Sequence[int], raw: bytes, whole: str = "") -> TensorPrint:
    """What a tensor is, by its sampled bytes.

    Args:
        dtype: as stored.
        shape: its dimensions.
        raw: the blocks that :func:`blocks` names, joined.
        whole: digest of all its bytes, if they were read.
    """
    as_bf16 = as_f16 = ""
    if is_float(dtype):
        values = numbers(dtype, raw)
        as_bf16, as_f16 = (_digest(rounded(values, to)) for to in ("BF16", "F16"))
    return TensorPrint(
        dtype=dtype,
        shape=tuple(shape),
        sample=_digest(raw),
        as_bf16=as_bf16,
        as_f16=as_f16,
        whole=whole,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]
