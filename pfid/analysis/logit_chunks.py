"""Size the loss head's chunks: the logits of a whole micro-batch may be its largest tensor.

Source: playbook section 2 (padding probe: "CE chunk sizing"). One copy of the logits is
tokens * vocabulary * bytes; a loss in float32 over bf16 logits holds more than one.
"""

from dataclasses import dataclass
from typing import Final

DTYPE_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}
ROUND_TO: Final = 128
"""Tokens a chunk is a multiple of, where it is at least that large: whole tiles of a GEMM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitChunks:
    """Memory of the loss head at the widest micro-batch.

    Attributes:
        bytes_per_token: one copy of one token's logits.
        peak_bytes: one copy of the widest micro-batch's logits, unchunked.
        fits: whether that is within the budget; None without one.
        chunk_tokens: most tokens whose logits are; None without a budget, 0 where not even one
            token's are.
        chunks: how many chunks the widest micro-batch takes.
    """

    bytes_per_token: int
    peak_bytes: int
    fits: bool | None
    chunk_tokens: int | None
    chunks: int | None


def size_chunks(
    widest_tokens: int, vocabulary: int, dtype: str, budget_bytes: int | None
) -> LogitChunks:
    """Size them.

    Args:
        widest_tokens: positions of the widest micro-batch, padding included.
        vocabulary: columns of the head.
        dtype: of the logits, a key of DTYPE_BYTES.
        budget_bytes: what one copy may take; None if nobody said.
    """
    per_token = vocabulary * DTYPE_BYTES[dtype]
    peak = widest_tokens * per_token
    if budget_bytes is None:
        return LogitChunks(
            bytes_per_token=per_token, peak_bytes=peak, fits=None, chunk_tokens=None, chunks=None
        )
    tokens = min(budget_bytes // per_token, widest_tokens)
    if ROUND_TO <= tokens < widest_tokens:
        tokens -= tokens % ROUND_TO
    return LogitChunks(
        bytes_per_token=per_token,
        peak_bytes=peak,
        fits=peak <= budget_bytes,
        chunk_tokens=tokens,
        chunks=-(-widest_tokens // tokens) if tokens else None,
    )
