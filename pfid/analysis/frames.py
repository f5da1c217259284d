"""Whether what a text repeats is a frame of lines or blocks that differ: a list, code, a board."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

LINES_MIN: Final = 4
DISTINCT_MIN: Final = 0.6
CODE_DISTINCT_MIN: Final = 0.3
"""Code between fences says the same line often, and counts; a loop says one over and over."""
GRID_ROWS_MAX: Final = 20
GRID_COLUMNS_MAX: Final = 80
"""Rows of signs, so few and so short, are a matrix or a board however alike they are."""
NESTED_MAX: Final = 6
_PARTS: Final = re.compile(r"\n|(?<=[.!?]) ")
_NUMBERED: Final = re.compile(r"\d+")
_BULLET: Final = re.compile(
    r"^[\W_]*(?:(?:[^\W\d]{1,12}\s)?\d+[.):\s]*|(?:[^\W\d_]|[IVXLivxl]{1,7})[.):](?:\s+|$))?"
)
_OPTION: Final = re.compile(r"\s*\W?[A-Ha-h][.):]\)?\s")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_WORD: Final = re.compile(r"\w")
Block = Sequence[str]
"""Lines that belong together, the first of them its head; none is blank."""


def framed(text: str, last_words: int | None = None) -> bool:
    """Tell a frame from a loop, in linear time.

    A frame is one of lines or sentences that differ but for their numbers, or one of blocks whose
    heads do: rules of a style sheet, services, questions with the same four options.

    Args:
        text: any.
        last_words: how many of its words to look at, from the end; None for all.
    """
    parts = _last([part for part in _PARTS.split(text) if part.strip()], last_words)
    if len(parts) < LINES_MIN:
        return False
    lines = _last(text.split("\n"), last_words)
    if _is_grid(lines) or _differ(map(_body, parts), DISTINCT_MIN):
        return True
    if _is_code(text) and _differ(map(str.strip, parts), CODE_DISTINCT_MIN):
        return True
    return any(_have_own_heads(found) for found in (_paragraphs(lines), _nested(lines)))


def _last(lines: Sequence[str], words_max: int | None) -> Sequence[str]:
    if words_max is None:
        return lines
    words = 0
    for at in range(len(lines) - 1, -1, -1):
        words += len(lines[at].split())
        if words >= words_max:
            return lines[at:]
    return lines


def _differ(bodies: Iterable[str], share_min: float) -> bool:
    held = list(bodies)
    total = sum(map(len, held))
    return total > 0 and sum(map(len, set(held))) >= share_min * total


def _body(line: str) -> str:
    """A line without its number: counting while saying the same is a loop. Rows of figures stay."""
    bare = line.strip()
    return bare if _is_signs(bare) else _NUMBERED.sub("0", _BULLET.sub("", bare))


def _is_signs(bare: str) -> bool:
    return 3 * sum(map(str.isalpha, bare)) < len(bare)


def _is_grid(lines: Sequence[str]) -> bool:
    rows = [line.strip() for line in lines if line.strip()]
    return LINES_MIN <= len(rows) <= GRID_ROWS_MAX and all(
        len(row) <= GRID_COLUMNS_MAX and len(row.split()) >= LINES_MIN and _is_signs(row)
        for row in rows
    )


def _is_code(text: str) -> bool:
    """Whether more of the lines stand between fences than do not."""
    inside, of_code, lines = False, 0, text.split("\n")
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        of_code += inside
    return 2 * of_code > len(lines)


def _have_own_heads(blocks: Sequence[Block]) -> bool:
    """Whether blocks of some lines differ in their heads, and none of them loops in itself."""
    lines = sum(map(len, blocks))
    if len(blocks) < LINES_MIN or lines < 2 * len(blocks):
        return False
    bodies = [[_body(part) for line in block for part in _PARTS.split(line)] for block in blocks]
    said = sum(len(body) for block in bodies for body in block)
    again = said - sum(len(body) for block in bodies for body in set(block))
    return again <= (1 - DISTINCT_MIN) * said and _differ(map(_head, blocks), DISTINCT_MIN)


def _head(block: Block) -> str:
    """What the first line with a word says."""
    return next((_body(line) for line in block if _WORD.search(line)), "")


def _paragraphs(lines: Sequence[str]) -> list[Block]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def _nested(lines: Sequence[str]) -> list[Block]:
    """Blocks by indent, of the outermost level that has several."""
    held: Block = [line for line in lines if line.strip() and not _FENCE.match(line)]
    for _ in range(NESTED_MAX):
        blocks: list[Block] = list(_indented(held))
        longest = max(blocks, key=len, default=())
        if 2 * len(longest) <= len(held) or len(longest) == len(held) == 1:
            return blocks
        held = longest[1:]
    return []


def _indented(lines: Sequence[str]) -> Iterator[list[str]]:
    """A line and what is indented deeper, closes it, or is an option of it."""
    block: list[str] = []
    for line in lines:
        if block and not _belongs(line, block[0]):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _belongs(line: str, head: str) -> bool:
    option = _OPTION.match(line) is not None and _OPTION.match(head) is None
    bracket = _WORD.search(line) is None and _indent(line) == _indent(head)
    opens = line.rstrip()[-1:] in ("{", "[", "(") and _WORD.search(head) is None
    return _indent(line) > _indent(head) or option or (bracket and not opens)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
