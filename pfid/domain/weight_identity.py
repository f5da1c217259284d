"""Which weights a checkpoint holds, told by what its tensors hold and not by what it is called."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

IDENTITY_SCHEMA: Final = 1


class TensorPrint(Struct, frozen=True, kw_only=True):
    """One tensor by its content.

    Attributes:
        dtype: as stored, in the words of safetensors.
        shape: its dimensions.
        sample: digest of the sampled bytes as they are stored.
        as_bf16: digest of the sampled numbers rounded to bfloat16; "" where they are no
            floating-point numbers.
        as_f16: likewise, rounded to float16.
        whole: digest of all bytes; "" where only a sample was read.
    """

    dtype: str
    shape: tuple[int, ...]
    sample: str
    as_bf16: str = ""
    as_f16: str = ""
    whole: str = ""


class WeightIdentity(Struct, frozen=True, kw_only=True):
    """What a checkpoint's weights are.

    Attributes:
        name: of its folder: for people, evidence of nothing.
        tensors: each by its name.
        size_bytes: of all tensors.
        read_bytes: of them read.
        full: whether every byte was.
        index_sha256: of the index file; null without one. It names tensors and shards and holds
            no weight: two checkpoints of one shape can have the same.
        digest: of all tensors' names, shapes and samples.
        at_s: when it was taken, Unix seconds.
        pfid: version that took it.
        schema: of this record.
    """

    name: str
    tensors: Mapping[str, TensorPrint]
    size_bytes: int
    read_bytes: int
    full: bool
    digest: str
    index_sha256: str | None = None
    at_s: float = 0.0
    pfid: str = ""
    schema: int = IDENTITY_SCHEMA
