"""How an expression begins: what stands before its first gap is quick to look for in a long text.

``A.{0,60}B`` needs a state for each letter of the gap, and many of them together need more than
memory holds. ``A`` alone is found in one pass, and where it is not, the whole is not either.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_GAP: Final = ".{"


@lru_cache(maxsize=4_096)
def opening(pattern: str) -> str:
    """Return an expression that finds something wherever ``pattern`` does.

    Each alternative at the top is cut before its first gap (``.{``) that stands in no group; the
    whole stays as it is where nothing would be left of one.
    """
    cut = [alternative.partition("\0")[0] for alternative in _alternatives(pattern)]
    return "|".join(cut) if all(cut) else pattern


def _alternatives(pattern: str) -> Iterator[str]:
    """Parts between bars outside of any group, with NUL before gaps outside of any group."""
    said: list[str] = []
    depth, at = 0, 0
    while at < len(pattern):
        sign = _token(pattern, at)
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            yield "".join(said)
            said = []
        else:
            said += ["\0"] if not depth and pattern.startswith(_GAP, at) else []
            said.append(sign)
        at += len(sign)
    yield "".join(said)


def _token(pattern: str, at: int) -> str:
    """One sign: an escaped one, a class, or a letter."""
    if pattern[at] == "\\":
        return pattern[at : at + 2]
    if pattern[at] != "[":
        return pattern[at]
    end = pattern.find("]", at + (3 if pattern.startswith("[^", at) else 2))
    return pattern[at : end + 1] if end > 0 else pattern[at:]
