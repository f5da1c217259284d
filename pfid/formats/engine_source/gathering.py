"""Literals, comprehensions and subscripts of an engine's source."""

import ast
from collections.abc import Sequence
from typing import Any

from pfid.formats.engine_source.core import Core
from pfid.formats.engine_source.frames import Frame
from pfid.formats.engine_source.shaping import only
from pfid.formats.engine_source.values import (
    THING,
    Known,
    Made,
    Many,
    ModelConfig,
    Row,
    Table,
    Unseen,
    Value,
    Values,
    elements,
    one,
    texts,
)
from pfid.formats.python_source.names import ClassRef, External


class Gathering(Core):
    """Evaluates what gathers values."""

    def _gathered(self, node: ast.expr, frame: Frame) -> Values:
        found = THING
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            found = self._row(node, frame)
        elif isinstance(node, ast.Dict):
            found = self._dict(node, frame)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            inner = self._comprehended(node.generators, frame)
            found = one(Many(self.value(node.elt, inner)))
        elif isinstance(node, ast.DictComp):
            found = self._dict_comprehended(node, frame)
        elif isinstance(node, ast.BinOp):
            found = self._operated(node, frame)
        elif isinstance(node, ast.Subscript):
            found = self._subscript(node, frame)
        elif isinstance(node, ast.Starred | ast.Await):
            found = self.value(node.value, frame)
        return found

    def _row(self, node: ast.Tuple | ast.List | ast.Set, frame: Frame) -> Values:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return one(Many(frozenset().union(*(self._spread(e, frame) for e in node.elts))))
        return one(Row(tuple(self.value(e, frame) for e in node.elts)))

    def _operated(self, node: ast.BinOp, frame: Frame) -> Values:
        """Sequences put together; everything else that is computed is no module."""
        if not isinstance(node.op, ast.Add | ast.BitOr | ast.Mult):
            return THING
        joined = self._joined(node, frame)
        if joined is not None:
            return joined
        left, right = self.value(node.left, frame), self.value(node.right, frame)
        lists = frozenset(v for v in left | right if isinstance(v, Many | Row | Table | Unseen))
        found = one(Many(elements(lists))) if lists else THING
        unseen = [frozenset(v for v in side if isinstance(v, Unseen)) for side in (left, right)]
        return found | unseen[0] | unseen[1] if all(unseen) else found

    def _joined(self, node: ast.BinOp, frame: Frame) -> Values | None:
        """What ``|`` of two instances comes to, where their class says so."""
        if not isinstance(node.op, ast.BitOr):
            return None
        left = self.value(node.left, frame)
        joins = [v for v in left if isinstance(v, Made) and len(left) == 1]
        if not joins:
            return None
        found: set[Value] = set()
        for method in self._class_attribute(joins[0].kind, joins[0], "__or__"):
            found |= self._called(method, ([self.value(node.right, frame)], {}, False), frame)
        return frozenset(found)

    def _spread(self, node: ast.expr, frame: Frame) -> Values:
        if isinstance(node, ast.Starred):
            return elements(self.value(node.value, frame))
        return self.value(node, frame)

    def _dict(self, node: ast.Dict, frame: Frame) -> Values:
        entries: list[tuple[Any, Values]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            found = self.value(value, frame)
            if key is None:
                for inner in found:
                    entries += inner.entries if isinstance(inner, Table) else [(None, one(inner))]
                continue
            names = texts(self.value(key, frame))
            entries.append((names[0] if len(names) == 1 else None, found))
        return one(Table(tuple(entries)))

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Values:
        holders = self.value(node.value, frame)
        keys = self.value(node.slice, frame) if not isinstance(node.slice, ast.Slice) else THING
        wanted = set(texts(keys))
        found: set[Value] = set()
        for holder in holders:
            if isinstance(holder, Table):
                sure = wanted and not any(not isinstance(k, Known) for k in keys)
                for key, value in holder.entries:
                    if not sure or key is None or key in wanted:
                        found |= value
            elif isinstance(holder, ModelConfig):
                for key in wanted or {""}:
                    found |= self._setting(holder, key)
            elif isinstance(holder, ClassRef | External):
                found.add(holder)  # Generic[T]
            elif isinstance(node.slice, ast.Slice) and isinstance(holder, Many | Row):
                found.add(Many(elements(one(holder)), getattr(holder, "registered", False)))
            else:
                found |= elements(one(holder))
        return frozenset(found)

    def _comprehended(self, generators: Sequence[ast.comprehension], frame: Frame) -> Frame:
        inner = Frame(
            frame.module,
            local=dict(frame.local),
            outer=frame.outer,
            owner=frame.owner,
            me=frame.me,
            store=frame.store,
        )
        for generator in generators:
            self._assign(generator.target, elements(self.value(generator.iter, inner)), inner)
        return inner

    def _dict_comprehended(self, node: ast.DictComp, frame: Frame) -> Values:
        """A dictionary out of a dictionary, entry by entry where those are known."""
        generator = node.generators[0]
        asked = generator.iter.func if isinstance(generator.iter, ast.Call) else None
        items = isinstance(asked, ast.Attribute) and asked.attr == "items"
        single = items and len(node.generators) == 1
        table = only(self.value(asked.value, frame)) if single else None  # type: ignore[union-attr]
        if not isinstance(table, Table) or any(key is None for key, _ in table.entries):
            inner = self._comprehended(node.generators, frame)
            return one(Table(((None, self.value(node.value, inner)),)))
        entries: list[tuple[Any, Values]] = []
        for key, value in table.entries:
            inner = Frame(frame.module, outer=frame)
            self._assign(generator.target, one(Row((one(Known(key)), value))), inner)
            taken = [self.truth(test, inner) for test in generator.ifs]
            if any(way is False for way in taken):
                continue
            names = texts(self.value(node.key, inner))
            sure = len(names) == 1 and None not in taken
            entries.append((names[0] if sure else None, self.value(node.value, inner)))
        return one(Table(tuple(entries)))
