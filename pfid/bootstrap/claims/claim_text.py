"""Claims as TOML, and a ledger's text changed without touching what people wrote around them."""

import re
from collections.abc import Sequence
from typing import Final

from pfid.config.claims import Claim, Source, loads_claims
from pfid.domain.errors import ConfigError, PfidError
from pfid.formats.toml_text import quoted

_HEADER: Final = re.compile(r"^[ \t]*\[\[[ \t]*claims[ \t]*\]\][ \t]*(?:#.*)?\r?$", re.MULTILINE)
_STATUS: Final = re.compile(
    r"^(?P<indent>[ \t]*)status[ \t]*=[ \t]*(?:\"\w+\"|'\w+')(?P<rest>[ \t]*(?:#[^\r\n]*)?)\r?$",
    re.MULTILINE,
)


class LedgerTextError(PfidError):
    """A ledger is written in a way that no program should change."""


def text_of(claim: Claim) -> str:
    """One claim as a ``[[claims]]`` table."""
    rows = [
        ("key", quoted(claim.key)),
        ("text", quoted(claim.text)),
        ("figure", _figure(claim)),
        ("unit", claim.unit and quoted(claim.unit)),
        ("date", claim.date.isoformat()),
        ("source", _source(claim.source)),
        ("describes", claim.describes and quoted(claim.describes)),
        ("expires", claim.expires.isoformat() if claim.expires else ""),
        ("status", quoted(claim.status)),
        *_fallen(claim.superseded_by, claim.falls, claim.survives),
    ]
    return "[[claims]]\n" + "".join(f"{name} = {value}\n" for name, value in rows if value)


def with_claim(text: str, claim: Claim) -> str:
    """A ledger's text with a claim more, at its end.

    Raises:
        LedgerTextError: if the text takes none.
    """
    before = loads_claims(text)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return _verified(text + gap + text_of(claim), [*before.claims, claim])


def with_superseded(text: str, at: int, claim: Claim) -> str:
    """A ledger's text with the claim at a place superseded, as ``claim`` says.

    Only its status is rewritten, and what is new is put behind it.

    Raises:
        LedgerTextError: if that cannot be done without touching more.
    """
    before = loads_claims(text)
    headers = [found.end() for found in _HEADER.finditer(text)]
    if len(headers) != len(before.claims):
        raise LedgerTextError(_BY_HAND)
    ends = [*headers[1:], len(text)][at]
    wanted = [*before.claims[:at], claim, *before.claims[at + 1 :]]
    for status in _STATUS.finditer(text, headers[at], ends):
        try:
            return _verified(_with_status(text, status, claim), wanted)
        except LedgerTextError:  # that line stood in somebody's words
            continue
    raise LedgerTextError(_BY_HAND)


def _with_status(text: str, status: re.Match[str], claim: Claim) -> str:
    rows = _fallen(claim.superseded_by, claim.falls, claim.survives)
    new = [f'status = "superseded"{status["rest"].rstrip()}']
    new += [f"{name} = {value}" for name, value in rows if value]
    lines = "\n".join(status["indent"] + line for line in new)
    return text[: status.start()] + lines + text[status.end() :]


_BY_HAND: Final = (
    "the ledger is not written as [[claims]] tables with a line of their own for each status: "
    "change it by hand"
)


def _verified(text: str, wanted: Sequence[Claim]) -> str:
    """Read it back: a text that does not say what was meant is not written."""
    try:
        same = loads_claims(text).claims == list(wanted)
    except ConfigError as error:
        raise LedgerTextError(f"{_BY_HAND} ({error.problems[0]})") from error
    if not same:
        raise LedgerTextError(_BY_HAND)
    return text


def _figure(claim: Claim) -> str:
    ends = [repr(float(end)) for end in claim.ends]
    return f"[{', '.join(ends)}]" if len(ends) > 1 else "".join(ends)


def _source(source: Source) -> str:
    named = (("kind", source.kind), ("by", source.by), ("file", source.file))
    pairs = [f"{name} = {quoted(value)}" for name, value in named if value]
    pairs += [f"sha256 = {quoted(source.sha256)}"] if source.sha256 else []
    return f"{{ {', '.join(pairs)} }}"


def _fallen(by: str, falls: Sequence[str], survives: Sequence[str]) -> list[tuple[str, str]]:
    return [
        ("superseded_by", by and quoted(by)),
        ("falls", _array(falls) if falls else ""),
        ("survives", _array(survives) if survives else ""),
    ]


def _array(texts: Sequence[str]) -> str:
    return f"[{', '.join(quoted(text) for text in texts)}]"
