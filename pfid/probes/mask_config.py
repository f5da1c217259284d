"""What masks are made of: the installed libraries, and a model's configuration as they read it."""

from pathlib import Path
from typing import Any, List

SIZES = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
"""Where the configuration keeps how far a layer of that type looks."""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """Nothing can be told; a code and a detail."""


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
