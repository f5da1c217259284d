"""The order in which a class looks attributes up, and what it finds: Python's own rule."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pfid.formats.python_source.bindings import branches
from pfid.formats.python_source.names import ClassRef, External, Names, Target, Unresolved

HARMLESS: Final = frozenset({"abc", "collections", "dataclasses", "enum", "typing", "torch"})
"""Packages whose classes define nothing of an engine's."""
DEPTH_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """A class and its bases in order of lookup.

    Attributes:
        classes: of the tree, the class itself first.
        foreign: bases outside the tree that may define anything.
        unknown: bases that nobody can follow, each with why; then the order is not known.
        module: whether torch's ``nn.Module`` is among its bases.
    """

    classes: tuple[ClassRef, ...]
    module: bool = False
    foreign: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of its classes, in order."""
        return tuple(c.name for c in self.classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """What looking an attribute up comes to.

    Attributes:
        owner: the class that defines it; None if none does.
        node: the method, or the expression of an assignment.
        doubt: why nobody can say, "" where there is none.
    """

    owner: ClassRef | None = None
    node: ast.AST | None = None
    doubt: str = ""


class _OrderError(Exception):
    pass


_Base = ClassRef | External


@dataclass
class Lineages:
    """Lineages of one tree, each worked out once."""

    names: Names
    _known: dict[ClassRef, Lineage] = field(default_factory=dict)
    _found: dict[tuple[ClassRef, str], Attribute] = field(default_factory=dict)

    def of(self, target: ClassRef) -> Lineage:
        """The lineage of a class."""
        if target not in self._known:
            self._known[target] = self._worked_out(target)
        return self._known[target]

    def _worked_out(self, target: ClassRef) -> Lineage:
        unknown: list[str] = []
        try:
            order = self._linear(target, (), unknown)
        except _OrderError as error:
            return Lineage(classes=(target,), unknown=(str(error),))
        foreign = [base.name for base in order if isinstance(base, External)]
        return Lineage(
            classes=tuple(base for base in order if isinstance(base, ClassRef)),
            module=any(name.startswith("torch.nn.") for name in foreign),
            foreign=tuple(name for name in dict.fromkeys(foreign) if not _harmless(name)),
            unknown=tuple(dict.fromkeys(unknown)),
        )

    def _linear(
        self, target: _Base, below: tuple[ClassRef, ...], unknown: list[str]
    ) -> list[_Base]:
        """Python's own order (C3); a class outside the tree stands in it without its bases."""
        if isinstance(target, External):
            return [target]
        if target in below or len(below) > DEPTH_MAX:
            raise _OrderError(f"{target.name} is a base of itself")
        bases = list(self._bases(target, unknown))
        orders = [self._linear(base, (*below, target), unknown) for base in bases]
        return [target, *_merged(target, [*orders, bases])]

    def _bases(self, target: ClassRef, unknown: list[str]) -> Iterator[_Base]:
        unknown += [
            f"{target.name} has a metaclass: {ast.unparse(keyword.value)[:60]}"
            for keyword in target.node.keywords
            if keyword.arg == "metaclass" and "ABCMeta" not in ast.unparse(keyword.value)
        ]
        for node in target.node.bases:
            found = self.names.expression(target.module, node)
            if isinstance(found, ClassRef | External):
                yield found
            elif not _builtin(node, found):
                unknown.append(f"base {ast.unparse(node)[:60]} of {target.name}: {_why(found)}")

    def attribute(self, target: ClassRef, name: str) -> Attribute:
        """Look an attribute of a class up as Python would."""
        key = (target, name)
        if key not in self._found:
            self._found[key] = self._looked_up(target, name)
        return self._found[key]

    def _looked_up(self, target: ClassRef, name: str) -> Attribute:
        lineage = self.of(target)
        for owner in lineage.classes:
            found = defined_in(owner.node, name)
            if len(found) > 1:
                return Attribute(doubt=f"{owner.name} defines {name} on conditions")
            if found:
                doubt = "" if owner is lineage.classes[0] else "; ".join(lineage.unknown[:2])
                return Attribute(owner=owner, node=found[-1], doubt=doubt)
        doubts = (*lineage.unknown, *(f"{base} is not in the tree" for base in lineage.foreign))
        return Attribute(doubt="; ".join(doubts[:3]))

    def is_a(self, target: ClassRef, kinds: frozenset[ClassRef]) -> bool:
        """Whether a class is one of these, or made from one."""
        return any(c in kinds for c in self.of(target).classes)


def defined_in(node: ast.ClassDef, name: str) -> list[ast.AST]:
    """What the body of a class may bind a name to, later ones last."""
    found: list[ast.AST] = []
    _body(node.body, name, found, sure=True)
    return found


def _body(body: object, name: str, found: list[ast.AST], *, sure: bool) -> None:
    for statement in body if isinstance(body, list) else ():
        value: ast.AST | None = None
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            value = statement if statement.name == name and not _completes(statement) else None
        elif isinstance(statement, ast.Assign):
            named = [t for t in statement.targets if isinstance(t, ast.Name) and t.id == name]
            value = statement.value if named else None
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
            value = statement.value if isinstance(target, ast.Name) and target.id == name else None
        else:
            for inner, runs, _ in branches(statement):
                _body(inner, name, found, sure=sure and runs)
        if value is not None:
            if sure:
                found.clear()
            found.append(value)


def _completes(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a definition only adds to a property that stands before it."""
    kinds = (d.attr for d in node.decorator_list if isinstance(d, ast.Attribute))
    return any(kind in ("setter", "deleter") for kind in kinds)


def _merged(target: ClassRef, orders: list[list[_Base]]) -> Iterator[_Base]:
    orders = [list(order) for order in orders if order]
    while orders:
        head = next((o[0] for o in orders if not any(o[0] in other[1:] for other in orders)), None)
        if head is None:
            raise _OrderError(f"the bases of {target.name} have no order")
        yield head
        orders = [rest for o in orders if (rest := [c for c in o if c != head])]


def _harmless(name: str) -> bool:
    return name.partition(".")[0] in HARMLESS


def _builtin(node: ast.expr, found: Target) -> bool:
    return isinstance(found, Unresolved) and isinstance(node, ast.Name) and node.id in _BUILTINS


def _why(found: Target) -> str:
    return found.why if isinstance(found, Unresolved) else "it is no class"


_BUILTINS: Final = frozenset(
    {"object", "dict", "list", "tuple", "str", "int", "set", "Exception", "type"}
)
