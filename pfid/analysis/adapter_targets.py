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
_SECOND_HALF: Final = ("up_proj", "w3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a tensor lies in what a module adapts.

    Attributes:
        module: path of the module, as the adapter has it.
        expert: which of stacked matrices the tensor is a part of; None if it is all of them.
        experts: how many are stacked there.
        half: which part of its matrix it is, where gate and up are one.
        halves: how many parts that has.
        part: which of the tensor's stacked matrices the module is a part of; None if the tensor is
            no stack of single experts' modules.
    """

    module: str
    expert: int | None = None
    experts: int = 1
    half: int = 0
    halves: int = 1
    part: int | None = None

    def within(
        self, shape: Sequence[int], runs: Sequence[tuple[int, int]]
    ) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        """The shape of the whole, and runs of elements of the tensor as they lie in it."""
        if self.expert is None or len(shape) != 2:
            return tuple(shape), tuple(runs)
        rows, columns = shape
        shift = (self.expert * self.halves + self.half) * rows * columns
        whole = (self.experts, rows * self.halves, columns)
        return whole, tuple((first + shift, count) for first, count in runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What should differ.

    Attributes:
        tensors: names of tensors, each with the experts of it that are meant; all if empty.
        places: of each tensor, by the modules it belongs to, where that can be told.
        unmatched: modules that no tensor belongs to.
    """

    tensors: Mapping[str, frozenset[int]] = field(default_factory=dict)
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()


def targets_of(
    modules: Iterable[str],
    tensors: Iterable[str],
    parameters: Sequence[str] = (),
    stacks: Mapping[str, int] | None = None,
) -> Targets:
    """Find the tensors.

    Args:
        modules: paths as the adapter has them.
        tensors: names in the base's files.
        parameters: parameters that the adapter's configuration targets by name, as those of
            stacked experts.
        stacks: how many matrices each stacked tensor holds.
    """
    lookup, most = _Lookup(tensors), stacks or {}
    found: dict[str, set[int] | None] = {}
    places: dict[str, list[Place]] = {}
    unmatched = []
    for module in modules:
        hits = [
            (name, expert)
            for name, expert in lookup.of(plain(module), parameters)
            if expert is None or expert < most.get(name, expert + 1)
        ]
        if not hits:
            unmatched.append(module)
        for name, expert in hits:
            place = lookup.place(module, name) if expert is None else lookup.part(module, name)
            places.setdefault(name, []).append(place)
            known = found.setdefault(name, set())
            if expert is None or known is None:
                found[name] = None
            else:
                known.add(expert)
    return Targets(
        tensors={name: frozenset(experts or ()) for name, experts in found.items()},
        places={name: tuple(each) for name, each in places.items()},
        unmatched=tuple(unmatched),
    )


class _Lookup:
    """Tensors by plain name, and those of experts by the module that holds them."""

    def __init__(self, tensors: Iterable[str]) -> None:
        self._plain = {plain(name): name for name in tensors}
        self._experts: dict[str, list[tuple[str, str]]] = {}
        self._stacks: dict[str, list[tuple[str, str]]] = {}
        self._leaves_of: dict[str, list[str]] = {}
        for short, name in self._plain.items():
            bare = short.removesuffix(".weight")
            single, stack = _ONE_EXPERT.match(bare), _STACK.match(bare)
            if single is not None:
                leaf = _STACKED_AS.get(single["leaf"], single["leaf"])
                self._experts.setdefault(single["of"], []).append((leaf, name))
                self._leaves_of.setdefault(single["of"], []).append(single["leaf"])
            elif stack is not None and stack["leaf"]:
                self._experts.setdefault(stack["of"], []).append((stack["leaf"], name))
                self._stacks.setdefault(stack["of"], []).append((stack["leaf"], name))

    def place(self, module: str, name: str) -> Place:
        """Where a tensor lies in what a module adapts: in a stack where the module is one."""
        single = _single(name)
        if single is None or _single(module) is not None:
            return Place(module=module)
        of, n, leaf = single["of"], int(single["n"]), single["leaf"]
        beside = sum(stacked == leaf for stacked in self._leaves_of.get(of, ()))
        joined = _STACKED_AS.get(leaf) == "gate_up_proj"
        return Place(
            module=module,
            expert=n,
            experts=beside,
            half=int(leaf in _SECOND_HALF),
            halves=2 if joined else 1,
        )

    def part(self, module: str, name: str) -> Place:
        """Where the module of a single expert lies in a stacked tensor."""
        single, stack = _single(module), _STACK.match(plain(name).removesuffix(".weight"))
        if single is None or stack is None:
            return Place(module=module)
        joined = stack["leaf"] != single["leaf"] and stack["leaf"] == "gate_up_proj"
        return Place(
            module=module,
            half=int(single["leaf"] in _SECOND_HALF) if joined else 0,
            halves=2 if joined else 1,
            part=int(single["n"]),
        )

    def of(self, module: str, parameters: Sequence[str]) -> list[tuple[str, int | None]]:
        """Tensors of a module, each with the one expert that is meant."""
        for short in (f"{module}.weight", module):
            if short in self._plain:
                return [(self._plain[short], None)]
        single, stack = _ONE_EXPERT.match(module), _STACK.match(module)
        if single is not None:
            leaves = (single["leaf"], _STACKED_AS.get(single["leaf"], ""))
            listed = self._stacks.get(single["of"], ())
            return [(name, int(single["n"])) for leaf, name in listed if leaf in leaves]
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


def unreached(idle: Iterable[str], live: Iterable[str]) -> frozenset[str]:
    """Single experts that nothing changed though others of their layer changed.

    Args:
        idle: modules or tensors that hold what they held.
        live: those that do not.
    """
    reached = {found["of"] for name in live if (found := _single(name)) is not None}
    return frozenset(
        name for name in idle if (found := _single(name)) is not None and found["of"] in reached
    )


def _single(name: str) -> re.Match[str] | None:
    return _ONE_EXPERT.match(plain(name).removesuffix(".weight"))
