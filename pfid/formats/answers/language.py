"""Which language an answer is in, as far as its commonest words and its alphabet tell."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pfid.domain.answer import PatternFile
from pfid.formats.answers.commonest_words import COMMONEST

SHORT_WORDS: Final = 3
"""So few words are an answer in any language: a name, a number."""
KNOWN_SHARE: Final = 0.08
"""Of the words, or of the letters, that must be a language's commonest."""
NEAR_SHARE: Final = 0.5
"""A neighbour of the language that a record names is that language: Galician reads like others."""
LOOKED_AT_CHARS: Final = 600
ALPHABET_LETTERS: Final = 60
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, kw_only=True)
class Languages:
    """Languages that are read, among those that are known.

    Attributes:
        read: codes of those with patterns.
        words: languages by each of their commonest words.
        letters: languages by each letter that tells one whose words are not parted.
        alphabets: of those that are read.
    """

    read: frozenset[str] = frozenset()
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    letters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alphabets: frozenset[str] = frozenset()

    def of(self, text: str) -> str:
        """Return the code of a text's language; "" where a few words and no alphabet tell."""
        return _likeliest(self._counted(text), self.read)

    def reads(self, text: str, language: str | None = None) -> bool:
        """Whether an answer can be read: what it shows goes before what its record says.

        Args:
            text: the answer.
            language: of the prompt, ISO 639, where the record says so.
        """
        counts, code = self._counted(text), plain_code(language)
        shown = _likeliest(counts, self.read)
        if shown:
            near = code not in self.read and counts[code] >= NEAR_SHARE * counts[shown]
            return shown in self.read and not near
        head = text[:LOOKED_AT_CHARS]
        words = _WORD.findall(head)
        if not words:
            return True
        if not head.isascii() and alphabet(head) not in self.alphabets:
            return False
        return code in self.read if code else len(words) <= SHORT_WORDS and head.isascii()

    def _counted(self, text: str) -> Counter[str]:
        """How many of its first letters or words are a language's commonest; enough of them."""
        head = text[:LOOKED_AT_CHARS]
        if not head.isascii():
            letters = [letter for letter in head if letter.isalpha()]
            found = _enough(letters, self.letters)
            if found:
                return found
        words = [word.casefold() for word in _WORD.findall(head)]
        return Counter() if len(words) <= SHORT_WORDS else _enough(words, self.words)


def languages(files: Sequence[PatternFile]) -> Languages:
    """Return what pattern files read, and what is known beside them."""
    read = frozenset(file.language for file in files)
    named = [(file.language, file.words) for file in files]
    named += [(code, words) for code, words in COMMONEST.items() if code not in read]
    signs = (sign for file in files for sign in (*file.words, *file.letters))
    return Languages(
        read=read,
        words=_by_word(named),
        letters=_by_word((file.language, file.letters) for file in files),
        alphabets=frozenset(alphabet(sign) for sign in signs),
    )


def plain_code(language: str | None) -> str:
    """``pt-BR`` and ``PT_br`` are ``pt``."""
    return (language or "").strip().casefold().replace("_", "-").split("-")[0]


def alphabet(text: str) -> str:
    """The alphabet of most of a text's first letters, as Unicode names it; "" without a letter."""
    letters = [letter for letter in text if letter.isalpha()][:ALPHABET_LETTERS]
    names = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    return next((name for name, _ in names.most_common(1)), "")


def _by_word(named: Iterable[tuple[str, Iterable[str]]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for code, words in named:
        for word in words:
            found[word].append(code)
    return found


def _enough(tokens: Sequence[str], known: Mapping[str, Sequence[str]]) -> Counter[str]:
    counts = Counter(code for token in tokens if token in known for code in known[token])
    needed = max(KNOWN_SHARE * len(tokens), 1)
    return Counter({code: n for code, n in counts.items() if n >= needed})


def _likeliest(counts: Mapping[str, int], read: frozenset[str]) -> str:
    """The language with most tokens, one that is read before others; "" of none."""
    return max(counts, key=lambda code: (counts[code], code in read), default="")
