"""How an engine renames what stands in a checkpoint or an adapter (its ``WeightsMapper``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pfid.formats.engine_source.running import Running
from pfid.formats.engine_source.values import Known, Made, Many, Row, Table, Values, one
from pfid.formats.linear_regex import PatternError, compile_bytes

KINDS: Final = ("regex", "substr", "prefix", "suffix")
"""Kinds of rules in the order in which they are applied."""
_DROPPED: Final = "stacked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapper:
    """Renaming rules.

    Attributes:
        rules: kind, what is replaced, and by what; None where the weight is left out.
        problem: why they are not known, "" where they are.
    """

    rules: tuple[tuple[str, str, str | None], ...] = ()
    problem: str = ""

    def map(self, name: str) -> str | None:
        """The engine's name; None for one that the engine leaves out or refuses."""
        for kind, old, new in self.rules:
            if not _applies(kind, old, name):
                continue
            if new is None:
                return None
            name = _replaced(kind, old, new, name)
        return name


def read_mapper(running: Running, root: Made) -> Mapper:
    """The rules that adapters of a model are renamed by."""
    values = running.attribute(root, "hf_to_vllm_mapper")
    made = [v for v in values if isinstance(v, Made)]
    if values <= {Known(None)} or not values:
        return Mapper()
    if len(values) != 1 or not made:
        return Mapper(problem="the class computes hf_to_vllm_mapper")
    renames = running.lineages.attribute(made[0].kind, "get_rename_mapper").owner is not None
    return _rules(made[0], renames=renames)


def _rules(made: Made, *, renames: bool) -> Mapper:
    given: Mapping[str, Values] = dict(made.given)
    tables = {name.removeprefix("orig_to_new_"): value for name, value in given.items()}
    strange = [n for n, v in tables.items() if n not in (*KINDS, _DROPPED) and not _empty(v)]
    if strange or not made.sure:
        return Mapper(problem=f"hf_to_vllm_mapper has rules of a kind not known: {strange[:3]}")
    rules: list[tuple[str, str, str | None]] = []
    for kind in KINDS:
        entries = _entries(tables.get(kind, one(Table(()))))
        if entries is None:
            return Mapper(problem=f"hf_to_vllm_mapper computes orig_to_new_{kind}")
        kept = [(old, new) for old, new in entries if not (renames and new is None)]
        rules += [(kind, old, new) for old, new in kept]
    for kind, old, _ in rules:
        if kind == "regex" and not _compiles(old):
            return Mapper(problem="hf_to_vllm_mapper has a pattern that is not regular")
    return Mapper(rules=tuple(rules))


def _empty(value: Values) -> bool:
    return all(
        (isinstance(v, Table) and not v.entries) or (isinstance(v, Row | Many) and not v.items)
        for v in value
    )


def _entries(value: Values) -> list[tuple[str, str | None]] | None:
    tables = [v for v in value if isinstance(v, Table)]
    if len(value) != 1 or len(tables) != 1:
        return None
    found: list[tuple[str, str | None]] = []
    for key, replaced in tables[0].entries:
        known = [v.value for v in replaced if isinstance(v, Known)]
        fine = len(known) == 1 == len(replaced) and isinstance(known[0], str | None)
        if not isinstance(key, str) or not fine:
            return None
        found.append((key, known[0]))
    return found


def _applies(kind: str, old: str, name: str) -> bool:
    if kind == "regex":
        return compile_bytes(old.encode()).search(name.encode()) is not None
    held: dict[str, Any] = {
        "substr": old in name,
        "prefix": name.startswith(old),
        "suffix": name.endswith(old),
    }
    return bool(held[kind])


def _replaced(kind: str, old: str, new: str, name: str) -> str:
    if kind == "regex":
        return _substituted(old, new, name)
    if kind == "suffix":
        return name[: len(name) - len(old)] + new
    return name.replace(old, new, 1)


def _substituted(old: str, new: str, name: str) -> str:
    return compile_bytes(old.encode()).sub(new.encode(), name.encode()).decode()


def _compiles(pattern: str) -> bool:
    try:
        compile_bytes(pattern.encode())
    except PatternError:
        return False
    return True
