"""Masks by their definition alone, and what a mask allows beside it, position by position."""

from typing import Any, Dict, List, Optional

CASES = ("none", "all_ones", "right_pad", "left_pad", "packed")


def inputs(torch: Any, case: str, width: int) -> Dict[str, Any]:
    """Two rows, the second half padding; or one row of three documents."""
    batch = 1 if case == "packed" else 2
    real = torch.ones(batch, width, dtype=torch.bool)
    document = torch.zeros(batch, width, dtype=torch.long)
    positions = torch.arange(width).expand(batch, -1)
    if case == "right_pad":
        real[1, width // 2 :] = False
    elif case == "left_pad":
        real[1, : width - width // 2] = False
    elif case == "packed":
        ends = [width - width // 10, width - width // 20]
        document[0, ends[0] :] = 1
        document[0, ends[1] :] = 2
        starts = torch.tensor([0, *ends])
        positions = positions - starts[document]
    padded = real.long() if case in ("all_ones", "right_pad", "left_pad") else None
    return {
        "batch": batch,
        "mask": padded,
        "real": real,
        "document": document,
        "positions": positions,
    }


def count(
    torch: Any, allowed: Any, given: Dict[str, Any], layer_type: str, size: Optional[int]
) -> Dict[str, Any]:
    """Hold what a mask allows against its definition, over the rows of real tokens."""
    width = allowed.shape[-1]
    rows = given["real"]
    allowed = allowed & rows[:, :, None]
    per_row = allowed.sum(-1)
    most = int(per_row.max())
    first = int((per_row == most).any(0).nonzero()[0])
    query, key = torch.arange(width)[:, None], torch.arange(width)[None, :]
    found = []
    for aligned in (True, False):
        right = defined(torch, width, layer_type, size, given, aligned=aligned) & rows[:, :, None]
        extra = allowed & ~right
        ahead = extra & (key > query)
        padding = extra & ~ahead & ~given["real"][:, None, :]
        other = extra & ~ahead & ~padding
        document = given["document"]
        mixed = other & (document[:, :, None] != document[:, None, :])
        told = {
            "future": int(ahead.sum()),
            "padding": int(padding.sum()),
            "documents": int(mixed.sum()),
            "beyond": int((other & ~mixed).sum()),
            "missing": int((right & ~allowed).sum()),
        }
        found.append(told)
        if layer_type != "chunked_attention":
            break
    best = min(found, key=lambda told: sum(told.values()))
    return dict(best, max_allowed=most, saturating_row=first)


def defined(
    torch: Any,
    width: int,
    layer_type: str,
    size: Optional[int],
    given: Dict[str, Any],
    *,
    aligned: bool = True,
) -> Any:
    """The mask as its name defines it: who may look at whom.

    Chunks of a left-padded row begin at its first real token (``aligned``), in older releases at
    the row's begin; both are right.
    """
    query, key = torch.arange(width)[:, None], torch.arange(width)[None, :]
    real, document = given["real"], given["document"]
    right = (key <= query)[None] & real[:, None, :]
    right = right & (document[:, :, None] == document[:, None, :])
    if layer_type == "sliding_attention" and size:
        right = right & (query - key < size)
    elif layer_type == "chunked_attention" and size:
        left = (
            (real.long().cumsum(-1) == 0).sum(-1) if aligned else real.new_zeros(len(real)).long()
        )
        begin = left[:, None, None]
        right = right & ((query - begin) // size == (key - begin) // size)
    return right


def planted(torch: Any, width: int) -> List[Dict[str, Any]]:
    """Two faults on purpose, counted: a window one too wide, and the next token allowed."""
    given, window, sliding = inputs(torch, "right_pad", width), width // 4, "sliding_attention"
    wide = defined(torch, width, sliding, window + 1, given)
    above = torch.ones(width - 1, dtype=torch.bool).diag(1)
    ahead = defined(torch, width, sliding, window, given) | (above & given["real"][:, None, :])
    base = {
        "case": "right_pad",
        "layer_type": sliding,
        "width": width,
        "size": window,
        "attention": "sdpa",
        "batch": 2,
        "kind": "tensor",
    }
    return [
        dict(base, fault="window_off_by_one", **count(torch, wide, given, sliding, window)),
        dict(base, fault="not_causal", **count(torch, ahead, given, sliding, window)),
    ]
