"""A training small enough for two CPU cores, with every part that the probes look at.

A causal language model of two attention blocks over torch's own attention, adapters on frozen
weights, and a loss in checkpointed chunks: for those who have no step of their own to show. Not a
model of anything.
"""

from typing import Any, Callable, Dict, List, Optional, Tuple

CHANNELS = 64
HEADS = 4
LAYERS = 2
WORDS = 2_048
RANK = 4
CHUNK_TOKENS = 256
IGNORED = -100


def step_factory(
    width: int, batch: int, device: str, padding: float = 0.0
) -> Tuple[Callable[[], int], Any]:
    """Make one step of a micro-batch of this shape, and its model.

    Args:
        width: tokens a record.
        batch: records.
        device: where.
        padding: share of the last record that is padding; the others are full.

    Returns:
        A function that does forward and backward and returns its loss targets, and the model.
    """
    import torch

    torch.manual_seed(0)
    model = _model(torch).to(device)
    words = torch.randint(0, WORDS, (batch, width), device=device)
    targets = words.roll(-1, 1)
    real = torch.ones(batch, width, dtype=torch.bool, device=device)
    if padding > 0:
        real[-1, width - int(width * padding) :] = False
        targets = targets.masked_fill(~real, IGNORED)
    mask = attention_mask(torch, real) if padding > 0 else None
    count = int((targets != IGNORED).sum())

    def step() -> int:
        compute_loss(model.hidden(words, mask), model.head.weight, targets).backward()
        model.zero_grad(set_to_none=True)
        return count

    return step, model


def attention_mask(torch: Any, real: Any) -> Any:
    """Causal, and nobody looks at padding: a dense mask, as with sdpa."""
    width = real.shape[1]
    causal = torch.ones(width, width, dtype=torch.bool, device=real.device).tril()
    return causal[None, None] & real[:, None, None, :]


def compute_loss(hidden: Any, weight: Any, targets: Any) -> Any:
    """Cross entropy over chunks of tokens, each computed again in the backward pass."""
    from torch.utils.checkpoint import checkpoint

    flat, wanted = hidden.flatten(0, 1), targets.flatten()
    count = (wanted != IGNORED).sum()
    total = flat.new_zeros(())
    for begin in range(0, len(flat), CHUNK_TOKENS):
        part = slice(begin, begin + CHUNK_TOKENS)
        total = total + checkpoint(_chunk, flat[part], weight, wanted[part], use_reentrant=False)
    return total / count


def _chunk(hidden: Any, weight: Any, targets: Any) -> Any:
    import torch

    logits = hidden @ weight.t()
    return torch.nn.functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum")


def discover_target_modules(model: Any) -> List[str]:
    """Names that adapters go onto: every projection of a block."""
    found: Dict[str, Optional[bool]] = {}
    for name, _ in model.named_modules():
        if name.startswith("blocks.") and name.rsplit(".", 1)[-1] in ("mix", "out"):
            found[name.rsplit(".", 1)[-1]] = None
    return list(found)


def _model(torch: Any) -> Any:
    nn = torch.nn

    class Adapted(nn.Module):  # type: ignore[misc, name-defined]
        """A frozen projection with a trainable one of low rank beside it."""

        def __init__(self, inner: int, outer: int) -> None:
            super().__init__()
            self.base = nn.Linear(inner, outer)
            self.base.requires_grad_(requires_grad=False)
            self.lora_A = nn.Linear(inner, RANK, bias=False)
            self.lora_B = nn.Linear(RANK, outer, bias=False)
            nn.init.zeros_(self.lora_B.weight)

        def forward(self, x: Any) -> Any:
            return self.base(x) + self.lora_B(self.lora_A(x))

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.mix = Adapted(CHANNELS, 3 * CHANNELS)
            self.out = Adapted(CHANNELS, CHANNELS)

        def forward(self, x: Any, mask: Any) -> Any:
            batch, width, _ = x.shape
            query, key, value = (
                part.view(batch, width, HEADS, -1).transpose(1, 2)
                for part in self.mix(x).chunk(3, dim=-1)
            )
            seen = nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=mask is None
            )
            return x + self.out(seen.transpose(1, 2).reshape(batch, width, CHANNELS))

    class Tiny(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(WORDS, CHANNELS)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.head = nn.Linear(CHANNELS, WORDS, bias=False)
            self.embed.requires_grad_(requires_grad=False)
            self.head.requires_grad_(requires_grad=False)

        def hidden(self, words: Any, mask: Any) -> Any:
            x = self.embed(words)
            for block in self.blocks:
                x = block(x, mask)
            return x

    return Tiny()
