"""Which alphabets a text is written in, and how much of it in one that nobody expects there."""

from collections.abc import Collection
from typing import Final

import numpy as np

COMMON: Final = "common"
LATIN: Final = "latin"
_STARTS: Final = (
    (0x0000, COMMON), (0x0041, LATIN), (0x005B, COMMON), (0x0061, LATIN), (0x007B, COMMON),
    (0x00AA, LATIN), (0x00AB, COMMON), (0x00BA, LATIN), (0x00BB, COMMON), (0x00C0, LATIN),
    (0x00D7, COMMON), (0x00D8, LATIN), (0x00F7, COMMON), (0x00F8, LATIN), (0x02B0, COMMON),
    (0x0370, "greek"), (0x0400, "cyrillic"), (0x0530, "armenian"), (0x0590, "hebrew"),
    (0x0600, "arabic"), (0x0700, "other"), (0x0750, "arabic"), (0x0780, "other"),
    (0x08A0, "arabic"), (0x0900, "devanagari"), (0x0980, "bengali"), (0x0A00, "other"),
    (0x0B80, "tamil"), (0x0C00, "telugu"), (0x0C80, "other"), (0x0E00, "thai"), (0x0E80, "other"),
    (0x10A0, "georgian"), (0x1100, "hangul"), (0x1200, "other"), (0x1C80, "cyrillic"),
    (0x1C90, "georgian"), (0x1CC0, "other"), (0x1D00, LATIN), (0x1DC0, COMMON), (0x1E00, LATIN),
    (0x1F00, "greek"), (0x2000, COMMON), (0x2C60, LATIN), (0x2C80, "other"), (0x2DE0, "cyrillic"),
    (0x2E00, COMMON), (0x3040, "kana"), (0x3100, "han"), (0x3130, "hangul"), (0x3190, "han"),
    (0x31F0, "kana"), (0x3200, COMMON), (0x3400, "han"), (0x4DC0, COMMON), (0x4E00, "han"),
    (0xA000, "other"), (0xA640, "cyrillic"), (0xA6A0, "other"), (0xA720, LATIN), (0xA800, "other"),
    (0xA960, "hangul"), (0xA980, "other"), (0xAB30, LATIN), (0xAB70, "other"), (0xAC00, "hangul"),
    (0xD800, COMMON), (0xE000, "other"), (0xF900, "han"), (0xFB00, LATIN), (0xFB13, "armenian"),
    (0xFB1D, "hebrew"), (0xFB50, "arabic"), (0xFE00, COMMON), (0xFE70, "arabic"),
    (0xFEFF, COMMON), (0xFF21, LATIN), (0xFF3B, COMMON), (0xFF41, LATIN), (0xFF5B, COMMON),
    (0xFF66, "kana"), (0xFFA0, "hangul"), (0xFFDD, COMMON), (0x10000, "other"),
    (0x1B000, "kana"), (0x1B170, "other"), (0x1D000, COMMON), (0x1E000, "other"),
    (0x1F000, COMMON), (0x20000, "han"), (0x32000, "other"), (0xE0000, COMMON), (0xF0000, "other"),
)  # fmt: skip
"""Where a run of code points of one script begins; blocks of Unicode 15, coarsened."""
NAMES: Final = tuple(sorted({name for _, name in _STARTS}))
_EDGES: Final = np.array([start for start, _ in _STARTS[1:]], dtype=np.uint32)
_INDEX: Final = np.array([NAMES.index(name) for _, name in _STARTS], dtype=np.intp)
_OF_LANGUAGE: Final = {
    "ru": ("cyrillic",), "uk": ("cyrillic",), "bg": ("cyrillic",), "sr": ("cyrillic",),
    "mk": ("cyrillic",), "be": ("cyrillic",), "kk": ("cyrillic",), "el": ("greek",),
    "zh": ("han",), "ja": ("han", "kana"), "ko": ("hangul", "han"), "th": ("thai",),
    "ar": ("arabic",), "fa": ("arabic",), "ur": ("arabic",), "he": ("hebrew",),
    "hi": ("devanagari",), "mr": ("devanagari",), "ne": ("devanagari",), "bn": ("bengali",),
    "ta": ("tamil",), "te": ("telugu",), "hy": ("armenian",), "ka": ("georgian",),
}  # fmt: skip
KANA_WITH: Final = "han"


def script_counts(text: str) -> dict[str, int]:
    """Letters by script; digits, marks and emoji belong to none. Takes any text."""
    if text.isascii():
        letters = sum(map(text.count, "abcdefghijklmnopqrstuvwxyz")) if text else 0
        return {LATIN: letters + sum(map(text.count, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))}
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    counts = np.bincount(
        _INDEX[np.searchsorted(_EDGES, points, side="right")], minlength=len(NAMES)
    )
    return {n: int(c) for n, c in zip(NAMES, counts, strict=True) if c and n != COMMON}


def expected_scripts(texts: Collection[str], language: str | None = None) -> frozenset[str]:
    """Scripts that an answer may be written in: Latin, those of the texts, and the language's.

    Args:
        texts: the prompt and the known-good answer, as far as there are any.
        language: of the prompt, ISO 639.
    """
    code = (language or "").casefold().replace("_", "-").split("-")[0]
    found = {LATIN, *_OF_LANGUAGE.get(code, ())}
    for text in texts:
        if not text.isascii():
            found.update(script_counts(text))
    return frozenset(found | {KANA_WITH} if "kana" in found else found)


def unexpected_share(text: str, expected: Collection[str]) -> float:
    """Share of the letters of a text that are of no expected script; 0 where it has none."""
    if text.isascii():
        return 0.0
    counts = script_counts(text)
    letters = sum(counts.values())
    return (
        sum(n for name, n in counts.items() if name not in expected) / letters if letters else 0.0
    )
