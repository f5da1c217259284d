"""Where each weight of an adapter would go in an engine's model, and which would go nowhere.

An engine takes an adapter whose names end like names of its own, and then looks weights up by its
modules' whole paths: what has another path is dropped without a word, and the adapter does nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from pfid.formats.engine_source.mapper import Mapper, read_mapper
from pfid.formats.engine_source.module_tree import ModuleTree
from pfid.formats.engine_source.values import (
    Made,
    MadeOutside,
    Many,
    Table,
    Unseen,
    Value,
    Values,
    elements,
    one,
    texts,
)
from pfid.formats.python_source.names import ClassRef

PEFT_PREFIX: Final = "base_model.model."
ENDS: Final = (".lora_A.weight", ".lora_B.weight", ".lora_embedding_A", ".lora_embedding_B")
EXAMPLES: Final = 3


class Fate(Enum):
    """What becomes of one adapted module."""

    BOUND = "bound"
    EXPERTS = "experts"
    """It belongs to fused experts, which the rule of experts decides."""
    TOWER = "tower"
    """It stands outside the language model, where adapters are left out."""
    NOWHERE = "nowhere"
    """The engine has no module of the path, and says nothing."""
    REFUSED = "refused"
    """The engine refuses the whole adapter for it."""
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterKeys:
    """Adapted modules by what becomes of them, each with a few examples.

    Attributes:
        counted: how many there are of each.
        examples: as ``name -> path: why``.
    """

    counted: dict[Fate, int] = field(default_factory=dict)
    examples: dict[Fate, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Place:
    fate: Fate
    why: str = ""


def judge_keys(tree: ModuleTree, experts: frozenset[ClassRef], keys: Iterable[str]) -> AdapterKeys:
    """Hold the names of an adapter's weights against a model."""
    told = _Model(tree, experts)
    fates: dict[str, tuple[str, _Place]] = {}
    for key in keys:
        module, path, place = told.place(key)
        fates.setdefault(module, (path, place))
    counted: dict[Fate, int] = {}
    examples: dict[Fate, list[str]] = {}
    for module, (path, place) in sorted(fates.items()):
        counted[place.fate] = counted.get(place.fate, 0) + 1
        shown = examples.setdefault(place.fate, [])
        if len(shown) < EXAMPLES:
            shown.append(f"{module} -> {path}: {place.why}" if place.why else f"{module} -> {path}")
    return AdapterKeys(counted=counted, examples={f: tuple(e) for f, e in examples.items()})


class _Model:
    """What an engine's model says of names."""

    def __init__(self, tree: ModuleTree, experts: frozenset[ClassRef]) -> None:
        self._tree = tree
        self._running = tree.running
        self._experts = experts
        self._linear = self._kinds("linear", "LinearBase")
        self._embedding = self._kinds("vocab_parallel_embedding", "VocabParallelEmbedding")
        self._mapper: Mapper = read_mapper(self._running, tree.root)
        self._packed = self._packing()
        self._skipped = texts(self._running.attribute(tree.root, "lora_skip_prefixes"))
        embeddings = self._running.attribute(tree.root, "embedding_modules")
        self._embeddings = {key for t in embeddings if isinstance(t, Table) for key, _ in t.entries}
        self._language, self._towers_seen = self._language_model()
        self._expected: tuple[frozenset[str], bool] | None = None
        self._known: dict[str, _Place] = {}

    def place(self, key: str) -> tuple[str, str, _Place]:
        """The module a key adapts, its path in the engine, and what becomes of it."""
        end = next((end for end in ENDS if key.endswith(end)), "")
        bare = key.removeprefix(PEFT_PREFIX)
        module = bare[: len(bare) - len(end)]
        if not end:
            return module, module, _Place(Fate.REFUSED, "it is no weight of an adapter")
        if any(bare.startswith(prefix) for prefix in self._skipped):
            return module, module, _Place(Fate.NOWHERE, "the class leaves it out")
        if self._mapper.problem:
            return module, module, _Place(Fate.UNSEEN, self._mapper.problem)
        mapped = self._mapper.map(bare)
        if mapped is None:
            return module, module, _Place(Fate.REFUSED, "the class maps it to nothing")
        path = mapped[: len(mapped) - len(end)] if mapped.endswith(end) else mapped
        if path not in self._known:
            self._known[path] = self._at(path)
        return module, path, self._known[path]

    def _at(self, path: str) -> _Place:
        parts = path.split(".")
        if not self._is_expected(parts):
            return _Place(Fate.REFUSED, f"no module of the class is called {parts[-1]}")
        beside = self._language and not path.startswith(self._language)
        if beside and self._step(one(self._tree.root), parts[0]):
            return _Place(Fate.TOWER, f"adapters go to {self._language} alone")
        found = self._followed(parts)
        if not self._towers_seen and found.fate in (Fate.BOUND, Fate.EXPERTS):
            return _Place(Fate.UNSEEN, "the class computes which part is the language model")
        return found

    def _followed(self, parts: Sequence[str]) -> _Place:
        """Walk the path; everything that a step may come to is followed."""
        at: Values = one(self._tree.root)
        for step, part in enumerate(parts[:-1]):
            doubt = self._beyond(at, parts[:step])
            if doubt is not None:
                return doubt
            at = self._step(at, part)
            if not at:
                return _Place(Fate.NOWHERE, f"there is no {'.'.join(parts[: step + 1])}")
        return self._beyond(at, parts[:-1]) or self._last(at, parts)

    def _beyond(self, at: Values, path: Sequence[str]) -> _Place | None:
        """Whether the walk ends before the path does: among experts, or out of sight."""
        if any(self._is(v, self._experts) for v in at):
            return _Place(Fate.EXPERTS)
        outside = next((v for v in at if isinstance(v, MadeOutside | Unseen)), None)
        inside = any(isinstance(v, Made | Many) for v in at)
        if outside is None or inside:
            return None
        what = outside.name if isinstance(outside, MadeOutside) else outside.why
        return _Place(Fate.UNSEEN, f"{'.'.join(path)} is {what}")

    def _step(self, at: Values, part: str) -> Values:
        found: set[Value] = set()
        for value in at:
            if isinstance(value, Made):
                held = {c.value for c in self._tree.children(value) if c.name == part}
                found |= held or {c.value for c in self._tree.children(value) if c.name == "*"}
            elif isinstance(value, Many):
                found |= {v for v in value.items if _may_hold(v)}
            elif isinstance(value, MadeOutside | Unseen):
                found.add(value)
        return frozenset(found)

    def _last(self, at: Values, parts: Sequence[str]) -> _Place:
        name = parts[-1]
        own = self._step(at, name)
        if any(self._is(v, self._experts) for v in own):
            return _Place(Fate.EXPERTS)
        if any(self._is(v, self._linear) for v in own):
            return _Place(Fate.BOUND)
        if any(self._is(v, self._embedding) for v in own) and name in self._embeddings:
            return _Place(Fate.BOUND)
        for packed, members in self._packed.items():
            if name in members and any(self._is(v, self._linear) for v in self._step(at, packed)):
                return _Place(Fate.BOUND, f"packed into {packed}")
        if any(isinstance(v, MadeOutside | Unseen) for v in (*own, *at)):
            return _Place(Fate.UNSEEN, f"{'.'.join(parts)} is made where nobody can look")
        return _Place(Fate.NOWHERE, f"there is no {'.'.join(parts)} that takes adapters")

    def _is_expected(self, parts: Sequence[str]) -> bool:
        """Whether the engine takes a name that ends like this at all."""
        name = parts[-1]
        among_experts = any(part.startswith("experts") for part in parts[:-1]) or name == "experts"
        if among_experts:
            return True
        if name not in self._packed.get(name, {name}):  # only what is packed into it has names
            return False
        if self._expected is None:
            self._expected = self._gathered()
        known, complete = self._expected
        return name in known or not complete

    def _gathered(self) -> tuple[frozenset[str], bool]:
        """Ends of names that the engine takes, and whether every module was seen."""
        found: set[str] = {key for key in self._embeddings if isinstance(key, str)}
        complete = True
        for path, value in self._tree.walk():
            if isinstance(value, Unseen):
                complete = False
            if not isinstance(value, Made):
                continue
            if self._is(value, self._linear):
                found |= self._adapted(path.rpartition(".")[2])
                continue
            for child in self._tree.children(value):  # layers that hold linear layers of their own
                if self._is(child.value, self._linear):
                    found |= self._adapted(child.name)
        return frozenset(found), complete

    def _adapted(self, name: str) -> frozenset[str]:
        return self._packed.get(name, frozenset({name}))

    def _packing(self) -> dict[str, frozenset[str]]:
        own = self._tables(self._tree.root)
        if own:
            return own
        found: dict[str, frozenset[str]] = {}
        for child in self._tree.children(self._tree.root):
            if isinstance(child.value, Made):
                found |= self._tables(child.value)
        return found

    def _tables(self, made: Made) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for table in self._running.attribute(made, "packed_modules_mapping"):
            for key, value in table.entries if isinstance(table, Table) else ():
                if isinstance(key, str):
                    found[key] = frozenset(texts(elements(value)))
        return found

    def _language_model(self) -> tuple[str, bool]:
        """Prefix of the language model, "" for a model that is one, and whether that is known."""
        if self._running.lineages.attribute(self._tree.root.kind, "get_mm_mapping").owner is None:
            return "", True
        for value in self._running.result(self._tree.root, "get_mm_mapping"):
            given = dict(value.given) if isinstance(value, Made) else {}
            prefixes = texts(given.get("language_model", frozenset()))
            if len(prefixes) == 1:
                return prefixes[0], True
        return "", False

    def _kinds(self, module: str, name: str) -> frozenset[ClassRef]:
        layers = f"{self._running.names.root}.model_executor.layers"
        found = self._running.names.find(f"{layers}.{module}", name)
        return frozenset({found}) if isinstance(found, ClassRef) else frozenset()

    def _is(self, value: Value, kinds: frozenset[ClassRef]) -> bool:
        return isinstance(value, Made) and self._running.lineages.is_a(value.kind, kinds)


def _may_hold(value: Value) -> bool:
    return isinstance(value, Made | MadeOutside | Unseen | Many)
