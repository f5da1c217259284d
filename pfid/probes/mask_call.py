"""Call a mask function by its own signature, whatever the release, without a compiler."""

import inspect
from typing import Any, Dict


class UnknownSignature(Exception):  # noqa: N818 - an answer, not a fault
    """The function wants what no release has wanted so far; which, by name."""


def call(
    torch: Any,
    utils: Any,
    function: Any,
    config: Any,
    given: Dict[str, Any],
    *,
    positions_passed: bool,
) -> Any:
    """Call a mask function with what it asks for by name.

    Raises:
        UnknownSignature: if it asks for more.
    """
    width = given["positions"].shape[1]
    known = {
        "config": config,
        "attention_mask": given["mask"],
        "cache": None,
        "past_key_values": None,
        "cache_position": torch.arange(width),
        "position_ids": given["positions"] if positions_passed else None,
    }
    for name in ("inputs_embeds", "input_embeds"):
        known[name] = torch.empty(given["batch"], width, 1)
    parameters = inspect.signature(function).parameters
    missing = [
        name
        for name, one in parameters.items()
        if one.default is one.empty
        and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        and name not in known
    ]
    if missing:
        said = "%s wants %s" % (getattr(function, "__name__", "it"), ", ".join(missing))
        raise UnknownSignature(said)
    with uncompiled(utils):
        return function(**{name: value for name, value in known.items() if name in parameters})


class uncompiled:  # noqa: N801 - reads as a word
    """Block masks are built without a compiler meanwhile: the same mask, in milliseconds."""

    def __init__(self, utils: Any) -> None:
        self.utils = utils
        self.original = getattr(utils, "create_block_mask", None)

    def __enter__(self) -> None:
        if self.original is None:
            return
        original = self.original

        def plain(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **dict(kwargs, _compile=False))

        self.utils.create_block_mask = plain

    def __exit__(self, *_: object) -> None:
        if self.original is not None:
            self.utils.create_block_mask = self.original
