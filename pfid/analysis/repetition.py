"""How much of a text repeats itself, and whether that is a loop or the frame of a list."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.frames import framed

TAIL_WORDS: Final = 200
"""A loop begins after good text and runs into the cap: the end is looked at by itself."""
LOOKED_AT_SHARE: Final = 0.15
"""Below this share of repeated trigrams nothing wants to be told apart; prose has 2-8 %."""
SQUEEZED: Final = 4.0
"""Prose shrinks to a half or third; what shrinks to less than a quarter is looked at."""
SAMPLE_CHARS: Final = 4_096
UNWORDED_CHARS: Final = 12
"""Where words are longer than this in the mean, letters may loop that no trigram of words shows:
the whole text is packed. Else its end says as much, in a third of the time."""
_UNPARTED: Final = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SPECIAL: Final = re.compile(
    r"<\|[^<>|\s]{1,60}\|>|</?s>|<(?:pad|unk|eos|bos|mask|sep|cls|start_of_turn|end_of_turn"
    r"|unused\d{1,4}|extra_id_\d{1,4}|0x[0-9A-Fa-f]{2})>|\[(?:PAD|UNK|MASK|CLS|SEP|/?INST)\]"
    "|<\uff5c[^<>\\s]{1,60}\uff5c>|\ufffd"
)
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd factors that keep the places of a trigram's words apart; two of 64 bits collide never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What one text repeats.

    Attributes:
        repeated: share of its trigrams of words that stood in it before.
        tail_repeated: the same of its last words alone.
        squeezed: how many times shorter zlib makes it, or its end where it has ordinary words.
        special_run: how often one special token stands in a row.
        framed: whether what repeats is the frame of what differs: of a list, of code.
    """

    repeated: float
    tail_repeated: float
    squeezed: float
    special_run: int
    framed: bool


def repetition(text: str) -> Repetition:
    """Measure a text. Takes any text, in linear time.

    The share of repeated trigrams is the playbook's measure of collapse (4.6.3).
    """
    words = _words(text)
    numbers = _numbered(words)
    whole = _share_again(numbers)
    tail = _share_again(numbers[-TAIL_WORDS:]) if len(words) > TAIL_WORDS else whole
    worded = len(text) < UNWORDED_CHARS * len(words)
    ratio = squeezed(text[-SAMPLE_CHARS:] if worded else text)
    suspect = max(whole, tail) > LOOKED_AT_SHARE or ratio > SQUEEZED
    return Repetition(
        repeated=whole,
        tail_repeated=tail,
        squeezed=ratio,
        special_run=special_run(text),
        framed=suspect and framed(text, TAIL_WORDS if whole < tail else None),
    )


def _words(text: str) -> Sequence[str]:
    words = text.split()
    if text.isascii() or _UNPARTED.search(text) is None or len(text) < 8 * len(words):
        return words
    return [letter for letter in text if not letter.isspace()]


def repeated_share(words: Sequence[str]) -> float:
    """Share of the trigrams that stood in the text before; 0 where there is no trigram."""
    return _share_again(_numbered(words))


def _numbered(words: Sequence[str]) -> NDArray[np.uint64]:
    """A number a word; two words have the same only by a chance in 2**64."""
    return np.fromiter(map(hash, words), dtype=np.int64, count=len(words)).view(np.uint64)


def _share_again(numbers: NDArray[np.uint64]) -> float:
    trigrams = numbers.size - 2
    if trigrams < 1:
        return 0.0
    mixed = numbers[:-2] * _FIRST + numbers[1:-1] * _SECOND + numbers[2:]
    mixed.sort()
    return int(np.count_nonzero(mixed[1:] == mixed[:-1])) / trigrams


def squeezed(text: str) -> float:
    """How many times shorter the text is when packed; 1 for a text that does not shrink."""
    data = text.encode("utf-8", "surrogatepass")
    return max(len(data) / len(zlib.compress(data, 1)), 1.0)


def special_run(text: str) -> int:
    """How often the same special token stands in a row, blanks between them or not."""
    if "<" not in text and "[" not in text and "\ufffd" not in text:
        return 0
    found = list(_SPECIAL.finditer(text))
    longest = run = int(bool(found))
    for one, other in pairwise(found):
        same = one[0] == other[0] and not text[one.end() : other.start()].strip()
        run = run + 1 if same else 1
        longest = max(longest, run)
    return longest
