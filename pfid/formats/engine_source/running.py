"""Runs constructors of an engine on paper: every way they may go, with the model's configuration.

Nothing of the engine is executed. Conditions that only the model's configuration decides are
decided, all others go both ways; whatever cannot be followed is ``Unseen``.
"""

import ast
from collections.abc import Mapping
from typing import Final

from pfid.formats.engine_source.attributes import Attributes
from pfid.formats.engine_source.calling import Calling
from pfid.formats.engine_source.conditions import Conditions
from pfid.formats.engine_source.frames import Frame
from pfid.formats.engine_source.gathering import Gathering
from pfid.formats.engine_source.statements import Statements
from pfid.formats.engine_source.values import (
    NOTHING,
    Closure,
    Known,
    Made,
    Unseen,
    Value,
    Values,
    one,
)
from pfid.formats.python_source.names import FunctionRef

_CONDITIONS: Final = (ast.BoolOp, ast.Call, ast.Compare, ast.UnaryOp)


class Running(Conditions, Gathering, Attributes, Calling, Statements):
    """Runs one engine's constructors for one model."""

    def attributes(self, made: Made) -> Mapping[str, Values]:
        """Attributes that a constructor gives an instance, by name; ``*`` for what is not seen."""
        if made in self._built:
            return self._built[made]
        if made in self._building:
            return self._building[made]
        store: dict[str, Values] = {}
        self._building[made] = store
        found = self.lineages.attribute(made.kind, "__init__")
        if found.doubt and self.lineages.of(made.kind).unknown:
            store["*"] = one(Unseen(found.doubt))
        if isinstance(found.node, ast.FunctionDef) and found.owner is not None:
            frame = Frame(found.owner.module, owner=found.owner, me=made, store=store)
            self._bind(found.node, frame, ([], dict(made.given), not made.sure), own=True)
            self._call_body(found.node.body, frame)
        del self._building[made]
        self._built[made] = store
        return store

    def attribute(self, made: Made, name: str) -> Values:
        """What reading an attribute of an instance may give; nothing if it has none."""
        if name in self.attributes(made):
            return self.attributes(made)[name]
        found = self.lineages.attribute(made.kind, name)
        if found.doubt:
            return one(Unseen(found.doubt))
        if found.owner is None or found.node is None:
            return NOTHING
        return self._member(found.owner, found.node, made)

    def result(self, made: Made, method: str) -> Values:
        """What a method without arguments may give back."""
        found: set[Value] = set()
        for value in self.attribute(made, method):
            found |= self._called(value, ([], {}, False), Frame(""))
        return frozenset(found)

    def given(self, function: FunctionRef, value: Values) -> Values:
        """What a function may give back for one argument."""
        return self._called(function, ([value], {}, False), Frame(""))

    def value(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression may come to."""
        self._count()
        decided = self.names.holds(node) if isinstance(node, _CONDITIONS) else None
        if decided is not None:
            found = one(Known(decided))
        elif isinstance(node, ast.Constant):
            found = one(Known(node.value))
        elif isinstance(node, ast.Name):
            found = self._name(node.id, frame)
        elif isinstance(node, ast.Attribute):
            found = self._attribute_of(self.value(node.value, frame), node.attr, frame)
        elif isinstance(node, ast.Call):
            found = self._call(node, frame)
        elif isinstance(node, ast.IfExp | ast.BoolOp):
            found = frozenset().union(*(self.value(way, frame) for way in self._ways(node, frame)))
        elif isinstance(node, ast.Lambda):
            found = one(Closure(node, frame, id(node)))
        elif isinstance(node, ast.NamedExpr):
            found = self.value(node.value, frame)
            self._assign(node.target, found, frame)
        else:
            found = self._gathered(node, frame)
        return found

    def _ways(self, node: ast.IfExp | ast.BoolOp, frame: Frame) -> list[ast.expr]:
        if isinstance(node, ast.BoolOp):
            return node.values
        holds = self.truth(node.test, frame)
        if holds is None:
            return [node.body, node.orelse]
        return [node.body if holds else node.orelse]
