"""Conditions that a model's configuration decides; None for all others."""

import ast
from typing import Any

from pfid.formats.engine_source.core import ABSENT, Core
from pfid.formats.engine_source.frames import Frame
from pfid.formats.engine_source.platforms import several
from pfid.formats.engine_source.shaping import only
from pfid.formats.engine_source.values import (
    Known,
    ModelConfig,
    Row,
    Thing,
    Unseen,
    Value,
    Values,
    one,
    texts,
)
from pfid.formats.python_source.bindings import dotted


class Conditions(Core):
    """Decides conditions."""

    def truth(self, node: ast.expr, frame: Frame) -> bool | None:
        """Whether a condition holds; None where the configuration does not decide it."""
        found = self.names.holds(node)
        if found is not None:
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand, frame)
            found = None if inner is None else not inner
        elif isinstance(node, ast.BoolOp):
            found = self._several(node, frame)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            found = self._compared(node, frame)
        elif isinstance(node, ast.Call) and dotted(node.func) == "hasattr" and len(node.args) > 1:
            found = self._has(node, frame)
        else:
            found = _bool(self.value(node, frame))
        return found

    def _several(self, node: ast.BoolOp, frame: Frame) -> bool | None:
        return several([self.truth(part, frame) for part in node.values], node.op)

    def _has(self, node: ast.Call, frame: Frame) -> bool | None:
        """``hasattr`` of a configuration: what the file has is there, its class may have more."""
        held = [v for v in self.value(node.args[0], frame) if isinstance(v, ModelConfig)]
        names = texts(self.value(node.args[1], frame))
        there = held and names and self._json((*held[0].path, names[0])) is not ABSENT
        return True if there else None

    def _compared(self, node: ast.Compare, frame: Frame) -> bool | None:
        left, right = self.value(node.left, frame), self.value(node.comparators[0], frame)
        kind = node.ops[0]
        if isinstance(kind, ast.Is | ast.IsNot):
            is_none = _is_none(left) if right == one(Known(None)) else None
            return None if is_none is None else is_none == isinstance(kind, ast.Is)
        a, b = only(left), only(right)
        return _held_against(a, b, kind) if isinstance(a, Known) else None


def _is_none(values: Values) -> bool | None:
    if any(isinstance(v, Unseen | Thing) for v in values):
        return None
    found = {v == Known(None) for v in values}
    return found.pop() if len(found) == 1 else None


def _held_against(a: Known, b: Value | None, kind: ast.cmpop) -> bool | None:
    if isinstance(b, Known) and isinstance(kind, ast.Eq | ast.NotEq):
        return bool(a.value == b.value) == isinstance(kind, ast.Eq)
    if isinstance(b, Known) and isinstance(kind, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return _ordered(a.value, b.value, kind)
    if isinstance(b, Row) and isinstance(kind, ast.In | ast.NotIn):
        among = [only(v) for v in b.items]
        sure = all(isinstance(v, Known) for v in among)
        return (a in among) == isinstance(kind, ast.In) if sure else None
    return None


def _bool(values: Values) -> bool | None:
    known = {bool(v.value) if isinstance(v, Known) else None for v in values}
    return known.pop() if len(known) == 1 else None


def _ordered(a: Any, b: Any, kind: ast.cmpop) -> bool | None:
    numbers = all(isinstance(n, int | float) for n in (a, b))
    if not numbers:
        return None
    signs = {ast.Gt: a > b, ast.GtE: a >= b, ast.Lt: a < b, ast.LtE: a <= b}
    return bool(signs[type(kind)])
