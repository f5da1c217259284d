"""Would this callable take these keyword arguments, as it is installed here (playbook 4.2)?

Validating a value is not validating the parameter. Build the arguments as data first, ask the
installed signature, and fail in a second instead of after the encode and the model load. Needs
nothing but the standard library, and no other file of pfid.
"""

import dataclasses
import functools
import inspect
import re
import types
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Set,
    Tuple,
    Union,
    get_args,
    get_origin,
)

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_UNIONS = (Union, getattr(types, "UnionType", Union))
_UNION_TEXT = re.compile(r"(\w+\.)*(Optional|Union)(?=\[)")
_ALIAS_CELLS = ("old_name", "new_name")
_SUCCESSORS: Mapping[str, Tuple[str, ...]] = {
    "warmup_ratio": ("warmup_steps",),
    "group_by_length": ("train_sampling_strategy",),
    "evaluation_strategy": ("eval_strategy",),
    "tokenizer": ("processing_class",),
    "no_cuda": ("use_cpu",),
    "use_mps_device": ("use_cpu",),
    "torch_dtype": ("dtype",),
}
"""Renames that no edit distance finds; each counts only if the successor is really there."""


@dataclasses.dataclass(frozen=True)
class Unknown:
    """An argument nobody takes, and what it may be called now; "" if nothing is near."""

    name: str
    nearest: str = ""


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """What a callable would make of the arguments.

    Attributes:
        callable_name: what was asked.
        unknown: arguments that raise TypeError.
        unseen: arguments that vanish into ``**kwargs``: whether anybody reads them cannot be told.
        changed: arguments that are taken and mean something else than they say, with the reason.
        deprecated: arguments that are still taken under another name, which is given.
        missing: parameters without a default that are not given; for callers that give all.
        known: every name that is taken.
        why: why the signature cannot be read, "" if it can.
    """

    callable_name: str
    unknown: Tuple[Unknown, ...] = ()
    unseen: Tuple[Unknown, ...] = ()
    changed: Tuple[Tuple[str, str], ...] = ()
    deprecated: Tuple[Tuple[str, str], ...] = ()
    missing: Tuple[str, ...] = ()
    known: Tuple[str, ...] = ()
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether every argument is taken, and means what it says."""
        return not (self.unknown or self.unseen or self.changed or self.why)

    def require(self) -> None:
        """Go on only if every argument is taken and means what it says.

        Raises:
            TypeError: naming each that is not.
        """
        said = [f"does not take {u.name!r}{_hint(u)}" for u in self.unknown]
        said += [f"swallows {u.name!r} in **kwargs{_hint(u)}" for u in self.unseen]
        said += [f"takes {name!r} but {reason}" for name, reason in self.changed]
        said += [self.why] if self.why else []
        if said:
            raise TypeError(f"{self.callable_name}: {'; '.join(said)}")


def accepts(target: Callable[..., Any], kwargs: Mapping[str, Any]) -> Acceptance:
    """Hold keyword arguments against the signature of a class or callable as it is installed.

    Args:
        target: a class (a dataclass, one with ``__init__``), a function, however wrapped.
        kwargs: as they would be given.
    """
    name = getattr(target, "__qualname__", None) or repr(target)
    try:
        names = _Names.of(target)
    except (TypeError, ValueError) as problem:
        return Acceptance(callable_name=name, why=f"has no signature to read: {problem}")
    strangers = [n for n in kwargs if n not in names.taken and n not in names.aliases]
    found = tuple(Unknown(n, _nearest(n, names.taken)) for n in strangers)
    given = {names.aliases.get(n, n) for n in kwargs}
    return Acceptance(
        callable_name=name,
        unknown=() if names.swallows else found,
        unseen=found if names.swallows else (),
        changed=tuple(_changed(target, names, kwargs)),
        deprecated=tuple((n, names.aliases[n]) for n in kwargs if n in names.aliases),
        missing=tuple(n for n in names.required if n not in given),
        known=tuple(sorted(names.taken)),
    )


class _Names:
    """The names a callable takes, through every wrapper and superclass that passes them on."""

    def __init__(self) -> None:
        self.taken: Dict[str, inspect.Parameter] = {}
        self.aliases: Dict[str, str] = {}
        self.required: List[str] = []
        self.swallows = False

    @classmethod
    def of(cls, target: Callable[..., Any]) -> "_Names":
        if isinstance(target, functools.partial) and inspect.isclass(target.func):
            return cls.of(target.func).without(target)
        names = cls()
        if not inspect.isclass(target):
            names._level(target, bound=not inspect.isfunction(target))
        elif isinstance(_own_signature(target), inspect.Signature):
            names.swallows = names._add(_own_signature(target), skip_self=False)
        elif not names._maker(target):
            names._class(target)
        return names

    def without(self, given: "functools.partial[Any]") -> "_Names":
        """Leave out what the partial gives by position; what it gives by name may be given anew."""
        positional = [n for n, p in self.taken.items() if p.kind is _NAMED[0]]
        for name in positional[: len(given.args)]:
            del self.taken[name]
        self.required = [n for n in self.required if n in self.taken and n not in given.keywords]
        return self

    def _maker(self, target: type) -> bool:
        """Whether its metaclass makes it from names of its own, and passes no others on."""
        maker = type(target).__call__
        if maker is type.__call__:
            return False
        self._level(maker, bound=False, skip_self=True)
        return not self.swallows

    def _class(self, target: type) -> None:
        """Follow ``__init__`` up while it passes ``**kwargs`` on, or ``__new__`` without one."""
        makers = [c for c in target.__mro__ if "__init__" in vars(c) and c is not object]
        if not makers:
            self._level(target, bound=True)
            return
        for maker in makers:
            self.swallows = False
            self._level(vars(maker)["__init__"], bound=False, skip_self=True)
            if not self.swallows:
                return

    def _level(self, target: Any, *, bound: bool, skip_self: bool = False) -> None:
        """One callable, and what it wraps as long as it passes ``**kwargs`` on."""
        seen: Set[int] = set()
        inner: Any = target
        while inner is not None and id(inner) not in seen:
            seen.add(id(inner))
            self._aliases(inner)
            signature = inspect.signature(inner, follow_wrapped=False)
            self.swallows = self._add(signature, skip_self and not bound)
            inner = getattr(inner, "__wrapped__", None) if self.swallows else None

    def _add(self, signature: inspect.Signature, skip_self: bool) -> bool:  # noqa: FBT001 - one of two
        parameters = list(signature.parameters.values())
        if (
            skip_self
            and parameters
            and parameters[0].kind in (*_NAMED, inspect.Parameter.POSITIONAL_ONLY)
        ):
            parameters = parameters[1:]
        for parameter in parameters:
            if parameter.kind in _NAMED and parameter.name not in self.taken:
                self.taken[parameter.name] = parameter
                if parameter.default is inspect.Parameter.empty:
                    self.required.append(parameter.name)
        return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)

    def _aliases(self, function: Any) -> None:
        """A decorator that renames keeps both names in its closure (transformers' own does)."""
        code = getattr(function, "__code__", None)
        cells = getattr(function, "__closure__", None) or ()
        held: Dict[str, Any] = {}
        for free, cell in zip(getattr(code, "co_freevars", ()), cells):
            try:
                held[free] = cell.cell_contents
            except ValueError:  # the cell is empty
                continue
        old, new = (held.get(name) for name in _ALIAS_CELLS)
        if isinstance(old, str) and isinstance(new, str):
            self.aliases[old] = new


def _own_signature(target: type) -> Any:
    """What a library says of a class it made (pydantic's fields); None if nothing is said."""
    return getattr(target, "__signature__", None) if "__signature__" in vars(target) else None


def _changed(
    target: Callable[..., Any], names: _Names, kwargs: Mapping[str, Any]
) -> List[Tuple[str, str]]:
    found = []
    for name, value in kwargs.items():
        parameter = names.taken.get(name)
        reason = _warmup(target, name, value) if name == "warmup_steps" else ""
        if not reason and parameter is not None:
            reason = _of_another_type(parameter, value)
        if reason:
            found.append((name, reason))
    return found


def _warmup(target: Callable[..., Any], name: str, value: Any) -> str:
    """``warmup_steps`` below 1 is a ratio since transformers 5.15; before it was no step at all."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value <= 1:
        return ""
    is_ratio = "ratio" in _help_of(target, name).lower()
    if value < 1:
        return (
            f"{value!r} is read as a ratio of all steps, not as steps"
            if is_ratio
            else f"{value!r} is a fraction of a step here: no warmup at all"
        )
    return "1.0 is one step, not all of them" if is_ratio and isinstance(value, float) else ""


def _help_of(target: Callable[..., Any], name: str) -> str:
    """What the installed class itself says about one of its fields."""
    if dataclasses.is_dataclass(target):
        for field in dataclasses.fields(target):
            if field.name == name:
                return str(field.metadata.get("help", ""))
    return getattr(target, "__doc__", None) or ""


def _of_another_type(parameter: inspect.Parameter, value: Any) -> str:
    """A text where a truth value goes is true, whatever it says; a fraction is cut to whole."""
    plain = _only_type(parameter.annotation)
    if plain == "bool" and isinstance(value, str):
        return f"the text {value!r} is true where a truth value is meant"
    if plain == "int" and isinstance(value, float) and not isinstance(value, bool):
        return "" if value.is_integer() else f"{value!r} is no whole number"
    return ""


def _only_type(annotation: Any) -> str:
    """The name of the one type that goes there, None beside it or not; "" for any other."""
    if isinstance(annotation, str):
        text = _UNION_TEXT.sub("", annotation.replace(" ", ""))
        names = re.split(r"[|,]", text.replace("[", "").replace("]", ""))
    elif get_origin(annotation) in _UNIONS:
        names = [getattr(each, "__name__", "?") for each in get_args(annotation)]
    else:
        names = [getattr(annotation, "__name__", "")]
    left = [name for name in names if name not in {"None", "NoneType"}]
    return left[0] if len(left) == 1 else ""


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    for successor in _SUCCESSORS.get(name, ()):
        if successor in known:
            return successor
    ranked = sorted((edit_distance(name, k), k) for k in known)
    if not ranked:
        return ""
    distance, near = ranked[0]
    return near if distance <= max(2, len(name) // 3) else ""


def edit_distance(one: str, other: str) -> int:
    """Return how many letters must be put in, taken out or replaced (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, against in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != against))
    return row[-1]


def _hint(unknown: Unknown) -> str:
    return f" (did you mean {unknown.nearest!r}?)" if unknown.nearest else ""
