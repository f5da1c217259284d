"""How many parameters a model has: all, trained, and those that are only looked up."""

import json
from typing import Any, Dict, Optional

CONFIG_MAX_CHARS = 200_000


def sizes(torch: Any, model: Any) -> Optional[Dict[str, Any]]:
    """Count; None for what is no module of torch.

    An embedding's weight that no other module holds is looked up and multiplied with nothing.
    """
    if not isinstance(model, torch.nn.Module):
        return None
    found: Dict[int, Any] = {}
    multiplied = set()
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            found[id(parameter)] = parameter
            if not isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
                multiplied.add(id(parameter))
    used = [parameter for key, parameter in found.items() if key in multiplied]
    return {
        "parameters": sum(one.numel() for one in found.values()),
        "multiplied": sum(one.numel() for one in used),
        "trained": sum(one.numel() for one in used if one.requires_grad),
        "config": config_of(model),
    }


def config_of(model: Any) -> Optional[Dict[str, Any]]:
    """Its configuration as transformers writes it, if it has one."""
    to_dict = getattr(getattr(model, "config", None), "to_dict", None)
    if not callable(to_dict):
        return None
    try:
        text = json.dumps(to_dict(), default=str)
        whole = json.loads(text) if len(text) <= CONFIG_MAX_CHARS else None
    except Exception:  # noqa: BLE001 - the user's own class
        return None
    return whole if isinstance(whole, dict) else None
