r"""Anatomy of a tqdm bar, whoever draws it.

``desc:  20%|██        | 2/10 [00:03<00:13,  1.65s/it, loss=2.31]`` and, without a total,
``1200it [12:46:40, 38.33s/it]``. The rate is an exponential mean, absurd after a pause; only the
counter and the elapsed whole seconds are facts.
"""

import re
from typing import Final, NamedTuple

from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import duration_s, real

TRIGGERS: Final = (rb"\[\d{1,9}:\d\d(?::\d\d)?[<,]",)
_FIGURES: Final = re.compile(
    rb"\[(\d{1,9}:\d\d(?::\d\d)?)(?:<[^,\]]{0,30})?, *"
    rb"(?:(\?|[\d.]{1,20}(?:e[+-]?\d{1,3})?)([kMGTP]?) ?(?:s/([A-Za-z]{1,20})|([A-Za-z]{1,20})/s))"
    rb"(?:, ([^\]]{0,2000}))?\]?"
)
_COUNT: Final = re.compile(rb"(\d{1,15})(?:/(\d{1,15})| ?[A-Za-z]{1,20})? \Z")
_PLAIN: Final = re.compile(
    rb" *\d{1,3}%\|[^|\[]{0,300}\| (\d{1,15})/(\d{1,15}) "
    rb"\[(?:(\d{1,7}):)?(\d{1,9}):(\d\d)<[\d:?]{1,20}, *([\d.]{1,20})(s/it|it/s)\][^\x1b]*\Z"
)
"""By far the commonest bar, taken in one step; all others go the long way to the same answer."""
_HEAD: Final = re.compile(rb"(?:(.*[^ \t:])\s*:)?\s*\d{1,3}%\|")
_HOST: Final = re.compile(rb"[A-Za-z][\w.-]*\d\Z")
NESTED: Final = b"\x1b[A"
"""tqdm moves the cursor up again behind a bar that is not the outermost."""


class Bar(NamedTuple):
    """One drawing of a bar.

    Attributes:
        n: counter.
        total: None if the bar has none.
        elapsed_s: whole seconds since the bar was made.
        rate_s: smoothed seconds per unit, None for ``?``.
        unit: of the rate: ``it``, ``examples``, ``B``.
        description: text before the percentage, "" if there is none.
        postfix: text behind the rate.
        nested: drawn below another bar.
        rank: from the launcher's label.
    """

    n: int
    total: int | None
    elapsed_s: float
    rate_s: float | None
    unit: str
    description: str
    postfix: str
    nested: bool
    rank: int | None


def read_bar(raw: bytes) -> Bar | None:
    """Return the bar a line holds, None if it holds none or counts in thousands (SI)."""
    plain = _PLAIN.match(raw)
    if plain is not None:
        n, total, hours, minutes, seconds, rate, unit = plain.groups()
        elapsed_s = float(int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds))
        return plain_bar(n, total, elapsed_s, rate, unit)
    rank, text = split_label(without_ansi(raw))
    at = text.find(b"[")
    while at >= 0:
        figures = _FIGURES.match(text, at)
        if figures is not None:
            count = _count(text, at)
            if count is not None:
                return _bar(raw, text, figures, count, rank)
        at = text.find(b"[", at + 1)
    return None


def plain_bar(n: bytes, total: bytes, elapsed_s: float, rate: bytes, unit: bytes) -> Bar:
    """Return a bar without a name, of whole figures and one of tqdm's own units."""
    rate_s = _seconds(rate, inverted=unit == b"s/it")
    return Bar(int(n), int(total), elapsed_s, rate_s, "it", "", "", False, None)


def _count(text: bytes, end: int) -> re.Match[bytes] | None:
    """Find ``10/1312 `` or ``1000 examples `` that ends at ``end``; 1.2k is no counter of steps."""
    word = text.rfind(b" ", 0, end - 1) + 1
    begin = text.rfind(b"|", word, end) + 1 or word
    count = _COUNT.match(text, begin, end)
    if count is None and word:
        count = _COUNT.match(text, text.rfind(b" ", 0, word - 1) + 1, end)
    return count


def _bar(
    raw: bytes, text: bytes, figures: re.Match[bytes], count: re.Match[bytes], rank: int | None
) -> Bar | None:
    elapsed, rate, si, per_unit, unit_per, postfix = figures.groups()
    elapsed_s = duration_s(elapsed)
    if elapsed_s is None:
        return None
    total = count[2]
    return Bar(
        int(count[1]),
        None if total is None else int(total),
        elapsed_s,
        None if si else _seconds(rate, inverted=per_unit is not None),
        (per_unit or unit_per).decode(),
        _description(text[: count.start()]),
        postfix.decode("utf-8", "replace") if postfix else "",
        b"\x1b" in raw and NESTED in raw[raw.find(elapsed) :],
        rank,
    )


def _seconds(rate: bytes, *, inverted: bool) -> float | None:
    value = real(rate)
    if not value or value < 0:
        return None
    return value if inverted else 1 / value


def _description(before: bytes) -> str:
    if before.lstrip()[:4].rstrip(b"%| ").isdigit():
        return ""
    head = _HEAD.match(before)
    text = (head[1] if head else before.strip().rstrip(b":")) or b""
    text = text.strip()
    if _HOST.match(text):  # a multi-node launcher's label, worker-1:
        return ""
    return text.decode("utf-8", "replace")
