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
import inspect
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional

WINDOW_MAX = 4096
"""A larger window is probed at WINDOW_PROBED: one definition, and its mask would not fit."""
WINDOW_PROBED = 1024
WIDTH_PLAIN = 512
BLOCK = 128
UNREGISTERED = "pfid_unregistered"
CASES = ("none", "all_ones", "right_pad", "left_pad", "packed")
FUNCTIONS = {
    "full_attention": "create_causal_mask",
    "sliding_attention": "create_sliding_window_causal_mask",
    "chunked_attention": "create_chunked_causal_mask",
}
"""By layer types whose mask this file can define; what others call is only told."""
SIZES = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """Nothing can be told; a code and a detail."""


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Tell what is known of every mask, or why nothing is."""
    warnings.simplefilter("ignore")
    try:
        return Masks(str(asked["model"]), asked.get("attention"), asked.get("width")).told()
    except Refused as refused:
        code, detail = [*refused.args, ""][:2]
        return {"refused": code, "detail": " ".join(str(detail).split())[:500]}


class Masks:
    """One model's configuration, asked for all its masks."""

    def __init__(self, model: str, attention: Optional[List[str]], width: Optional[int]) -> None:
        """Load the configuration; nothing of a model that brings its own code is executed."""
        self.torch, self.utils, self.transformers = libraries()
        self.whole = load_config(self.transformers, model)
        self.config = self.whole.get_text_config()
        self.types = layer_types(self.config)
        self.configured = {
            t: getattr(self.config, SIZES[t], None) for t in self.types if t in SIZES
        }
        self.sizes = {
            t: WINDOW_PROBED if size > WINDOW_MAX else size
            for t, size in self.configured.items()
            if isinstance(size, int) and size > 0
        }
        widest = max(self.sizes.values(), default=0)
        self.width = width or (up(widest + max(widest // 4, 2), BLOCK) if widest else WIDTH_PLAIN)
        if self.width < 8 or self.width > 2 * WINDOW_MAX:
            raise Refused("bad_width", "from 8 to %d" % (2 * WINDOW_MAX))
        registry = getattr(self.utils.ALL_MASK_ATTENTION_FUNCTIONS, "_global_mapping")  # noqa: B009
        self.registered = sorted(str(name) for name in registry)
        self.attention = list(attention) if attention else list(self.registered)
        self.unsupported: List[str] = []
        self.positions_passed = True

    def told(self) -> Dict[str, Any]:
        """Ask everything."""
        layers, why = self.layers()
        seen = {one["type"]: one for one in layers or [] if one.get("mask_function")}
        self.positions_passed = all(one.get("positions", True) for one in seen.values())
        functions = {
            t: seen[t]["mask_function"] if t in seen else FUNCTIONS.get(t) for t in self.types
        }
        return {
            "transformers": self.transformers.__version__,
            "torch": self.torch.__version__,
            "model_type": str(getattr(self.config, "model_type", "")),
            "requested": getattr(self.whole, "_attn_implementation", None),
            "causal": bool(getattr(self.config, "is_causal", True))
            and getattr(self.config, "use_bidirectional_attention", None) not in (True, "all"),
            "registered": self.registered,
            "unsupported": self.unsupported,
            "layer_types": {t: layer_types(self.config, counted=True).count(t) for t in self.types},
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
                for case in CASES
            ],
            "not_judged": {t: f for t, f in functions.items() if f not in FUNCTIONS.values()},
            "flash_window": self.flash_window(),
            "packed_seen_by_flash": self.packed_seen_by_flash(),
            "cliff": self.cliff(functions),
            "planted": self.planted(functions),
        }

    def layers(self) -> Any:
        """What the model's own layers hand to attention, or why that cannot be seen."""
        observer = sibling("mask_layers")
        try:
            seen, self.unsupported = observer.observe(self.torch, self.transformers, self.config)
        except Exception as error:  # noqa: BLE001 - the model's own code
            return None, "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
        return seen, ""

    def mask(
        self, name: str, case: str, layer_type: str, function: str, **changed: Any
    ) -> Dict[str, Any]:
        """One mask: what kind it is, and what it allows."""
        width = changed.pop("width", self.width)
        given = self.inputs(case, width)
        config = copy.deepcopy(self.config)
        setattr(config, "_attn_implementation", name)  # noqa: B010 - the way without a look-up
        for size_type, size in self.sizes.items():
            setattr(config, SIZES[size_type], size)
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
            made = self.call(getattr(self.utils, function), config, given)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 - that the library refuses is an answer
            said = "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
            return dict(facts, kind="raised", raised=said)
        return dict(facts, **self.counted(made, layer_type, given, width))

    def inputs(self, case: str, width: int) -> Dict[str, Any]:
        """Two rows, the second half padding; or one row of three documents."""
        torch = self.torch
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

    def call(self, function: Any, config: Any, given: Dict[str, Any]) -> Any:
        """Call a mask function with what its own signature asks for."""
        torch = self.torch
        width = given["positions"].shape[1]
        known = {
            "config": config,
            "attention_mask": given["mask"],
            "cache": None,
            "past_key_values": None,
            "cache_position": torch.arange(width),
            "position_ids": given["positions"] if self.positions_passed else None,
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
            raise Refused("unknown_signature", said)
        with uncompiled(self.utils):
            return function(**{name: value for name, value in known.items() if name in parameters})

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
        return dict(facts, **count(torch, wide, given, layer_type, self.sizes.get(layer_type)))

    def flash_window(self) -> Optional[int]:
        """Positions that flash attention's own keywords allow a row, for the window probed."""
        size = self.sizes.get("sliding_attention")
        if size is None:
            return None
        try:
            told = sibling("mask_layers").flash_window(self.torch, size, self.width)
        except Exception:  # noqa: BLE001 - not to be had from this version: unknown
            return None
        return None if told is None else int(told)

    def packed_seen_by_flash(self) -> Optional[bool]:
        """Whether flash attention takes packed documents apart by their positions."""
        positions = self.inputs("packed", self.width)["positions"]
        try:
            told = sibling("mask_layers").packed_apart(self.torch, positions)
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
        torch = self.torch
        given = self.inputs("right_pad", WIDTH_PLAIN)
        real, window = given["real"], WIDTH_PLAIN // 4
        wide = defined(torch, WIDTH_PLAIN, "sliding_attention", window + 1, given)
        above = torch.ones(WIDTH_PLAIN - 1, dtype=torch.bool).diag(1)
        ahead = defined(torch, WIDTH_PLAIN, "sliding_attention", window, given)
        ahead = ahead | (above & real[:, None, :])
        base = {
            "case": "right_pad",
            "layer_type": "sliding_attention",
            "width": WIDTH_PLAIN,
            "size": window,
            "attention": "sdpa",
            "batch": 2,
            "kind": "tensor",
        }
        sliding = "sliding_attention"
        function = functions.get(sliding) or FUNCTIONS["full_attention"]
        unknown = self.mask(UNREGISTERED, "right_pad", next(iter(self.types)), function)
        return [
            dict(base, fault="window_off_by_one", **count(torch, wide, given, sliding, window)),
            dict(base, fault="not_causal", **count(torch, ahead, given, sliding, window)),
            dict(unknown, fault="unregistered"),
        ]


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


def libraries() -> Any:
    """Import what is looked at."""
    try:
        import torch
    except ImportError as error:
        raise Refused("no_torch", error) from error
    try:
        import transformers
    except ImportError as error:
        raise Refused("no_transformers", error) from error
    try:
        from transformers import masking_utils
    except ImportError as error:
        raise Refused("old_transformers", transformers.__version__) from error
    quiet: Any = transformers.logging.set_verbosity_error
    quiet()
    torch.set_num_threads(1)  # threads that wait for each other on a busy box take longer
    return torch, masking_utils, transformers


def load_config(transformers: Any, model: str) -> Any:
    """Read a configuration; code that comes with a model is never executed."""
    path = Path(model)
    if path.is_dir() and not (path / "config.json").is_file():
        raise Refused("no_config", "no config.json in that folder")
    if not path.exists() and (
        path.is_absolute() or model.startswith(".") or model.endswith(".json")
    ):
        raise Refused("no_config", "there is no such file")
    try:
        return transformers.AutoConfig.from_pretrained(model, trust_remote_code=False)
    except Exception as error:  # the library's many ways to refuse
        text = str(error)
        code = "remote_code" if "trust_remote_code" in text else "no_config"
        raise Refused(code, text) from error


def layer_types(config: Any, *, counted: bool = False) -> List[str]:
    """Layer types: as the configuration lists them, else as mask creation derives them."""
    listed = getattr(config, "layer_types", None)
    if listed:
        return [str(t) for t in listed] if counted else list(dict.fromkeys(str(t) for t in listed))
    kind = "full_attention"
    for one, size in SIZES.items():
        if getattr(config, size, None) is not None:
            kind = one
            break
    if not counted:
        return [kind]
    return [kind] * int(getattr(config, "num_hidden_layers", 1) or 1)


def up(value: int, step: int) -> int:
    """Round up to a multiple."""
    return -(-value // step) * step


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
