"""The corpus that outputs are held against."""

from typing import Annotated, Literal

from msgspec import Meta

from pfid.spec.result_gates.table import Table


class MemorisationGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        corpus: files and folders; ``.gz`` is unpacked, ``.jsonl`` is read by ``field``.
        field: of JSON lines, where the text is; a dot goes one table deeper, ``*`` takes every
            entry of a list.
        min_chars: shorter runs are chance and are not looked for.
        normalise: ``none`` compares as it stands; ``case_and_blanks`` in lower case with one blank
            for any run of them.
        deadline_s: for everything.
    """

    corpus: Annotated[list[str], Meta(min_length=1, max_length=10_000)]
    field: Annotated[str, Meta(min_length=1, max_length=200)] = "text"
    min_chars: Annotated[int, Meta(ge=16, le=100_000)] = 50
    normalise: Literal["none", "case_and_blanks"] = "none"
    deadline_s: Annotated[float, Meta(gt=0, le=86_400)] = 1_800.0
