"""What flash attention is called with: its window travels as a keyword, not in the mask.

flash_attn counts inclusively: a window of (n, n) lets a causal row see n earlier positions and its
own, n + 1 in all. transformers' ``sliding_window`` is the number of all, which its own masks keep
and releases before 4.56 hand on as it is: one too many.
"""

import inspect
from typing import Any, Callable, Dict, Optional

NAME = "flash_attention_2"
FLASH_NAMES = (
    "flash_attn_func",
    "flash_attn_2_func",
    "flash_attn_varlen_func",
    "flash_attn_2_varlen_func",
    "pad_input",
    "pad_input_fa2",
    "unpad_input",
    "unpad_input_fa2",
)
"""What releases before 4.56 look up in their own module when they are called."""


class Caught(Exception):  # noqa: N818 - how the call ends
    """flash_attn would have been called."""


def flash_window(torch: Any, size: int, width: int) -> Optional[int]:
    """Positions a row may see by the keywords that flash attention is called with."""
    from transformers import modeling_flash_attention_utils as flash

    process = getattr(flash, "_process_flash_attention_kwargs", None)
    if process is not None:
        wanted = inspect.signature(process).parameters
        given = {
            "query_length": width,
            "key_length": width,
            "is_causal": True,
            "sliding_window": size,
            "supports_mapping": Always(),
        }
        window = process(**{n: v for n, v in given.items() if n in wanted}).get("window_size")
        return None if window is None else int(window[0]) + 1
    return older_flash_window(torch, flash, size, width)


class Always(Dict[str, bool]):
    """Says that everything is supported."""

    def __missing__(self, key: str) -> bool:
        """Say so of the rest too."""
        return True


def older_flash_window(torch: Any, flash: Any, size: int, width: int) -> Optional[int]:
    """The same, of releases that put the keywords together inside the call."""
    positions = torch.arange(width)[None]
    window = older_flash_call(torch, flash, positions, size).get("window_size")
    return None if window is None else int(window[0]) + 1


def packed_apart(torch: Any, positions: Any) -> Optional[bool]:
    """Whether flash attention takes packed documents apart by their positions."""
    from transformers import modeling_flash_attention_utils as flash

    function = getattr(flash, "_is_packed_sequence", None)
    if function is not None:
        return bool(function(positions, 1))
    called = older_flash_call(torch, flash, positions, None).get("called")
    return None if called is None else "varlen" in called


def older_flash_call(torch: Any, flash: Any, positions: Any, size: Optional[int]) -> Dict[str, Any]:
    """Call transformers' own function, and see what it would have called of flash_attn."""
    seen: Dict[str, Any] = {}

    def catching(name: str) -> Callable[..., Any]:
        def caught(*_: Any, **kwargs: Any) -> Any:
            seen.update(kwargs, called=name)
            raise Caught

        return caught

    stand_ins = {name: catching(name) for name in FLASH_NAMES}
    stand_ins["_flash_supports_window_size"] = True  # type: ignore[assignment]
    missing = object()
    before = {name: getattr(flash, name, missing) for name in stand_ins}
    for name, stand_in in stand_ins.items():
        setattr(flash, name, stand_in)
    width = positions.shape[1]
    heads = torch.zeros(1, width, 1, 8)
    forward = getattr(flash, "_flash_attention_forward")  # noqa: B009 - private there
    try:
        forward(
            heads,
            heads,
            heads,
            None,
            query_length=width,
            is_causal=True,
            position_ids=positions,
            sliding_window=size,
            attn_implementation=NAME,
        )
    except Caught:
        pass
    finally:
        for name, value in before.items():
            delattr(flash, name) if value is missing else setattr(flash, name, value)
    return seen
