"""What a module's text binds to its names when it is run, and on which conditions."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

_DEFINES: Final = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NEVER_RUN: Final = "TYPE_CHECKING"
_Test = tuple[ast.expr | None, bool]
_When = tuple[_Test, ...]
_NOBODY_KNOWS: Final[_Test] = (None, True)


class SourceError(Exception):
    """A module that cannot be read; the message names it and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One thing a name is bound to.

    Attributes:
        node: a class, a function, or the expression of an assignment; None for an import.
        module: that is imported, or from which the name is; "" for no import.
        attribute: name that is imported from it; "" for the module itself.
        sure: whether it is bound whatever happens.
        when: otherwise each condition around it, with whether it must hold; None stands for an
            attempt or a loop, of which nobody knows.
    """

    node: ast.AST | None = None
    module: str = ""
    attribute: str = ""
    sure: bool = True
    when: tuple[tuple[ast.expr | None, bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceModule:
    """A module's text as names.

    Attributes:
        name: dotted.
        package: in which its relative imports begin.
        bound: what each name may be bound to at the end of the module, in order.
        stars: modules whose every name is taken.
        lazy: whether the module makes up attributes when they are asked for.
    """

    name: str
    package: str = ""
    bound: dict[str, tuple[Binding, ...]] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    lazy: bool = False


def read_module(name: str, text: str, *, package: bool) -> SourceModule:
    """Read a module.

    Args:
        name: dotted.
        text: its source.
        package: whether it is the ``__init__`` of a package, for relative imports.

    Raises:
        SourceError: if it is no Python that this interpreter can parse.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise SourceError(f"{name} cannot be parsed{where}") from error
    gathered = _Gathered(name if package else name.rpartition(".")[0])
    gathered.block(tree.body, ())
    return SourceModule(
        name=name,
        package=gathered.package,
        bound={key: tuple(found) for key, found in gathered.bound.items()},
        stars=tuple(gathered.stars),
        lazy="__getattr__" in gathered.bound,
    )


class _Gathered:
    """Collects bindings in the order in which they are made."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.bound: dict[str, list[Binding]] = {}
        self.stars: list[str] = []

    def block(self, body: Sequence[ast.stmt], when: _When) -> None:
        for statement in body:
            self._statement(statement, when)

    def _statement(self, node: ast.stmt, when: _When) -> None:
        if isinstance(node, _DEFINES):
            self._bind(node.name, Binding(node=node, sure=not when, when=when))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, when)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            self._assign(node, when)
        else:
            for body, runs, test in branches(node):
                self.block(body, when if runs else (*when, test))

    def _assign(self, node: ast.Assign | ast.AnnAssign, when: _When) -> None:
        if node.value is None:
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name, value in _apart(target, node.value):
                self._bind(name, Binding(node=value, sure=not when, when=when))

    def _import(self, node: ast.Import | ast.ImportFrom, when: _When) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                module = alias.name if alias.asname else alias.name.partition(".")[0]
                bound = Binding(module=module, sure=not when, when=when)
                self._bind(alias.asname or module, bound)
                continue
            source = imported_from(node, self.package)
            if alias.name == "*":
                self.stars.append(source)
            else:
                taken = alias.name
                bound = Binding(module=source, attribute=taken, sure=not when, when=when)
                self._bind(alias.asname or alias.name, bound)

    def _bind(self, name: str, binding: Binding) -> None:
        if binding.sure:
            self.bound[name] = [binding]
        else:
            self.bound.setdefault(name, []).append(binding)


def _apart(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Names that an assignment binds, each with what it takes; of ``a, b = pair()`` parts of it."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        listed = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        for place, inner in enumerate(() if starred else target.elts):
            part: ast.expr = ast.Subscript(value, ast.Constant(place))
            if listed and not isinstance(value.elts[place], ast.Starred):  # type: ignore[attr-defined]
                part = value.elts[place]  # type: ignore[attr-defined]
            yield from _apart(inner, part)


def imported_from(node: ast.ImportFrom, package: str) -> str:
    """The module that an import takes names from.

    Args:
        node: the import.
        package: in which relative imports of its module begin.
    """
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return ".".join(part for part in (base, node.module) if part)


def branches(node: ast.stmt) -> Iterator[tuple[Sequence[ast.stmt], bool, _Test]]:
    """Blocks of a compound statement: whether each surely runs, and else what must hold for it."""
    if isinstance(node, ast.If):
        taken = constant_truth(node.test)
        if taken is not False:
            yield node.body, taken is True, (node.test, True)
        if taken is not True:
            yield node.orelse, taken is False, (node.test, False)
    elif isinstance(node, ast.Try):
        attempts = (node.body, *(handler.body for handler in node.handlers), node.orelse)
        yield from ((body, False, _NOBODY_KNOWS) for body in attempts)
        yield node.finalbody, True, _NOBODY_KNOWS
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield node.body, True, _NOBODY_KNOWS
    elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
        yield node.body, False, _NOBODY_KNOWS
        yield node.orelse, False, _NOBODY_KNOWS
    elif isinstance(node, ast.Match):
        yield from ((case.body, False, _NOBODY_KNOWS) for case in node.cases)


def constant_truth(test: ast.expr) -> bool | None:
    """Whether a condition holds at run time; None if that depends on something."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant_truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Constant):
        return bool(test.value)
    named = getattr(test, "id", getattr(test, "attr", ""))
    return False if named == _NEVER_RUN else None


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a chain of names; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def without_none(bound: Iterable[Binding]) -> tuple[Binding, ...]:
    """Bindings but for None, which stands where an import failed and is of no use there."""
    found = tuple(bound)
    kept = [b for b in found if not (isinstance(b.node, ast.Constant) and b.node.value is None)]
    return tuple(kept) or found
