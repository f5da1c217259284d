"""Whether an engine's rule finds the names of experts for one of its classes."""

import ast
from dataclasses import dataclass

from pfid.formats.engine_source.expert_rule import WANTED, ExpertRule
from pfid.formats.engine_source.module_tree import ModuleTree
from pfid.formats.engine_source.values import Made, Unseen, Value
from pfid.formats.python_source.bindings import dotted
from pfid.formats.python_source.names import ClassRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """What the rule comes to.

    Attributes:
        builds: whether the class builds experts in the engine's eyes; None if nobody can say.
        built: module that does, and where.
        mapped: whether the mapping is found; None if nobody can say.
        provider: class that gives the mapping, and where it stands; "" if none does.
        asked: classes that were asked for it, by module, and whether each has the method.
        doubts: what could not be followed.
    """

    builds: bool | None
    built: str = ""
    mapped: bool | None = None
    provider: str = ""
    asked: tuple[tuple[str, str, bool], ...] = ()
    doubts: tuple[str, ...] = ()


def judge_experts(tree: ModuleTree, rule: ExpertRule) -> Experts:
    """Apply a rule to the modules of a model, walking only as far as it needs."""
    doubts: list[str] = []
    built = ""
    asked = _Asked(tree)
    if not rule.walks:
        asked.all_of(_near(tree, rule))
    for path, value in tree.walk():
        if isinstance(value, Unseen):
            doubts.append(f"{path}: {value.why}")
        if not isinstance(value, Made):
            continue
        if not built and tree.running.lineages.is_a(value.kind, rule.kinds):
            built = _where(path, value)
        if rule.walks and not asked.provider:
            asked.one(path, value)
        if built and (asked.provider or not rule.walks):
            break
    hidden = bool(doubts) if rule.walks else _hidden(tree, rule)
    unsure = bool(asked.unsure) or hidden
    return Experts(
        builds=True if built else (None if doubts else False),
        built=built,
        mapped=True if asked.provider else (None if unsure else False),
        provider=asked.provider,
        asked=tuple((kind.module, kind.name, has) for kind, has in asked.kinds.items()),
        doubts=tuple(dict.fromkeys((*asked.unsure, *doubts))),
    )


class _Asked:
    """Instances asked for the mapping so far."""

    def __init__(self, tree: ModuleTree) -> None:
        self._tree = tree
        self.provider = ""
        self.unsure: list[str] = []
        self.kinds: dict[ClassRef, bool] = {}

    def one(self, path: str, made: Made) -> None:
        found = self._tree.running.lineages.attribute(made.kind, WANTED)
        if not found.doubt:
            self.kinds[made.kind] = found.owner is not None
        sure, said = _provides(self._tree, path, made)
        if sure:
            self.provider = self.provider or said
        elif sure is None:
            self.unsure.append(said)

    def all_of(self, instances: list[tuple[str, Made]]) -> None:
        for path, made in instances:
            self.one(path, made)


def _near(tree: ModuleTree, rule: ExpertRule) -> list[tuple[str, Made]]:
    """The model itself and its direct children, as far as the rule asks them."""
    found = [("", tree.root)] if "class" in rule.looks else []
    if "children" in rule.looks:
        found += [
            (child.name, child.value)
            for child in tree.children(tree.root)
            if isinstance(child.value, Made)
        ]
    return found


def _hidden(tree: ModuleTree, rule: ExpertRule) -> bool:
    """Whether a direct child that the rule would ask could not be seen."""
    if "children" not in rule.looks:
        return False
    return any(isinstance(child.value, Unseen) for child in tree.children(tree.root))


def _provides(tree: ModuleTree, path: str, made: Made) -> tuple[bool | None, str]:
    """Whether an instance gives the mapping; None with why if nobody can say."""
    if WANTED in tree.running.attributes(made):
        return True, _where(path, made)
    found = tree.running.lineages.attribute(made.kind, WANTED)
    if found.doubt:
        return None, f"{_where(path, made)}: {found.doubt}"
    if found.owner is None:
        return False, ""
    if not isinstance(found.node, ast.FunctionDef):
        return None, f"{_where(path, made)}: {WANTED} is no method"
    return _answers(tree, path, made, found.node, found.owner.name)


def _answers(
    tree: ModuleTree, path: str, made: Made, method: ast.FunctionDef, owner: str
) -> tuple[bool | None, str]:
    """Whether the method does more than stand there, or hand on to one that does."""
    body = [s for s in method.body if not _docstring(s)]
    said = f"{owner}.{WANTED}, {_where(path, made)}"
    if not body or all(_empty(s) for s in body):
        return False, ""
    handed = _handed_on(body)
    if handed is None:
        return True, said
    inner = tree.running.attributes(made).get(handed, frozenset())
    answers = [
        _provides(tree, f"{path}.{handed}" if path else handed, value)
        for value in inner
        if isinstance(value, Made)
    ]
    if any(sure for sure, _ in answers):
        return True, said
    return None, f"{said}: it hands on to {handed}, which has none or is not seen"


def _docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _empty(statement: ast.stmt) -> bool:
    """Statements of a method that is only declared, or gives nothing."""
    if isinstance(statement, ast.Pass | ast.Raise):
        return True
    if not isinstance(statement, ast.Return):
        return False
    value = statement.value
    nothing = value is None or (isinstance(value, ast.Constant) and not value.value)
    return nothing or (isinstance(value, ast.List | ast.Tuple) and not value.elts)


def _handed_on(body: list[ast.stmt]) -> str | None:
    """The attribute of ``return self.NAME.get_expert_mapping()``."""
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Return) and isinstance(only.value, ast.Call):
        parts = dotted(only.value.func).split(".")
        if len(parts) == 3 and parts[0] == "self" and parts[2] == WANTED:
            return parts[1]
    return None


def _where(path: str, value: Value) -> str:
    name = value.kind.name if isinstance(value, Made) else "?"
    return f"{name} at {path}" if path else name
