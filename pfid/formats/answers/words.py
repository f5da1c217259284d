"""Counting words, also where they are not parted by blanks."""

import re
from typing import Final

_UNPARTED: Final = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f]+"
)
_STOPS: Final = re.compile("[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+")
_LETTERS_A_WORD: Final = 2
"""A word of Chinese has 1.5 to 2 characters in the mean, of Japanese and Thai somewhat more."""


def word_count(text: str) -> int:
    """Return how many words a text has; of scripts without blanks, two letters are one word."""
    if text.isascii():
        return len(text.split())
    bare = _STOPS.sub(" ", text)
    runs = _UNPARTED.findall(bare)
    if not runs:
        return len(bare.split())
    parted = _UNPARTED.sub(" ", bare).split()
    return len(parted) + sum(-(-len(run) // _LETTERS_A_WORD) for run in runs)
