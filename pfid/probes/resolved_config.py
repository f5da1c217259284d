"""What an installed transformers makes of a requested implementation: no weights, no GPU.

Asked: ``{"model": path, "requested": {setting: value}}``. Answer: ``{"transformers": version,
"config": {setting.place: value}, "model": {...} or null, "model_problem": text or null}``.
``config`` is what the configuration alone says; ``model`` what a model of that class, built on the
meta device, settles on once it has looked at what is installed.
"""

import importlib.util
import os
from pathlib import Path
from typing import Any, Dict


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Load the configuration, and build an empty model of it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import transformers

    resolved = _trainer_file("resolved")
    requested = {k: v for k, v in asked.get("requested", {}).items() if v is not None}
    config = transformers.AutoConfig.from_pretrained(asked["model"], **requested)
    said: Dict[str, Any] = {
        "transformers": transformers.__version__,
        "config": resolved.implementations(config),
        "model": None,
        "model_problem": None,
    }
    try:
        said["model"] = resolved.implementations(_empty_model(transformers, config, requested))
    except Exception as error:  # noqa: BLE001 - the configuration's answer stands by itself
        said["model_problem"] = "{}: {}".format(type(error).__name__, error)[:500]
    return said


def _empty_model(transformers: Any, config: Any, requested: Dict[str, Any]) -> Any:
    """The model's configuration once a model of it was made without any memory."""
    import torch

    attention = {k: v for k, v in requested.items() if k == "attn_implementation"}
    last: Exception = ValueError("no class of transformers takes this configuration")
    with torch.device("meta"):
        for kind in ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModel"):
            try:
                return getattr(transformers, kind).from_config(config, **attention).config
            except (AttributeError, ValueError) as error:
                last = error
    raise last


def _trainer_file(name: str) -> Any:
    """A file that a training process imports too, by its place: pfid is not installed here."""
    place = Path(__file__).parents[1] / "trainer" / (name + ".py")
    spec = importlib.util.spec_from_file_location("pfid_trainer_" + name, place)
    if spec is None or spec.loader is None:
        raise ImportError("cannot load {}".format(place))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
