"""What a PromQL expression selects: names, matchers, and the labels it joins and groups by.

No parser of PromQL: the tokens are enough to tell a series that nobody emits. Whether the
expression itself is good, ``promtool`` says.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<range>\[[^\]]*\])|(?P<word>[A-Za-z_:][A-Za-z0-9_:]*)|(?P<number>[0-9][\w.]*)"""
    r"""|(?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^(){},<>=])|(?P<space>\s+)"""
)
_LABEL_LISTS: Final = frozenset({"on", "ignoring", "by", "without", "group_left", "group_right"})
_WORDS: Final = frozenset({"unless", "and", "or", "bool", "offset", "inf", "nan", "atan2"})


class NotTokensError(ValueError):
    """Something that cannot stand in PromQL."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label."""

    label: str
    sign: str
    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """A series that is asked for."""

    name: str
    matchers: tuple[Matcher, ...] = ()


@dataclass(frozen=True, slots=True)
class Selected:
    """Everything an expression names."""

    selectors: tuple[Selector, ...]
    labels: frozenset[str]


def selected(expr: str) -> Selected:
    """Return what ``expr`` asks for.

    Raises:
        NotTokensError: if it cannot be PromQL.
    """
    tokens = list(_tokens(expr))
    selectors: list[Selector] = []
    labels: set[str] = set()
    at = 0
    while at < len(tokens):
        token = tokens[at]
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        at += 1
        if token in _LABEL_LISTS and after == "(":
            end = tokens.index(")", at)
            labels.update(t for t in tokens[at + 1 : end] if t != ",")
            at = end + 1
        elif _is_series(token, after):
            end = tokens.index("}", at) if after == "{" else at - 1
            selectors.append(Selector(token, tuple(_matchers(tokens[at + 1 : end]))))
            at = end + 1
    return Selected(tuple(selectors), frozenset(labels))


def series_named(expressions: Iterable[str]) -> frozenset[str]:
    """Names of all series that expressions ask for.

    Raises:
        NotTokensError: if one cannot be PromQL.
    """
    return frozenset(s.name for expr in expressions for s in selected(expr).selectors)


def _is_series(token: str, after: str) -> bool:
    word = token[0].isalpha() or token[0] in "_:"
    aggregates = after in {"by", "without"}
    return word and after != "(" and not aggregates and token not in _WORDS | _LABEL_LISTS


def _matchers(tokens: list[str]) -> Iterator[Matcher]:
    rest = [t for t in tokens if t != ","]
    for label, sign, value in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        yield Matcher(label, sign, value[1:-1])


def _tokens(expr: str) -> Iterator[str]:
    at = 0
    while at < len(expr):
        found = _TOKEN.match(expr, at)
        if found is None:
            raise NotTokensError(f"no PromQL at {expr[at : at + 20]!r}")
        if found.lastgroup not in {"space", "range"}:
            yield found[0]
        at = found.end()
