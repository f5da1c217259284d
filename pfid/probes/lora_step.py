"""What a step with adapters gets done, and which modules its adapters really sit on.

    python start.py lora_step MODULE:STEP_FACTORY --targets MODULE:FUNCTION --width 4096 --batch 1

``STEP_FACTORY`` returns its step and its model. ``FUNCTION`` is the user's own discovery of target
modules; it is given the model, and returns names, or a string as PEFT takes it: "all-linear" or a
regular expression of whole names. Says ``ready``, ``model``, then ``timing`` for every repetition.
"""

import argparse
import re
from typing import Any, Dict, Iterable, List, Optional, Union

from .channel import Refused, say
from .device import chosen, described, torch_here, waiting
from .user_code import call, find
from .user_step import Factory, Step, own

NAMES_MAX = 400
ADAPTER = "lora_"
ALL_LINEAR = "all-linear"
NO_TARGETS = (ADAPTER, ".original_module", ".modules_to_save.")
LINEAR = ("Linear", "Conv1D")
WRAPPED = "base_model.model."
HEADS = "num_attention_heads"
NOT_DENSE = (
    *("mamba", "ssm", "state_size", "rwkv", "recurrent", "linear_attn", "linear_attention"),
    *("linear_num", "delta", "retention", "lightning", "lstm", "lru_", "hybrid", "hyena"),
    *("block_type", "attn_layer", "attn_type", "layer_type", "short_conv", "shortconv"),
)
"""In names of configuration keys and of modules' classes: layers that are no attention, or may be
of several types."""
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


def facts(step: Step, declared: Union[str, List[str], None]) -> Dict[str, Any]:
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
    towers = sorted(m for m in hit if is_tower(m))
    untouched = [m for m, names in hit.items() if not any(n in reached for n in names)]
    return {
        "parameters": sum(p.numel() for p in parameters.values()),
        "trainable": sum(p.numel() for p in trainable.values()),
        "adapters": sum(ADAPTER in name for name in trainable),
        "targets": by_suffix(hit),
        "hit_count": len(hit),
        "untouched": sorted(untouched)[:NAMES_MAX],
        "untouched_count": len(untouched),
        "towers": towers[:NAMES_MAX],
        "towers_count": len(towers),
        "declared": [declared] if isinstance(declared, str) else declared,
        "missed": missed(model, declared, hit)[:NAMES_MAX],
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


def by_suffix(modules: Iterable[str]) -> Dict[str, int]:
    """Number of modules by the last part of their names, the most first."""
    found: Dict[str, int] = {}
    for module in modules:
        suffix = module.rpartition(".")[2]
        found[suffix] = found.get(suffix, 0) + 1
    most = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return dict(most[:NAMES_MAX])


def missed(model: Any, declared: Union[str, List[str], None], hit: Iterable[str]) -> List[str]:
    """What was declared and is on no module hit; of "all-linear", the modules left out."""
    names = [plain(m) for m in hit]
    if isinstance(declared, str) and declared.lower() == ALL_LINEAR:
        owners = set(names)
        return [m for m in linear(model) if not owners.intersection(with_parents(m))]
    if isinstance(declared, str):
        found = any(re.fullmatch(declared, m) or matches(m, declared) for m in names)
        return [] if found else [declared]
    return [d for d in declared or [] if not any(matches(m, d) for m in names)]


def plain(module: str) -> str:
    """A module's name in the model that PEFT has wrapped."""
    return module.removeprefix(WRAPPED)


def with_parents(module: str) -> List[str]:
    """A module, and those that it is a part of."""
    parts = module.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def linear(model: Any) -> List[str]:
    """Modules that PEFT means by "all-linear": not the output embedding, nor what is excluded."""
    said = getattr(model, "get_output_embeddings", None)
    output = said() if callable(said) else None
    output = getattr(output, "base_layer", output)
    configs = getattr(model, "peft_config", None)
    excluded = [
        getattr(one, "exclude_modules", None) or []
        for one in (configs.values() if isinstance(configs, dict) else [])
    ]
    return sorted(
        plain(name)
        for name, module in model.named_modules()
        if is_linear(module)
        and module is not output
        and not any(part in name for part in NO_TARGETS)
        and not any(is_excluded(plain(name), one) for one in excluded)
    )


def is_linear(module: Any) -> bool:
    """Whether a module is one of torch's Linear or transformers' Conv1D, or made of one."""
    return any(kind.__name__ in LINEAR for kind in type(module).__mro__)


def is_excluded(module: str, excluded: Union[str, Iterable[str]]) -> bool:
    """Whether a configuration of PEFT leaves a module out."""
    if isinstance(excluded, str):
        return re.fullmatch(excluded, module) is not None
    return any(matches(module, one) for one in excluded)


def layer_types(model: Any) -> Optional[Dict[str, int]]:
    """Number of layers by type; None where the model's configuration does not tell.

    Most configurations of dense models list no types: layers with attention heads are of one type
    where neither the configuration nor a module names anything recurrent.
    """
    config = getattr(model, "config", None)
    text = getattr(config, "get_text_config", None)
    config = text() if callable(text) else config
    listed = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if not listed:
        return dense_layers(model, config)
    found: Dict[str, int] = {}
    for one in listed:
        found[str(one)] = found.get(str(one), 0) + 1
    return found


def dense_layers(model: Any, config: Any) -> Optional[Dict[str, int]]:
    """Layers of a model without a list of their types, if all of them are attention's."""
    said = getattr(config, "to_dict", None)
    keys = said() if callable(said) else {}
    layers, heads = (getattr(config, name, None) for name in ("num_hidden_layers", HEADS))
    if type(layers) is not int or type(heads) is not int or layers < 1 or heads < 1:
        return None
    names = [str(key) for key, value in keys.items() if value is not None]
    names += [kind.__name__ for module in model.modules() for kind in type(module).__mro__]
    if any(word in name.lower() for name in names for word in NOT_DENSE):
        return None
    window = getattr(config, "sliding_window", None)
    used = getattr(config, "use_sliding_window", True)
    return {"sliding_attention" if window and used else "full_attention": layers}


def _declared(target: Optional[str], model: Any) -> Union[str, List[str], None]:
    if target is None:
        return None
    name = own(target, "discover_target_modules")
    said = call(find(name), {"model": model}, name)
    if isinstance(said, str):
        try:
            re.compile(said)
        except re.error as error:
            raise Refused("no_targets", "%s returned %r: %s" % (name, said, error)) from error
        return said
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
