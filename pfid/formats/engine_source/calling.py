"""Calls of an engine's source: functions, methods, constructors, and inner models."""

import ast
from collections.abc import Sequence
from typing import Final

from pfid.formats.engine_source.core import Core
from pfid.formats.engine_source.frames import DEPTH_MAX, Call, Frame
from pfid.formats.engine_source.outside import inner_values, made_outside
from pfid.formats.engine_source.shaping import plain, shallow
from pfid.formats.engine_source.values import (
    NOTHING,
    THING,
    Closure,
    Contents,
    EngineConfig,
    Made,
    Many,
    Method,
    ModelConfig,
    Row,
    Super,
    Table,
    Thing,
    Unseen,
    Value,
    Values,
    elements,
    one,
    texts,
)
from pfid.formats.python_source.bindings import dotted
from pfid.formats.python_source.names import ClassRef, External, FunctionRef

GIVEN_DEPTH: Final = 2
"""How deep arguments of arguments are kept; deeper ones would tell instances apart for ever."""
SETTINGS: Final = "config"
"""Package of an engine that reads its own settings: no module comes from it."""
REGISTERED: Final = "init_vllm_registered_model"
"""The engine's own way to build an inner model by the name of its class in the registry."""
_ITERATING: Final = ("list", "tuple", "set", "reversed", "sorted", "iter")
_BUILTIN_CALLS: Final = frozenset(
    {*_ITERATING, "getattr", "next", "enumerate", "zip", "dict", "type", "isinstance", "issubclass"}
    | {"len", "range", "int", "float", "str", "bool", "min", "max", "sum", "abs", "any", "all"}
    | {"print", "hasattr", "id"}
)
"""Functions of Python's own that are known here; all others give no module."""


class Calling(Core):
    """Evaluates calls."""

    def _call(self, node: ast.Call, frame: Frame) -> Values:
        name = dotted(node.func)
        if name == "super" and frame.me is not None and frame.owner is not None:
            return one(Super(frame.owner, frame.me))
        call = self._arguments(node, frame)
        if name in _BUILTIN_CALLS and name not in frame.local:
            return self._builtin(name, call, frame)
        found: set[Value] = set()
        for callee in self.value(node.func, frame):
            found |= self._called(callee, call, frame)
        return frozenset(found)

    def _arguments(self, node: ast.Call, frame: Frame) -> Call:
        more = False
        given: list[Values] = []
        named: dict[str, Values] = {}
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                more = True
            else:
                given.append(self.value(argument, frame))
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                named[keyword.arg] = value
                continue
            tables = [v for v in value if isinstance(v, Table)]
            more = more or len(tables) != len(value)
            for table in tables:
                more = more or any(key is None for key, _ in table.entries)
                named |= {key: inner for key, inner in table.entries if key is not None}
        return given, named, more

    def _builtin(self, name: str, call: Call, frame: Frame) -> Values:
        given, named, _ = call
        inner = elements(given[0]) if given else NOTHING
        found = THING
        if name == "getattr" and len(given) > 1:
            found = self._getattr(given, frame)
        elif name in _ITERATING:
            found = one(Many(inner))
        elif name == "next":
            found = inner
        elif name == "enumerate":
            found = one(Many(one(Row((THING, inner)))))
        elif name == "zip":
            found = one(Many(one(Row(tuple(elements(g) for g in given)))))
        elif name == "dict":
            found = one(Table(tuple(named.items())))
        elif name == "type" and given:
            found = frozenset(v.kind if isinstance(v, Made) else Thing() for v in given[0])
        return found

    def _getattr(self, given: list[Values], frame: Frame) -> Values:
        names = texts(given[1])
        if not names:
            return one(Unseen("an attribute is asked for by a name that is computed"))
        found = frozenset().union(*(self._attribute_of(given[0], name, frame) for name in names))
        default = given[2] if len(given) > 2 else NOTHING
        return found | default if Thing() in found else found

    def _called(self, callee: Value, call: Call, frame: Frame) -> Values:
        found = THING  # what a module gives when it is called is no module
        if isinstance(callee, ClassRef):
            found = one(self._constructed(callee, call))
        elif isinstance(callee, FunctionRef):
            found = self._run_function(callee, call)
        elif isinstance(callee, Method):
            found = self._run_method(callee, call, frame)
        elif isinstance(callee, Closure):
            found = self._run_closure(callee, call)
        elif isinstance(callee, External):
            found = made_outside(callee.name, call)
        elif isinstance(callee, Contents):
            found = one(Many(inner_values(callee.of)))
        elif isinstance(callee, Unseen):
            found = one(callee).union(*call[0])
        return found

    def _constructed(self, kind: ClassRef, call: Call) -> Made:
        given, named, more = call
        found = self.lineages.attribute(kind, "__init__")
        pairs = dict(named)
        if isinstance(found.node, ast.FunctionDef):
            places = [*found.node.args.posonlyargs, *found.node.args.args][1:]
            pairs |= {p.arg: v for p, v in zip(places, given, strict=False)}
        else:  # a dataclass: its fields in order
            fields = [
                s.target.id
                for s in kind.node.body
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
            ]
            pairs |= dict(zip(fields, given, strict=False))
        kept = {name: shallow(value, GIVEN_DEPTH) for name, value in pairs.items()}
        made = Made(kind, tuple(sorted(kept.items())), sure=not more)
        if not isinstance(found.node, ast.FunctionDef):
            self._built.setdefault(made, dict(pairs))
        return made

    def _run_function(self, function: FunctionRef, call: Call) -> Values:
        if function.name == REGISTERED:
            return self._registered_model(call)
        if not isinstance(function.node, ast.FunctionDef) or self._is_settings(function.module):
            return THING
        frame = Frame(function.module)
        self._bind(function.node, frame, call, own=False)
        return self._call_body(function.node.body, frame)

    def _run_method(self, method: Method, call: Call, caller: Frame | None) -> Values:
        node = method.function.node
        if not isinstance(node, ast.FunctionDef) or self._is_settings(method.function.module):
            return THING
        kinds = {dotted(d) for d in node.decorator_list}
        frame = Frame(method.function.module, owner=method.owner)
        if isinstance(method.on, Made):
            frame.me = method.on
            mine = caller is not None and caller.me == method.on
            frame.store = caller.store if mine and caller is not None else None
        if "classmethod" in kinds:
            frame.local[node.args.args[0].arg] = one(method.on)
            call = ([one(method.on), *call[0]], call[1], call[2])
            self._bind(node, frame, call, own=False)
        else:
            own = "staticmethod" not in kinds and not isinstance(method.on, ClassRef)
            self._bind(node, frame, call, own=own)
        return self._call_body(node.body, frame)

    def _is_settings(self, module: str) -> bool:
        return f"{module}.".startswith(f"{self.names.root}.{SETTINGS}.")

    def _run_closure(self, closure: Closure, call: Call) -> Values:
        outer: Frame = closure.frame
        frame = Frame(outer.module, outer=outer, owner=outer.owner, me=outer.me, store=outer.store)
        self._bind(closure.node, frame, call, own=False)
        if isinstance(closure.node, ast.Lambda):
            return self.value(closure.node.body, frame)
        return self._call_body(closure.node.body, frame)

    def _registered_model(self, call: Call) -> Values:
        """An inner model by the name of its class in the engine's registry."""
        given, named, _ = call
        outer = given[0] if given else named.get("vllm_config", NOTHING)
        inner = named.get("hf_config", given[2] if len(given) > 2 else NOTHING)
        paths = [v.path for v in inner if isinstance(v, ModelConfig)]
        paths = paths or [v.path for v in outer if isinstance(v, EngineConfig)]
        path = paths[0] if paths else ()
        wanted = texts(named.get("architectures", NOTHING))
        if not wanted and paths:
            told = self._json((*path, "architectures"))
            wanted = tuple(t for t in told if isinstance(t, str)) if isinstance(told, list) else ()
        for name in wanted:
            kind = self._registered(name)
            if kind is not None:
                given_to = (("vllm_config", one(EngineConfig(path))),)
                return one(Made(kind, given_to))
        what = ", ".join(wanted) or "a class found by the inner configuration's type"
        return one(Unseen(f"an inner model is looked up when the engine runs: {what}"))

    def _bind(
        self, node: ast.FunctionDef | ast.Lambda, frame: Frame, call: Call, *, own: bool
    ) -> None:
        """Give parameters their values; ``own`` if the first is the instance."""
        given, named, more = call
        parameters = [*node.args.posonlyargs, *node.args.args]
        if own and parameters:
            first = parameters.pop(0)
            frame.local[first.arg] = one(frame.me) if frame.me is not None else THING
        named = dict(named)
        defaults = self._defaults(node, frame)
        for place, parameter in enumerate([*parameters, *node.args.kwonlyargs]):
            name = parameter.arg
            if place < min(len(given), len(parameters)):
                value = given[place]
            elif name in named:
                value = named.pop(name)
            else:
                value = defaults.get(name, THING)
                if more and not plain(value):
                    value |= one(Unseen(f"{name} may be passed on"))
            frame.local[name] = value
        if node.args.vararg is not None:
            rest = given[len(parameters) :]
            frame.local[node.args.vararg.arg] = one(Many(frozenset().union(*rest)))
        if node.args.kwarg is not None:
            entries = tuple((key, value) for key, value in named.items())
            frame.local[node.args.kwarg.arg] = one(Table(entries))

    def _defaults(self, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> dict[str, Values]:
        places = [*node.args.posonlyargs, *node.args.args]
        pairs = list(zip(reversed(places), reversed(node.args.defaults), strict=False))
        pairs += [
            (a, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        ]
        outside = Frame(frame.module, outer=frame.outer)
        return {a.arg: self.value(d, outside) for a, d in pairs}

    def _call_body(self, body: Sequence[ast.stmt], frame: Frame) -> Values:
        if self._depth > DEPTH_MAX:
            return one(Unseen("calls go too deep"))
        given, known = (frame.me, dict(frame.local)), self._under_way.setdefault(id(body), [])
        if given in known:  # again with the same: it would never end here
            return one(Unseen("a function calls itself"))
        self._depth += 1
        known.append(given)
        try:
            self._block(body, frame)
        finally:
            known.pop()
            self._depth -= 1
        return frozenset(frame.returned)
