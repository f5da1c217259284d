"""Which attention masks the installed transformers makes for a model: no weights, no GPU.

Asked: ``{"model": path or hub id, "attention": [names] or null, "width": int or null}``. Every mask
function is called by its own signature for each attention implementation, each case (no mask, all
ones, right and left padding, packed documents) and each layer type. What comes back is counted
against a mask written here from its definition alone. Nothing is compiled: flex's block masks are
evaluated through their ``mask_mod``.

Answer: ``{"refused": code, "detail"}``, or versions, ``layers``, ``masks``, ``cliff`` and
``planted``: three faults made on purpose, which whoever judges must name, or be believed nothing.
"""

import copy
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional


def sibling(name: str) -> Any:
    """Load another file of this folder, under a name that is nobody else's."""
    known = sys.modules.get("pfid_probe_" + name)
    if known is not None:
        return known
    path = Path(__file__).with_name(name + ".py")
    spec = importlib.util.spec_from_file_location("pfid_probe_" + name, str(path))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pfid_probe_" + name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from pfid.probes import (
        mask_call,
        mask_config,
        mask_definition,
        mask_flash,
        mask_hub,
        mask_layers,
    )
else:  # the training interpreter reads this file alone, as a part of no package
    mask_call = sibling("mask_call")
    mask_config = sibling("mask_config")
    mask_definition = sibling("mask_definition")
    mask_flash = sibling("mask_flash")
    mask_hub = sibling("mask_hub")
    mask_layers = sibling("mask_layers")

WINDOW_MAX = 4096
"""A larger window is probed at WINDOW_PROBED: one definition, and its mask would not fit."""
WINDOW_PROBED = 1024
WIDTH_PLAIN = 512
BLOCK = 128
UNREGISTERED = "pfid_unregistered"
FUNCTIONS = {
    "full_attention": "create_causal_mask",
    "sliding_attention": "create_sliding_window_causal_mask",
    "chunked_attention": "create_chunked_causal_mask",
}
"""By layer types whose mask this file can define; what others call is only told."""


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Tell what is known of every mask, or why nothing is."""
    warnings.simplefilter("ignore")
    try:
        return Masks(str(asked["model"]), asked.get("attention"), asked.get("width")).told()
    except mask_config.Refused as refused:
        code, detail = [*refused.args, ""][:2]
        return {"refused": code, "detail": " ".join(str(detail).split())[:500]}


class Masks:
    """One model's configuration, asked for all its masks."""

    def __init__(self, model: str, attention: Optional[List[str]], width: Optional[int]) -> None:
        """Load the configuration; nothing of a model that brings its own code is executed."""
        self.torch, self.utils, self.transformers = mask_config.libraries()
        self.whole = mask_config.load_config(self.transformers, model)
        self.config = self.whole.get_text_config()
        self.types = mask_config.layer_types(self.config)
        sizes = mask_config.SIZES
        self.configured = {
            t: getattr(self.config, sizes[t], None) for t in self.types if t in sizes
        }
        self.sizes = {
            t: WINDOW_PROBED if size > WINDOW_MAX else size
            for t, size in self.configured.items()
            if isinstance(size, int) and size > 0
        }
        widest = max(self.sizes.values(), default=0)
        self.width = width or (up(widest + max(widest // 4, 2), BLOCK) if widest else WIDTH_PLAIN)
        if self.width < 8 or self.width > 2 * WINDOW_MAX:
            raise mask_config.Refused("bad_width", "from 8 to %d" % (2 * WINDOW_MAX))
        registry = getattr(self.utils.ALL_MASK_ATTENTION_FUNCTIONS, "_global_mapping")  # noqa: B009
        self.registered = sorted(str(name) for name in registry)
        self.requested = getattr(self.whole, "_attn_implementation", None)
        self.attention = list(attention) if attention else self._all()
        self.unsupported: List[str] = []
        self.positions_passed = True

    def _all(self) -> List[str]:
        """Every registered name, and the configuration's own where it is none of them."""
        own = self.requested
        unknown = isinstance(own, str) and own not in self.registered
        return [*self.registered, str(own)] if unknown else list(self.registered)

    def told(self) -> Dict[str, Any]:
        """Ask everything."""
        layers, why = self.layers()
        counted = mask_config.layer_types(self.config, counted=True)
        seen = {one["type"]: one for one in layers or [] if one.get("mask_function")}
        self.positions_passed = all(one.get("positions", True) for one in seen.values())
        functions = {
            t: seen[t]["mask_function"] if t in seen else FUNCTIONS.get(t) for t in self.types
        }
        kernels = mask_hub.kernels(n for n in self.attention if n not in self.registered)
        return {
            **({"kernels": kernels} if kernels else {}),
            "transformers": self.transformers.__version__,
            "torch": self.torch.__version__,
            "model_type": str(getattr(self.config, "model_type", "")),
            "requested": self.requested,
            "causal": bool(getattr(self.config, "is_causal", True))
            and getattr(self.config, "use_bidirectional_attention", None) not in (True, "all"),
            "registered": self.registered,
            "unsupported": self.unsupported,
            "layer_types": {t: counted.count(t) for t in self.types},
            "configured": self.configured,
            "probed": self.sizes,
            "width": self.width,
            "layers": layers,
            "layers_why": why,
            "masks": [
                self.mask(name, case, layer_type, function)
                for name in self.attention
                for layer_type, function in functions.items()
                if function is not None and function in FUNCTIONS.values()
                for case in mask_definition.CASES
            ],
            "not_judged": {t: f for t, f in functions.items() if f not in FUNCTIONS.values()},
            "flash_window": self.flash_window(),
            "packed_seen_by_flash": self.packed_seen_by_flash(),
            "cliff": self.cliff(functions),
            "planted": self.planted(functions),
        }

    def layers(self) -> Any:
        """What the model's own layers hand to attention, or why that cannot be seen."""
        try:
            seen, self.unsupported = mask_layers.observe(self.torch, self.transformers, self.config)
        except Exception as error:  # noqa: BLE001 - the model's own code
            return None, "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
        return seen, ""

    def mask(
        self, name: str, case: str, layer_type: str, function: str, **changed: Any
    ) -> Dict[str, Any]:
        """One mask: what kind it is, and what it allows."""
        width = changed.pop("width", self.width)
        given = mask_definition.inputs(self.torch, case, width)
        config = copy.deepcopy(self.config)
        asked = name if name in self.registered else mask_hub.asked_as(name)
        setattr(config, "_attn_implementation", asked)  # noqa: B010 - the way without a look-up
        for size_type, size in self.sizes.items():
            setattr(config, mask_config.SIZES[size_type], size)
        for key, value in changed.items():
            setattr(config, key, value)
        facts = {
            "attention": name,
            "case": case,
            "layer_type": layer_type,
            "function": function,
            "size": self.sizes.get(layer_type),
            "width": width,
            "batch": given["batch"],
        }
        try:
            made = mask_call.call(
                *(self.torch, self.utils, getattr(self.utils, function), config, given),
                positions_passed=self.positions_passed,
            )
        except mask_call.UnknownSignature as error:
            raise mask_config.Refused("unknown_signature", error) from error
        except Exception as error:  # noqa: BLE001 - that the library refuses is an answer
            said = "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
            return dict(facts, kind="raised", raised=said)
        return dict(facts, **self.counted(made, layer_type, given, width))

    def counted(
        self, made: Any, layer_type: str, given: Dict[str, Any], width: int
    ) -> Dict[str, Any]:
        """Say what a mask is, and hold what it allows against the definition."""
        torch = self.torch
        if made is None:
            return {"kind": "none"}
        if hasattr(made, "mask_mod"):
            from torch.nn.attention.flex_attention import create_mask

            allowed = create_mask(made.mask_mod, given["batch"], 1, width, width, device="cpu")
            facts = {"kind": "block", "sparsity": float(made.sparsity())}
        elif not isinstance(made, torch.Tensor):
            return {"kind": type(made).__name__}
        elif made.ndim == 2:
            return {"kind": "2d", "kept": bool((made.bool() == given["real"]).all())}
        else:
            allowed = made if made.dtype is torch.bool else made > torch.finfo(made.dtype).min / 2
            facts = {"kind": "tensor", "dtype": str(made.dtype).replace("torch.", "")}
        wide = allowed[:, 0].expand(given["batch"], -1, -1)
        if wide.shape[-2:] != (width, width):
            return dict(facts, shape=list(made.shape))
        size = self.sizes.get(layer_type)
        return dict(facts, **mask_definition.count(torch, wide, given, layer_type, size))

    def flash_window(self) -> Optional[int]:
        """Positions that flash attention's own keywords allow a row, for the window probed."""
        size = self.sizes.get("sliding_attention")
        if size is None:
            return None
        try:
            told = mask_flash.flash_window(self.torch, size, self.width)
        except Exception:  # noqa: BLE001 - not to be had from this version: unknown
            return None
        return None if told is None else int(told)

    def packed_seen_by_flash(self) -> Optional[bool]:
        """Whether flash attention takes packed documents apart by their positions."""
        positions = mask_definition.inputs(self.torch, "packed", self.width)["positions"]
        try:
            told = mask_flash.packed_apart(self.torch, positions)
        except Exception:  # noqa: BLE001 - not to be had from this version: unknown
            return None
        return None if told is None else bool(told)

    def cliff(self, functions: Dict[str, Any]) -> List[Dict[str, Any]]:
        """The windowed mask without padding, one below the window's width and at it."""
        size = self.sizes.get("sliding_attention")
        function = functions.get("sliding_attention")
        if size is None or size < 9 or function is None or "sdpa" not in self.registered:
            return []
        return [
            self.mask("sdpa", "all_ones", "sliding_attention", function, width=width)
            for width in (size - 1, size)
        ]

    def planted(self, functions: Dict[str, Any]) -> List[Dict[str, Any]]:
        """Three faults on purpose: a window one too wide, the future allowed, no such name."""
        function = functions.get("sliding_attention") or FUNCTIONS["full_attention"]
        unknown = self.mask(UNREGISTERED, "right_pad", next(iter(self.types)), function)
        faults = mask_definition.planted(self.torch, WIDTH_PLAIN)
        return [*faults, dict(unknown, fault="unregistered")]


def up(value: int, step: int) -> int:
    """Round up to a multiple."""
    return -(-value // step) * step
