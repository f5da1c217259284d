"""What a step with adapters gets done, and which modules its adapters really sit on.

    python start.py lora_step MODULE:STEP_FACTORY --targets MODULE:FUNCTION --width 4096 --batch 1

``STEP_FACTORY`` returns its step and its model. ``FUNCTION`` is the user's own discovery of target
modules; it is given the model. Says ``ready``, ``model``, then ``timing`` for every repetition.
"""

import argparse
from typing import Any, Dict, List, Optional

from .channel import Refused, say
from .device import chosen, described, torch_here, waiting
from .user_code import call, find
from .user_step import Factory, Step, own

NAMES_MAX = 400
ADAPTER = "lora_"
TOWERS = ("visual", "vision", "audio", "mtp")


def probe(arguments: List[str]) -> None:
    """Measure."""
    asked = _parsed(arguments)
    device = chosen(asked.device)
    torch_here()
    wait = waiting(device)
    factory = Factory(asked.target)
    offered = {"width": asked.width, "batch": asked.batch, "device": device}
    step = factory.step(offered, wait)
    if step.model is None:
        raise Refused("no_model", "the factory returns a step alone, not (step, model)")
    say("ready", **described(device))
    say("model", **facts(step, _declared(asked.targets, step.model)))
    for _ in range(max(0, asked.warm - 1)):
        step.run()
    for _ in range(asked.repeats):
        seconds, targets = step.timed()
        say("timing", seconds=seconds, targets=targets, tokens=asked.width * asked.batch)


def facts(step: Step, declared: Optional[List[str]]) -> Dict[str, Any]:
    """Parameters, and modules that carry trainable ones; runs the step once to see gradients."""
    model = step.model
    parameters = dict(model.named_parameters())
    trainable = {name: p for name, p in parameters.items() if p.requires_grad}
    if not trainable:
        raise Refused("nothing_trainable", "no parameter of the model requires a gradient")
    reached = gradients(step, trainable)
    hit: Dict[str, List[str]] = {}
    for name in trainable:
        hit.setdefault(owner(name), []).append(name)
    untouched = [m for m, names in hit.items() if not any(n in reached for n in names)]
    return {
        "parameters": sum(p.numel() for p in parameters.values()),
        "trainable": sum(p.numel() for p in trainable.values()),
        "adapters": sum(ADAPTER in name for name in trainable),
        "hit": sorted(hit)[:NAMES_MAX],
        "hit_count": len(hit),
        "untouched": sorted(untouched)[:NAMES_MAX],
        "untouched_count": len(untouched),
        "towers": sorted(m for m in hit if is_tower(m))[:NAMES_MAX],
        "declared": declared,
        "missed": [d for d in declared or [] if not any(matches(m, d) for m in hit)],
        "layer_types": layer_types(model),
    }


def gradients(step: Step, trainable: Dict[str, Any]) -> List[str]:
    """Names of parameters that one step gives a gradient."""
    reached: List[str] = []
    handles = []
    for name, parameter in trainable.items():

        def note(_: Any, name: str = name) -> None:
            reached.append(name)

        handles.append(parameter.register_hook(note))
    try:
        step.run()
    finally:
        for handle in handles:
            handle.remove()
    return reached


def owner(name: str) -> str:
    """The module that a parameter belongs to; of an adapter, the module that it adapts."""
    before, found, _ = name.partition("." + ADAPTER)
    return before if found else name.rpartition(".")[0]


def is_tower(module: str) -> bool:
    """Whether a module is of a tower that text does not train."""
    return any(word in part.lower() for part in module.split(".") for word in TOWERS)


def matches(module: str, declared: str) -> bool:
    """Whether a module is one that a declared name means."""
    return module == declared or module.endswith("." + declared)


def layer_types(model: Any) -> Optional[Dict[str, int]]:
    """Number of layers by type, as the model's configuration lists them; None where it does not."""
    config = getattr(model, "config", None)
    text = getattr(config, "get_text_config", None)
    config = text() if callable(text) else config
    listed = getattr(config, "layer_types", None)
    if not listed:
        return None
    found: Dict[str, int] = {}
    for one in listed:
        found[str(one)] = found.get(str(one), 0) + 1
    return found


def _declared(target: Optional[str], model: Any) -> Optional[List[str]]:
    if target is None:
        return None
    name = own(target, "discover_target_modules")
    said = call(find(name), {"model": model}, name)
    if isinstance(said, str):
        return [said]
    try:
        return sorted(str(one) for one in said)
    except TypeError as error:
        raise Refused("no_targets", "%s returned %s" % (name, type(said).__name__)) from error


def _parsed(arguments: List[str]) -> Any:
    parser = argparse.ArgumentParser(prog="lora_step")
    parser.add_argument("target")
    parser.add_argument("--targets")
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    return parser.parse_args(arguments)
