"""Statements of an engine's source, one after another."""

import ast
from collections.abc import Sequence

from pfid.formats.engine_source.core import Core
from pfid.formats.engine_source.frames import Frame
from pfid.formats.engine_source.shaping import at_place
from pfid.formats.engine_source.values import (
    NOTHING,
    Closure,
    Known,
    Many,
    Row,
    Unseen,
    Values,
    elements,
    one,
    texts,
)
from pfid.formats.python_source.bindings import dotted, imported_from
from pfid.formats.python_source.names import External, Target


class Statements(Core):
    """Goes through statements."""

    def _block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        for statement in body:
            if frame.ended:
                return
            self._statement(statement, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        self._count()
        if isinstance(node, ast.Assign | ast.AnnAssign):
            self._assigned(node, frame)
        elif isinstance(node, ast.Return | ast.Raise):
            self._leave(node, frame)
        elif isinstance(node, ast.Expr):
            self._expression(node.value, frame)
        elif isinstance(node, ast.If):
            self._if(node, frame)
        elif isinstance(node, ast.ClassDef):
            frame.local[node.name] = one(Unseen(f"{node.name} is a class made by a function"))
        elif isinstance(node, ast.FunctionDef):
            frame.local[node.name] = one(Closure(node, frame, id(node)))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, frame)
        else:
            self._compound(node, frame)

    def _assigned(self, node: ast.Assign | ast.AnnAssign, frame: Frame) -> None:
        if node.value is None:
            return
        value = self.value(node.value, frame)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self._assign(target, value, frame)

    def _leave(self, node: ast.Return | ast.Raise, frame: Frame) -> None:
        if isinstance(node, ast.Return):
            frame.returned |= self.value(node.value, frame) if node.value else one(Known(None))
        frame.ended = frame.branch == 0

    def _if(self, node: ast.If, frame: Frame) -> None:
        holds = self.truth(node.test, frame)
        if holds is not None:
            self._block(node.body if holds else node.orelse, frame)
            return
        before = dict(frame.local)
        frame.branch += 1
        self._block(node.body, frame)
        ends = _ends(node.body)
        after = frame.local
        frame.local = dict(before)
        self._block(node.orelse, frame)
        if not ends:
            for name, value in after.items():
                frame.local[name] = frame.local.get(name, NOTHING) | value
        frame.branch -= 1

    def _compound(self, node: ast.stmt, frame: Frame) -> None:
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    value = self.value(item.context_expr, frame)
                    self._assign(item.optional_vars, value, frame)
            self._block(node.body, frame)
            return
        frame.branch += 1
        if isinstance(node, ast.For | ast.AsyncFor):
            self._assign(node.target, elements(self.value(node.iter, frame)), frame)
            self._block(node.body, frame)
            self._block(node.orelse, frame)
        elif isinstance(node, ast.While):
            self._block(node.body, frame)
        elif isinstance(node, ast.Try):
            for body in (node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody):
                self._block(body, frame)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self._block(case.body, frame)
        frame.branch -= 1

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom) and alias.name != "*":
                source = imported_from(node, self.names.package_of(frame.module))
                inside = self.names.inside(source)
                found: Target = (
                    self.names.find(source, alias.name)
                    if inside
                    else External(f"{source}.{alias.name}")
                )
                frame.local[alias.asname or alias.name] = self._target(found)
            elif isinstance(node, ast.Import):
                name = alias.asname or alias.name.partition(".")[0]
                frame.local[name] = one(External(alias.name if alias.asname else name))

    def _assign(self, target: ast.expr, value: Values, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            old = frame.local.get(target.id, NOTHING) if frame.branch else NOTHING
            frame.local[target.id] = value | old
        elif isinstance(target, ast.Attribute):
            if frame.store is not None and self._is_me(target.value, frame):
                old = frame.store.get(target.attr, NOTHING)
                kept = old if frame.branch else NOTHING
                frame.store[target.attr] = value | kept
        elif isinstance(target, ast.Tuple | ast.List):
            for place, inner in enumerate(target.elts):
                self._assign(inner, at_place(value, place, len(target.elts)), frame)
        elif isinstance(target, ast.Subscript):
            self._put(target.value, value, frame)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, one(Many(elements(value))), frame)

    def _put(self, holder: ast.expr, value: Values, frame: Frame) -> None:
        """Something goes into a container that a name or attribute of ours holds."""
        held = self.value(holder, frame)
        grown = frozenset(
            Many(elements(one(v)) | value, getattr(v, "registered", False))
            if isinstance(v, Many | Row)
            else v
            for v in held
        )
        if isinstance(holder, ast.Name):
            frame.local[holder.id] = grown
        elif (
            frame.store is not None
            and isinstance(holder, ast.Attribute)
            and self._is_me(holder.value, frame)
        ):
            frame.store[holder.attr] = grown

    def _expression(self, node: ast.expr, frame: Frame) -> None:
        """A call for its effect."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, holder = node.func.attr, node.func.value
            if name in ("append", "extend", "insert") and node.args:
                value = self.value(node.args[-1], frame)
                self._put(holder, elements(value) if name == "extend" else value, frame)
                return
            if name in ("add_module", "register_module") and self._is_me(holder, frame):
                self._set_attribute(node.args, frame)
                return
        if isinstance(node, ast.Call) and dotted(node.func) == "setattr":
            if node.args and self._is_me(node.args[0], frame):
                self._set_attribute(node.args[1:], frame)
            return
        self.value(node, frame)

    def _set_attribute(self, args: Sequence[ast.expr], frame: Frame) -> None:
        if frame.store is None or len(args) < 2:
            return
        value = self.value(args[1], frame)
        for name in texts(self.value(args[0], frame)) or ("*",):
            frame.store[name] = frame.store.get(name, NOTHING) | value

    def _is_me(self, node: ast.expr, frame: Frame) -> bool:
        if not isinstance(node, ast.Name) or frame.me is None:
            return False
        return frame.me in frame.local.get(node.id, NOTHING)


def _ends(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
