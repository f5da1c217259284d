"""By which rule an engine looks for the names of experts before it takes adapters on a MoE model.

The rule changed between versions: one looks at the model's class and its direct children, another
walks every module and finds one in the layer that holds the experts. So it is read from the code
that decides, and code of another shape is no rule that anybody here knows.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pfid.formats.python_source.bindings import dotted
from pfid.formats.python_source.names import ClassRef, FunctionRef, Names, Unresolved

DECIDES: Final = "process_packed_modules_mapping"
WANTED: Final = "get_expert_mapping"
_WALKS: Final = {
    "children": "children",
    "named_children": "children",
    "modules": "modules",
    "named_modules": "modules",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertRule:
    """The rule.

    Attributes:
        looks: where the mapping is looked for: ``class``, ``children``, ``modules``.
        kinds: layers that make a model one with experts in the engine's eyes.
        source: function that decides, for the owner.
        problem: why there is no rule that is known, "" where there is one.
    """

    looks: frozenset[str] = frozenset()
    kinds: frozenset[ClassRef] = frozenset()
    source: str = ""
    problem: str = ""

    @property
    def walks(self) -> bool:
        """Whether every module is looked at."""
        return "modules" in self.looks


def read_rule(names: Names) -> ExpertRule:
    """Read the rule."""
    module = f"{names.root}.lora.utils"
    decides = names.find(module, DECIDES)
    if not isinstance(decides, FunctionRef):
        why = decides.why if isinstance(decides, Unresolved) else "it is no function"
        return ExpertRule(problem=f"{module} has no {DECIDES}: {why}")
    called = [f for f in _called(names, decides) if isinstance(f, FunctionRef)]
    getters = [f for f in called if _mentions(f.node)]
    detectors = [f for f in called if _instances(f.node)]
    if len(getters) != 1 or len(detectors) != 1:
        seen = ", ".join(sorted({f.name for f in called})) or "nothing"
        return ExpertRule(problem=f"{module}.{DECIDES} decides by {seen}, which is no known rule")
    return _rule(names, decides, getters[0], detectors[0])


def _rule(
    names: Names, decides: FunctionRef, getter: FunctionRef, detector: FunctionRef
) -> ExpertRule:
    where = f"{getter.module}.{getter.name}"
    looks = _looks(getter.node)
    if isinstance(looks, str):
        return ExpertRule(problem=f"{where} {looks}")
    if not any(isinstance(n, ast.Raise) for f in (getter, decides) for n in ast.walk(f.node)):
        return ExpertRule(problem=f"{where} refuses nothing, which is no known rule")
    kinds = _kinds(names, detector)
    if isinstance(kinds, str):
        return ExpertRule(problem=kinds)
    return ExpertRule(looks=looks, kinds=kinds, source=where)


def _called(names: Names, function: FunctionRef) -> Iterator[object]:
    seen: set[str] = set()
    for node in ast.walk(function.node):
        path = dotted(node.func) if isinstance(node, ast.Call) else ""
        if path and "." not in path and path not in seen:
            seen.add(path)
            yield names.find(function.module, path)


def _mentions(node: ast.AST) -> bool:
    return any(_asked(inner) is not None for inner in ast.walk(node))


def _asked(node: ast.AST) -> ast.expr | None:
    """What is asked for the mapping, if this expression asks something."""
    if isinstance(node, ast.Attribute) and node.attr == WANTED:
        return node.value
    if isinstance(node, ast.Call) and dotted(node.func) in ("getattr", "hasattr"):
        named = node.args[1] if len(node.args) > 1 else None
        if isinstance(named, ast.Constant) and named.value == WANTED:
            return node.args[0]
    return None


def _looks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str] | str:
    """Where the getter looks; words about what is no known way."""
    walked = _walked(node)
    looks: set[str] = set()
    for inner in ast.walk(node):
        holder = _asked(inner)
        if holder is None:
            continue
        name = dotted(holder)
        if not node.args.args or name not in (node.args.args[0].arg, *walked):
            return f"asks {ast.unparse(holder)[:60]}, which is no known way to look"
        looks.add("class" if name == node.args.args[0].arg else walked[name])
    if not looks or not any(isinstance(n, ast.Return) for n in ast.walk(node)):
        return "looks nowhere"
    return frozenset(looks)


def _walked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """Names that stand for modules of the first parameter, with how it is walked."""
    first = node.args.args[0].arg if node.args.args else ""
    found: dict[str, str] = {}
    for inner in ast.walk(node):
        if not isinstance(inner, ast.For | ast.comprehension) or not isinstance(
            inner.iter, ast.Call
        ):
            continue
        holder, _, walk = dotted(inner.iter.func).rpartition(".")
        target = inner.target
        if isinstance(target, ast.Tuple) and walk.startswith("named_"):
            target = target.elts[-1]
        if holder == first and walk in _WALKS and isinstance(target, ast.Name):
            found[target.id] = _WALKS[walk]
    return found


def _instances(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """Classes that modules of the first parameter are held against."""
    walked = {name for name, how in _walked(node).items() if how == "modules"}
    return [
        inner.args[1]
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call)
        and dotted(inner.func) == "isinstance"
        and len(inner.args) == 2
        and dotted(inner.args[0]) in walked
    ]


def _kinds(names: Names, detector: FunctionRef) -> frozenset[ClassRef] | str:
    found: set[ClassRef] = set()
    for node in _instances(detector.node):
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            target = names.expression(detector.module, one)
            if not isinstance(target, ClassRef):
                why = target.why if isinstance(target, Unresolved) else "it is no class"
                return f"{detector.module}.{detector.name}: {ast.unparse(one)[:60]}: {why}"
            found.add(target)
    return frozenset(found)
