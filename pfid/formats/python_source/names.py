"""Follows a name through imports to what it stands for, over modules that are read as needed."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pfid.formats.python_source.bindings import (
    Binding,
    SourceError,
    SourceModule,
    constant_truth,
    dotted,
    without_none,
)

STEPS_MAX: Final = 64
NO_SUCH: Final = " nowhere"
"""How the words about a name end that a module does not have."""


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of the tree: where it stands, and its text."""

    module: str
    name: str
    node: ast.ClassDef = field(repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function of the tree."""

    module: str
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the tree."""

    name: str


@dataclass(frozen=True, slots=True)
class ValueRef:
    """A value that a module computes."""

    module: str
    node: ast.expr = field(repr=False)


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the tree, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that nobody can follow without running code, why, and the module that has it."""

    why: str
    module: str = ""

    @property
    def absent(self) -> bool:
        """Whether there is just no such name, as far as anybody can see."""
        return self.why.endswith(NO_SUCH)


Target = ClassRef | FunctionRef | ModuleRef | ValueRef | External | Unresolved


class Names:
    """Names of one tree of packages.

    Attributes:
        root: the package that the tree is.
        holds: tells whether a condition holds; None where it cannot.
    """

    def __init__(
        self,
        root: str,
        read: Callable[[str], SourceModule | None],
        holds: Callable[[ast.expr], bool | None] = constant_truth,
    ) -> None:
        """Nothing is read yet.

        Args:
            root: name of the tree's package.
            read: reads a module; None where the tree has none of the name, and
                :class:`SourceError` where it has one that cannot be read.
            holds: see the attribute.
        """
        self.root = root
        self.holds = holds
        self._read = read
        self._asked: dict[tuple[str, str], Target] = {}

    def inside(self, module: str) -> bool:
        """Whether a module belongs to the tree."""
        return module == self.root or module.startswith(f"{self.root}.")

    def package_of(self, module: str) -> str:
        """In which package relative imports of a module begin."""
        try:
            source = self._read(module)
        except SourceError:
            source = None
        return source.package if source is not None else module.rpartition(".")[0]

    def find(self, module: str, path: str) -> Target:
        """What a dotted name stands for where a module uses it."""
        first, *rest = path.split(".")
        target = self._name(module, first, ())
        for attribute in rest:
            target = self._attribute(target, attribute)
        return target

    def expression(self, module: str, node: ast.expr) -> Target:
        """What an expression of a class or function stands for, if it is a name."""
        if isinstance(node, ast.Subscript):  # Generic[T]
            return self.expression(module, node.value)
        path = dotted(node)
        if not path:
            return Unresolved(f"{module} computes it: {ast.unparse(node)[:80]}")
        return self.find(module, path)

    def _attribute(self, target: Target, name: str) -> Target:
        if isinstance(target, External):
            return External(f"{target.name}.{name}")
        if isinstance(target, ModuleRef):
            return self._name(target.name, name, ())
        if isinstance(target, ClassRef):
            return _nested(target, name)
        if isinstance(target, Unresolved):
            return target
        return Unresolved(f"{name} is an attribute of something computed")

    def _name(self, module: str, name: str, trail: tuple[tuple[str, str], ...]) -> Target:
        key = (module, name)
        if key in self._asked:
            return self._asked[key]
        if key in trail or len(trail) > STEPS_MAX:
            return Unresolved(f"{name} is imported in a circle: {module}")
        found = self._looked_up(module, name, (*trail, key))
        self._asked[key] = found
        return found

    def _looked_up(self, module: str, name: str, trail: tuple[tuple[str, str], ...]) -> Target:
        try:
            source = self._read(module)
        except SourceError as error:
            return Unresolved(str(error))
        if source is None:
            return Unresolved(f"{module} is not in the tree")
        bound = without_none(self._holding(source.bound.get(name, ())))
        if bound:
            return self._one_of(source, name, bound, trail)
        for star in source.stars:
            found = self._through_star(star, name, trail)
            if found is not None:
                return found
        return self._submodule(source, name)

    def _holding(self, bound: tuple[Binding, ...]) -> tuple[Binding, ...]:
        """Those bindings that stand at the end, as far as their conditions are decided."""
        kept: list[Binding] = []
        for one in bound:
            came = [None if test is None else self.holds(test) for test, _ in one.when]
            fits = [c is wanted for c, (_, wanted) in zip(came, one.when, strict=True)]
            if all(fits):
                kept = [one]
            elif all(fit or c is None for fit, c in zip(fits, came, strict=True)):
                kept.append(one)
        return tuple(kept)

    def _through_star(
        self, star: str, name: str, trail: tuple[tuple[str, str], ...]
    ) -> Target | None:
        if not self.inside(star):
            return None if name.startswith("_") else Unresolved(f"{name} may come from {star}.*")
        found = self._name(star, name, trail)
        return None if isinstance(found, Unresolved) and found.absent else found

    def _submodule(self, source: SourceModule, name: str) -> Target:
        try:
            below = self._read(f"{source.name}.{name}")
        except SourceError as error:
            return Unresolved(str(error))
        if below is not None:
            return ModuleRef(below.name)
        if source.lazy:
            return Unresolved(f"{source.name} makes {name} up when it is asked for", source.name)
        return Unresolved(f"{source.name} binds {name}{NO_SUCH}")

    def _one_of(
        self,
        source: SourceModule,
        name: str,
        bound: tuple[Binding, ...],
        trail: tuple[tuple[str, str], ...],
    ) -> Target:
        """What the name is bound to, if every way to bind it comes to the same."""
        found = {self._bound(source, name, one, trail) for one in bound}
        if len(found) == 1:
            return found.pop()
        return Unresolved(f"{source.name} defines {name} on conditions, in {len(found)} ways")

    def _bound(
        self,
        source: SourceModule,
        name: str,
        binding: Binding,
        trail: tuple[tuple[str, str], ...],
    ) -> Target:
        node = binding.node
        if isinstance(node, ast.ClassDef):
            return ClassRef(source.name, node.name, node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return FunctionRef(source.name, name, node)
        if isinstance(node, ast.expr):
            alias = isinstance(node, ast.Name) and node.id != name
            computed = ValueRef(source.name, node)
            return self._name(source.name, dotted(node), trail) if alias else computed
        return self._imported(binding, trail)

    def _imported(self, binding: Binding, trail: tuple[tuple[str, str], ...]) -> Target:
        if not self.inside(binding.module):
            return External(".".join(p for p in (binding.module, binding.attribute) if p))
        if not binding.attribute:
            return ModuleRef(binding.module)
        return self._name(binding.module, binding.attribute, trail)


def _nested(target: ClassRef, name: str) -> Target:
    for statement in target.node.body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return ClassRef(target.module, f"{target.name}.{name}", statement)
    return Unresolved(f"{target.name}.{name} is no nested class")
