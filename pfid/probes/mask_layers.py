"""What the layers of a model hand to attention, seen by building it without storage.

The model is built on torch's meta device (no weights, no arithmetic) and run once over eight
tokens. In the place of mask creation stands a marker for each function, in the place of attention
a recorder that notes what arrives and ends the layer there: which mask function a layer's mask
comes from, which window it passes on, how many heads, and whether sdpa would take the causal way.
"""

import contextlib
import copy
import functools
import inspect
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

TOKENS = 8
LAYERS_MAX = 12
LISTS = ("layers", "h", "blocks", "block", "layer")
"""What models call the list of their layers, the usual name first."""
NAME = "flash_attention_2"
"""Of the implementation that hands the window on as a keyword."""

SUPPORT = {
    "sdpa": ("_supports_sdpa",),
    "flex_attention": ("_supports_flex_attn",),
    "flash_attention_2": ("_supports_flash_attn", "_supports_flash_attn_2"),
    "flash_attention_3": ("_supports_flash_attn", "_supports_flash_attn_3"),
    "flash_attention_4": ("_supports_flash_attn",),
}
"""Flags of a model's class, by the implementation they stand for; names changed over releases."""


class Seen(Exception):  # noqa: N818 - how the recorder ends a layer
    """Attention was reached."""


def observe(torch: Any, transformers: Any, config: Any) -> Tuple[List[Dict[str, Any]], List[str]]:
    """Facts of every layer, or of the first ones up to each type's, if the model has many.

    The second answer is which implementations the model's class says it cannot do.
    """
    short = shortened(config)
    try:
        model = built(torch, transformers, short)
    except Exception:  # some configurations hold other lists of layers
        if short is config:
            raise
        model = built(torch, transformers, config)
    best: List[Dict[str, Any]] = []
    for whole in (False, True):  # layers return a tensor, or in older releases a tuple
        found = seen_in(torch, transformers, model, as_tuple=whole)
        if reached(found) > reached(best):
            best = found
        if reached(best) == len(layers_of(model)):
            break
    return best or found, unsupported(model)


def unsupported(model: Any) -> List[str]:
    """Implementations that the class refuses by its own flags."""
    found = []
    for name, flags in SUPPORT.items():
        said = [getattr(model, flag) for flag in flags if hasattr(model, flag)]
        if said and not any(said):
            found.append(name)
    return found


def reached(found: List[Dict[str, Any]]) -> int:
    """How many layers were seen up to their attention."""
    return sum(one["mask_function"] is not None for one in found)


def shortened(config: Any) -> Any:
    """The configuration with no more layers than it takes to see each type."""
    types = list(getattr(config, "layer_types", None) or [])
    count = int(getattr(config, "num_hidden_layers", 0) or 0)
    keep = max((types.index(t) + 1 for t in set(types)), default=1)
    if count <= LAYERS_MAX or keep >= count:
        return config
    small = copy.deepcopy(config)
    small.num_hidden_layers = keep
    if types:
        small.layer_types = types[:keep]
    return small


def built(torch: Any, transformers: Any, config: Any) -> Any:
    """The model without storage; nothing of it is read from anywhere."""
    config = copy.deepcopy(config)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    model.eval()
    model.config._attn_implementation = NAME  # noqa: SLF001 - the public way looks for flash_attn
    return model


def layers_of(model: Any) -> List[Any]:
    """The decoder's layers."""
    for name in LISTS:
        for owner in (model, *model.modules()):
            layers: Any = getattr(owner, name, None)
            if hasattr(layers, "parameters") and hasattr(layers, "__len__") and len(layers) > 0:
                return list(layers)
    raise LookupError("no list of layers in %s" % type(model).__name__)


def seen_in(torch: Any, transformers: Any, model: Any, *, as_tuple: bool) -> List[Dict[str, Any]]:
    """Run the model once with markers and recorder in place."""
    found: List[Dict[str, Any]] = []
    current: List[int] = [0]
    markers = Markers(torch, sys.modules[type(model).__module__])
    layers = layers_of(model)
    types = list(getattr(model.config, "layer_types", None) or [])

    def recorder(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> None:
        told = {
            "index": current[0],
            "type": str(types[current[0]]) if types else markers.kind(model.config),
            "mask_function": markers.name_of(mask),
            "positions": markers.positions,
            "window": kwargs.get("sliding_window"),
            "window_passed": "sliding_window" in kwargs,
            "heads": int(query.shape[1]),
            "kv_heads": int(key.shape[1]),
            "head_dim": int(query.shape[-1]),
        }
        told["sdpa"] = sdpa_way(torch, module, (query, key, value), kwargs)
        found.append(told)
        raise Seen

    functions = transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS
    functions[NAME] = recorder
    forwards = [layer.forward for layer in layers]
    try:
        for index, layer in enumerate(layers):
            kind = str(types[index]) if types else ""
            step = stepped(layer.forward, index, current, found, kind)
            layer.forward = tupled(step) if as_tuple else step
        with markers, storageless(torch):
            ids = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
            try:
                model(input_ids=ids, use_cache=False)
            except Exception:  # what comes behind the layers does not matter
                if not found:
                    raise
    finally:
        for layer, forward in zip(layers, forwards):
            layer.forward = forward
        del functions[NAME]
    return found


def stepped(
    forward: Callable[..., Any],
    index: int,
    current: List[int],
    found: List[Dict[str, Any]],
    kind: str,
) -> Callable[..., Any]:
    """A layer that runs up to its attention and hands its input on."""

    @functools.wraps(forward)
    def step(hidden: Any, *args: Any, **kwargs: Any) -> Any:
        current[0] = index
        before = len(found)
        # a layer without attention may not run without storage: what it does is not asked
        with contextlib.suppress(Exception):
            forward(hidden, *args, **kwargs)
        if len(found) == before:
            found.append({"index": index, "type": kind, "mask_function": None})
        return hidden

    return step


def tupled(step: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with its answer in a tuple."""

    @functools.wraps(step)
    def whole(*args: Any, **kwargs: Any) -> Any:
        return (step(*args, **kwargs),)

    return whole


@contextlib.contextmanager
def storageless(torch: Any) -> Iterator[None]:
    """Let models run on the meta device: no gradients, and no autocast, which it has none of."""
    autocast, enabled = torch.autocast, torch.is_autocast_enabled
    torch.autocast = lambda *_, **__: contextlib.nullcontext()
    torch.is_autocast_enabled = lambda *_: False
    try:
        with torch.no_grad():
            yield
    finally:
        torch.autocast, torch.is_autocast_enabled = autocast, enabled


class Markers:
    """Stand in the place of mask creation; each is known again where it arrives."""

    def __init__(self, torch: Any, module: Any) -> None:
        self.torch, self.module = torch, module
        self.positions = True
        names = [n for n in vars(module) if n.startswith("create_") and "mask" in n]
        self.originals = {n: getattr(module, n) for n in names if callable(getattr(module, n))}
        shape = (1, 1, TOKENS, TOKENS)
        self.marks = {n: torch.ones(shape, dtype=torch.bool, device="meta") for n in self.originals}

    def __enter__(self) -> None:
        for name in self.originals:
            setattr(self.module, name, self.marking(name))

    def __exit__(self, *_: object) -> None:
        for name, original in self.originals.items():
            setattr(self.module, name, original)

    def marking(self, name: str) -> Callable[..., Any]:
        """A function that hands out the marker of its name."""

        def mark(*_: Any, **kwargs: Any) -> Any:
            self.positions = kwargs.get("position_ids") is not None
            if name == "create_masks_for_generate":
                return dict.fromkeys(("full_attention", "sliding_attention"))
            return self.marks[name]

        return mark

    def name_of(self, mask: Any) -> Optional[str]:
        """Which function a mask came from."""
        for name, mark in self.marks.items():
            if mask is mark:
                return str(name)
        return None

    @staticmethod
    def kind(config: Any) -> str:
        """Layer type of a model that lists none."""
        if getattr(config, "sliding_window", None) is not None:
            return "sliding_attention"
        if getattr(config, "attention_chunk_size", None) is not None:
            return "chunked_attention"
        return "full_attention"


def sdpa_way(torch: Any, module: Any, heads: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """What transformers' own sdpa hands to torch, without a mask and with one."""
    from transformers.integrations import sdpa_attention

    forward: Any = sdpa_attention.sdpa_attention_forward
    told: Dict[str, Any] = {}
    functional = torch.nn.functional
    original = functional.scaled_dot_product_attention

    def catch(_: Any, key: Any, *__: Any, **given: Any) -> Any:
        told[place] = {
            "is_causal": bool(given.get("is_causal")),
            "masked": given.get("attn_mask") is not None,
            "kv_heads": int(key.shape[1]),
        }
        raise Seen

    functional.scaled_dot_product_attention = catch
    wanted = set(inspect.signature(forward).parameters)
    try:
        for place in ("without_mask", "with_mask"):
            shape = (1, 1, heads[0].shape[2], heads[1].shape[2])
            mask = torch.ones(shape, dtype=torch.bool, device="meta")
            given = {n: v for n, v in kwargs.items() if n in wanted and n != "attention_mask"}
            try:
                forward(module, *heads, None if place == "without_mask" else mask, **given)
            except Seen:
                pass
            except Exception as error:  # noqa: BLE001 - the library's own refusal
                told[place] = {"raised": type(error).__name__}
    finally:
        functional.scaled_dot_product_attention = original
    return told
