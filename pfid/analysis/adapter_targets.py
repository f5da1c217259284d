"""Which tensors of a checkpoint an adapter changes, whatever class named its modules.

Experts are kept singly in some files and stacked in others, and a class may see them the other way
round: then all of their module's tensors are meant, or the part of one that is the expert's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pfid.analysis.weight_names import EMBEDDING, HEAD, plain

_ONE_EXPERT: Final = re.compile(r"^(?P<of>.*\.experts|experts)\.(?P<n>\d+)\.(?P<leaf>\w+)$")
_STACK: Final = re.compile(r"^(?P<of>.*\.experts|experts)(?:\.(?P<leaf>[A-Za-z_]\w*))?$")
_STACKED_AS: Final = {
    "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj", "down_proj": "down_proj",
    "w1": "gate_up_proj", "w3": "gate_up_proj", "w2": "down_proj",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What should differ.

    Attributes:
        tensors: names of tensors, each with the experts of it that are meant; all if empty.
        unmatched: modules that no tensor belongs to.
    """

    tensors: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()


def targets_of(
    modules: Iterable[str], tensors: Iterable[str], parameters: Sequence[str] = ()
) -> Targets:
    """Find the tensors.

    Args:
        modules: paths as the adapter has them.
        tensors: names in the base's files.
        parameters: parameters that the adapter's configuration targets by name, as those of
            stacked experts.
    """
    lookup = _Lookup(tensors)
    found: dict[str, set[int] | None] = {}
    unmatched = []
    for module in modules:
        hits = lookup.of(plain(module), parameters)
        if not hits:
            unmatched.append(module)
        for name, expert in hits:
            known = found.setdefault(name, set())
            if expert is None or known is None:
                found[name] = None
            else:
                known.add(expert)
    return Targets(
        tensors={name: frozenset(experts or ()) for name, experts in found.items()},
        unmatched=tuple(unmatched),
    )


class _Lookup:
    """Tensors by plain name, and those of experts by the module that holds them."""

    def __init__(self, tensors: Iterable[str]) -> None:
        self._plain = {plain(name): name for name in tensors}
        self._experts: dict[str, list[tuple[str, str]]] = {}
        for short, name in self._plain.items():
            bare = short.removesuffix(".weight")
            single, stack = _ONE_EXPERT.match(bare), _STACK.match(bare)
            if single is not None:
                leaf = _STACKED_AS.get(single["leaf"], single["leaf"])
                self._experts.setdefault(single["of"], []).append((leaf, name))
            elif stack is not None and stack["leaf"]:
                self._experts.setdefault(stack["of"], []).append((stack["leaf"], name))

    def of(self, module: str, parameters: Sequence[str]) -> list[tuple[str, int | None]]:
        """Tensors of a module, each with the one expert that is meant."""
        for short in (f"{module}.weight", module):
            if short in self._plain:
                return [(self._plain[short], None)]
        single, stack = _ONE_EXPERT.match(module), _STACK.match(module)
        if single is not None:
            leaf = _STACKED_AS.get(single["leaf"], single["leaf"])
            return [
                (n, int(single["n"])) for lf, n in self._experts.get(single["of"], ()) if lf == leaf
            ]
        if stack is not None:
            wanted = {stack["leaf"]} if stack["leaf"] else _leaves(module, parameters)
            listed = self._experts.get(stack["of"], ())
            return [(name, None) for leaf, name in listed if not wanted or leaf in wanted]
        if HEAD.search(f"{module.removesuffix('.weight')}.weight"):
            return [(n, None) for short, n in self._plain.items() if EMBEDDING.search(short)]
        return []


def _leaves(module: str, parameters: Sequence[str]) -> set[str]:
    """Parameters of a module that the adapter's configuration names."""
    parts = [parameter.rpartition(".") for parameter in parameters]
    return {leaf for of, _, leaf in parts if not of or module.endswith(plain(of))}
