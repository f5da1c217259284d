"""``[gates.collapse]``: what is no collapse here."""

from typing import Literal

from msgspec import field

from pfid.spec.result_gates.table import Table

Script = Literal[
    "arabic", "armenian", "bengali", "cyrillic", "devanagari", "georgian", "greek", "han",
    "hangul", "hebrew", "kana", "other", "tamil", "telugu", "thai",
]  # fmt: skip


class CollapseGate(Table, frozen=True, kw_only=True):
    """The section; the check judges without it too.

    Attributes:
        scripts: alphabets that answers may be written in, beside Latin, those of the prompt and of
            the known-good answer, and those of the record's language.
        families: kinds of prompt that are looked at; none: all.
    """

    scripts: list[Script] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
