"""What a source file asks for: settings that stand in its text, and whether they must be so.

Read by Python's own grammar, never run. A setting counts as constant only where the text leaves no
way around it: a literal, or a name that its module binds once, to a literal. What stands below an
``if``, or is the default of an option, may have been otherwise in the run.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_BRANCHES: Final = (ast.If, ast.Try, ast.TryStar, ast.IfExp, ast.Match, ast.While, ast.BoolOp)
_LINE: Final = re.compile(
    r"""^\s*["']?(?P<name>[A-Za-z_][\w.-]*)["']?\s*[:=]\s*(?P<value>[^#\n]*?)\s*,?\s*(?:\#.*)?$"""
)
LINE_MAX_CHARS: Final = 1_000
_Given = tuple[str, ast.expr, str]
"""Name of a setting, what it is given, and a reservation about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSetting:
    """One place where a setting is given a value.

    Attributes:
        name: of the setting.
        line: where.
        value: the literal; None where it is none.
        expression: the text that stands there.
        certain: whether the value was this one whenever the place was reached.
        why: what makes it uncertain; "" if nothing does.
    """

    name: str
    line: int
    value: Any
    expression: str
    certain: bool
    why: str = ""


class SourceError(Exception):
    """The text is no Python that this Python reads."""


def settings_in_python(text: str, names: Sequence[str]) -> list[SourceSetting]:
    """Find every place that gives one of the settings a value, in order.

    Raises:
        SourceError: if it cannot be parsed.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceError(str(error)) from error
    wanted = {spelling: name for name in names for spelling in (name, f"_{name}")}
    constants = _constants(tree)
    found: list[SourceSetting] = []
    try:
        for node, branched in _walk(tree, branched=False):
            found += [_setting(g, constants, branched=branched) for g in _given(node, wanted)]
    except RecursionError as error:
        raise SourceError("it is nested too deeply") from error
    return sorted(found, key=lambda setting: setting.line)


def _walk(node: ast.AST, *, branched: bool) -> Iterator[tuple[ast.AST, bool]]:
    yield node, branched
    below = branched or isinstance(node, _BRANCHES)
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, branched=below)


def _given(node: ast.AST, wanted: Mapping[str, str]) -> Iterator[_Given]:
    """Every setting that a node gives a value."""
    if isinstance(node, ast.Call):
        yield from _option(node.args, node.keywords, wanted)
        yield from (
            (wanted[k.arg], k.value, "") for k in node.keywords if k.arg and k.arg in wanted
        )
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _keyed(key, value, wanted)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from _assigned(target, node.value, wanted)
    elif isinstance(node, ast.arguments):
        for argument, default in _defaults(node):
            if argument.arg in wanted:
                yield wanted[argument.arg], default, "a default, which a caller may replace"


def _keyed(key: ast.expr | None, value: ast.expr, wanted: Mapping[str, str]) -> Iterator[_Given]:
    if isinstance(key, ast.Constant) and key.value in wanted:
        yield wanted[str(key.value)], value, ""


def _option(
    args: Sequence[ast.expr], keywords: Sequence[ast.keyword], wanted: Mapping[str, str]
) -> Iterator[_Given]:
    """``add_argument("--attn-implementation", default=...)`` and its kind."""
    for arg in args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            name = wanted.get(arg.value.lstrip("-").replace("-", "_"))
            default = next((k.value for k in keywords if k.arg == "default"), None)
            if name is not None and arg.value.startswith("-") and default is not None:
                yield name, default, "the default of an option"


def _assigned(
    target: ast.expr, value: ast.expr | None, wanted: Mapping[str, str]
) -> Iterator[_Given]:
    match target:
        case ast.Name(id=spelling) | ast.Attribute(attr=spelling):
            key = spelling if spelling in wanted else spelling.lower()
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            pass
        case _:
            return
    if key in wanted and value is not None:
        yield wanted[key], value, ""


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults,
                   strict=True)  # fmt: skip
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument, default


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Names that are bound once in the whole file, at its top, to a literal."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.Global):
            for name in node.names:
                bound.setdefault(name, []).extend((None, None))
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            once = isinstance(target, ast.Name) and len(bound.get(target.id, ())) == 1
            if once and isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                found[target.id] = value.value
    return found


def _setting(given: _Given, constants: Mapping[str, Any], *, branched: bool) -> SourceSetting:
    name, value, why = given
    known, literal = _literal(value, constants)
    if not why and not known:
        why = "no constant: it depends on what ran"
    if not why and branched:
        why = "below a condition"
    return SourceSetting(
        name=name,
        line=value.lineno,
        value=literal,
        expression=ast.unparse(value)[:LINE_MAX_CHARS],
        certain=not why,
        why=why,
    )


def _literal(value: ast.expr, constants: Mapping[str, Any]) -> tuple[bool, Any]:
    if isinstance(value, ast.Constant):
        return True, value.value
    if isinstance(value, ast.Name) and value.id in constants:
        return True, constants[value.id]
    return False, None


def settings_in_config(text: str, names: Sequence[str]) -> list[SourceSetting]:
    """Find ``name: value`` and ``name = value`` in YAML, TOML and JSON, line by line.

    A configuration file may not be the one that ran: nothing of it is certain.
    """
    wanted = {spelling: name for name in names for spelling in (name, f"_{name}")}
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.match(line[:LINE_MAX_CHARS])
        if match is None or match["name"] not in wanted:
            continue
        value = match["value"].strip().strip("\"'")
        found.append(
            SourceSetting(
                name=wanted[match["name"]],
                line=number,
                value=None if value in {"", "null", "~", "None"} else value,
                expression=match["value"],
                certain=False,
                why="a configuration file, which may not be the one that ran",
            )
        )
    return found
