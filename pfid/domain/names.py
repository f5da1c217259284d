"""Names and ids: opaque strings with a fixed alphabet, safe in labels, paths and terminals."""

import re
from typing import Final, NewType

RunId = NewType("RunId", str)
"""One launch: a slug of ``[a-z0-9-]``, at most 63 long, of name, start and a nonce."""

RunName = NewType("RunName", str)
"""What its owner calls a training job; relaunches share it. Untrusted text, at most 200 long."""

CheckName = NewType("CheckName", str)
"""File stem of a check, its metric label and its test's name: ``[a-z][a-z0-9_]*``."""

ReasonCode = NewType("ReasonCode", str)
"""Why a verdict came out as it did; a fixed set per check."""

RUN_ID_MAX_CHARS: Final = 63
RUN_NAME_MAX_CHARS: Final = 200
_RUN_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")
_CHECK_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")


def run_id(text: str) -> RunId:
    """Accept ``text`` as a run id.

    Raises:
        ValueError: if it is not a slug of at most 63 characters.
    """
    if not _RUN_ID.match(text):
        raise ValueError(f"run id {text!r} is not a slug of [a-z0-9-], at most 63 characters")
    return RunId(text)


def check_name(text: str) -> CheckName:
    """Accept ``text`` as a check name.

    Raises:
        ValueError: if it is not ``[a-z][a-z0-9_]*``.
    """
    if not _CHECK_NAME.match(text):
        raise ValueError(f"check name {text!r} must match [a-z][a-z0-9_]* (at most 63 characters)")
    return CheckName(text)


def slug(text: str, max_chars: int = 40) -> str:
    """Return ``text`` lowered to ``[a-z0-9-]``, never empty, at most ``max_chars`` long."""
    lowered = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:max_chars].strip("-")
    return lowered or "run"
