"""Whose words: blanks out what an answer quotes, so that a character's refusal is not the model's.

Everything quoted is replaced by as many blanks, so places stay what they were.
"""

import re
from typing import Final

_STRAIGHT: Final = r"\"(?<![^\s(\[\u2014\u2013*_-]\")[^\s\"][^\"\n]*(?:\"|$)"
_OPENS: Final = r"(?<![^\s(\[\u2014\u2013*_:-])"
_SINGLE: Final = (
    rf"{_OPENS}'(?=[^\s'])(?:[^'\n]|(?<=\w)'(?=\w)){{1,600}}?'(?![\w'])"
    rf"|{_OPENS}\u2018(?=\S)(?:[^\u2018\u2019\n]|(?<=\w)\u2019(?=\w)){{1,600}}?\u2019(?!\w)"
)
"""An apostrophe has letters on both sides; one behind a word (`the dogs' house`) opens nothing."""
_ASCII_QUOTED: Final = re.compile(_STRAIGHT, re.MULTILINE)
"""A text that has no other mark is read in a third of the time by a pattern that knows no other."""
_QUOTED: Final = re.compile(
    rf"{_STRAIGHT}"
    r"|\u201c[^\u201d\n]*(?:\u201d|$)|\u201e[^\u201c\u201d\n]*(?:[\u201c\u201d]|$)"
    r"|\u00ab[^\u00bb\n]*(?:\u00bb|$)|\u300c[^\u300d\n]*(?:\u300d|$)|\u300e[^\u300f\n]*(?:\u300f|$)"
    r"|\u2039[^\u203a\n]*(?:\u203a|$)|\u201a[^\u2018\n]{1,600}\u2018",
    re.MULTILINE,
)
_MARKS: Final = ('"', "\u201c", "\u201e", "\u00ab", "\u300c", "\u300e", "\u2039", "\u201a")
_SINGLE_QUOTED: Final = re.compile(_SINGLE, re.MULTILINE)
_SINGLE_MARKS: Final = ("'", "\u2018")
_ITALIC: Final = re.compile(
    r"(?<![\w*\\])\*(?![\s*])(?P<star>[^*\n]{1,600}?)(?<![\s*])\*(?![\w*])"
    r"|(?<![\w_\\])_(?![\s_])(?P<line>[^_\n]{1,600}?)(?<![\s_])_(?![\w_])"
)
_ITALIC_MARKS: Final = ("*", "_")
_TOLD_AFTER: Final = re.compile(r"[ \t]*(?:[\u2014\u2013,-][ \t]*)?[a-z]")
_TOLD_BEFORE: Final = re.compile(r"(?:[,:\u2014\u2013-]|\b[a-z]+)[ \t]*\Z")
_SENTENCE_ENDS: Final = tuple(".,!?;:\u2026\u2014\u2013-")
_SENTENCE_WORDS: Final = 3
_TALE_WORDS: Final = 25
"""So many words around what stands in italics are a tale, and the italics a voice in it."""
_FENCE: Final = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_BLOCK_QUOTE: Final = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_DASH: Final = re.compile(r"^\s{0,8}[\u2014\u2013] ?\S.*$", re.MULTILINE)
_LABEL: Final = re.compile(
    r"^[*_]{0,2}([^\W\d_][\w .'-]{0,30})[*_]{0,2}:[*_]{0,2}[ \t]+\S.*$", re.MULTILINE
)
_OWN_LABELS: Final = frozenset(
    {"assistant", "answer", "response", "note", "ai", "model", "bot", "disclaimer", "warning"}
)
SCRIPT_LINES: Final = 2


def own_words(text: str) -> str:
    """Return ``text``, as long as it was, with quotations, code and dialogue blanked out.

    An answer that is one quotation from its first to its last letter is the model's own.
    """
    bare = text.strip()
    quoted = _ASCII_QUOTED if text.isascii() else _QUOTED
    dash = "\n" not in bare and _DASH.fullmatch(bare) is not None
    if dash or any(_is_whole(one, bare) for one in (quoted, _SINGLE_QUOTED, _ITALIC)):
        return text
    blanked = _fenced(text) if "```" in text or "~~~" in text else text
    for pattern, marks in ((_BLOCK_QUOTE, ">"), (quoted, _MARKS), (_DASH, "\u2014\u2013")):
        if any(mark in blanked for mark in marks):
            blanked = pattern.sub(_blank, blanked)
    if any(mark in blanked for mark in _SINGLE_MARKS):
        blanked = _SINGLE_QUOTED.sub(_speech, blanked)
    if any(mark in blanked for mark in _ITALIC_MARKS):
        blanked = _without_voices(blanked)
    return _without_script(blanked) if ":" in blanked else blanked


def _is_whole(quoted: re.Pattern[str], bare: str) -> bool:
    """Whether one quotation reaches from the first letter to the last."""
    found = quoted.match(bare)
    return found is not None and found.end() == len(bare)


def _without_voices(text: str) -> str:
    """Blank out italics that are a voice in a tale: a thought, a sign, a letter.

    A model also sets its own refusal in italics; then nothing around it tells a tale.
    """
    found = list(_ITALIC.finditer(text))
    tale = len(_ITALIC.sub(" ", text).split()) >= _TALE_WORDS
    if not tale and not any(_is_told(text, one.start(), one.end()) for one in found):
        return text
    return _ITALIC.sub(_voice, text)


def _voice(found: re.Match[str]) -> str:
    return _blank(found) if _is_sentence(found["star"] or found["line"]) else found[0]


def _speech(found: re.Match[str]) -> str:
    """A word or two in quotation marks are the model's own word for it."""
    return _blank(found) if _is_sentence(found[0][1:-1]) else found[0]


def _is_sentence(said: str) -> bool:
    """Whether somebody says it, and no word of a sentence is merely set apart."""
    ended = said[-1:] in _SENTENCE_ENDS
    return ended or (len(said.split()) >= _SENTENCE_WORDS and not said[:1].islower())


def _is_told(text: str, begins: int, ends: int) -> bool:
    """Whether the sentence goes on behind it, or led up to it."""
    line = text.rfind("\n", 0, begins) + 1
    if not _is_sentence(text[begins + 1 : ends - 1]):
        return False
    before = _TOLD_BEFORE.search(text[max(line, begins - 40) : begins]) is not None
    ended = text[ends - 2 : ends - 1] in _SENTENCE_ENDS
    return (
        before
        or text[ends - 2 : ends - 1] == ","
        or (ended and _TOLD_AFTER.match(text, ends) is not None)
    )


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _fenced(text: str) -> str:
    """Blank out what stands between fences; one that is never closed reaches to the end."""
    pieces, at, opened = [], 0, ""
    for fence in _FENCE.finditer(text):
        if not opened:
            pieces.append(text[at : fence.start()])
            at, opened = fence.start(), fence[1]
        elif fence[1] == opened:
            pieces.append(" " * (fence.end() - at))
            at, opened = fence.end(), ""
    pieces.append(" " * (len(text) - at) if opened else text[at:])
    return "".join(pieces)


def _without_script(text: str) -> str:
    """Blank out lines that a named speaker says, where several do."""
    lines = [m for m in _LABEL.finditer(text) if m[1].casefold() not in _OWN_LABELS]
    if len(lines) < SCRIPT_LINES:
        return text
    pieces, at = [], 0
    for line in lines:
        pieces += [text[at : line.start()], _blank(line)]
        at = line.end()
    return "".join((*pieces, text[at:]))
