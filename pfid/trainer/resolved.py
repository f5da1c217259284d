"""What a library settled on, read where training runs, beside what was asked for.

``observe_model(model)`` after loading writes ``resolved.attn_implementation`` and
``resolved.experts_implementation`` of the model's configuration and of every configuration below
it (``resolved.attn_implementation.vision_config``). A resolved name is no consequence: dynamo's
fallback leaves it standing. ``observe_adapter(model)`` belongs behind the training: its values are
consequences.

Standard library only, Python 3.9 syntax, never raises into a training.
"""

import math
from typing import Any, Dict, Iterator, List, Tuple

SETTINGS = ("attn_implementation", "experts_implementation")
DEPTH_MAX = 4
PARAMETERS_MAX = 4096


def implementations(config: Any) -> Dict[str, Any]:
    """What a configuration and all below it settled on, by setting and dotted place.

    Both settings are always there for the configuration itself, None where it has none.
    """
    found = {setting: _plain(getattr(config, "_" + setting, None)) for setting in SETTINGS}
    for place, inner in _below(config, "", DEPTH_MAX):
        for setting in SETTINGS:
            value = getattr(inner, "_" + setting, None)
            if value is not None:
                found["{}.{}".format(setting, place)] = _plain(value)
    return found


def _below(config: Any, place: str, depth: int) -> Iterator[Tuple[str, Any]]:
    """Configurations that are attributes of this one."""
    for name, value in (
        sorted(vars(config).items()) if depth and hasattr(config, "__dict__") else ()
    ):
        if hasattr(value, "_attn_implementation") and not name.startswith("_"):
            inner = "{}.{}".format(place, name).lstrip(".")
            yield inner, value
            yield from _below(value, inner, depth - 1)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)


def adapter_norms(model: Any) -> Dict[str, Any]:
    """Norms of every ``lora_B`` of a model; n 0 without any.

    Returns:
        ``{"n", "zero", "not_finite", "min", "max"}``: how many there are, how many are zero, how
        many are NaN or infinite, and the least and the largest of the others.
    """
    norms: List[float] = []
    for name, parameter in model.named_parameters():
        if "lora_B" in name and len(norms) < PARAMETERS_MAX:
            norms.append(float(parameter.detach().float().norm()))
    finite = [norm for norm in norms if math.isfinite(norm)]
    return {
        "n": len(norms),
        "zero": sum(norm == 0 for norm in norms),
        "not_finite": len(norms) - len(finite),
        "min": min(finite) if finite else None,
        "max": max(finite) if finite else None,
    }


def observe_model(model: Any) -> bool:
    """Write down what a model's configuration, or a configuration itself, settled on."""
    from .observe import observe

    try:
        found = implementations(getattr(model, "config", model))
    except Exception:  # noqa: BLE001 - a foreign class may raise anything
        return False
    written = [observe("resolved." + name, value) for name, value in found.items()]
    return all(written)


def observe_adapter(model: Any) -> bool:
    """Write down the norms of a trained adapter."""
    from .observe import observe

    try:
        return observe("adapter.norm", adapter_norms(model))
    except Exception:  # noqa: BLE001 - likewise
        return False
