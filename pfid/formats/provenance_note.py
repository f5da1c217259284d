"""``PROVENANCE-NOTE.md``: what is wrong with an artefact, and what is not, beside it.

An artefact that was edited to say what it did not say is the worse failure (playbook 4.4.1): the
note stands beside it and names the digest of what it is about. A bare correction casts doubt over
every field it does not mention; what is not wrong is said too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TITLE: Final = "# Provenance note"
_ABOUT: Final = re.compile(
    r"^- artefact: `(?P<name>[^`\n]+)`\n- sha256: `(?P<sha>[0-9a-f]{64})`$", re.MULTILINE
)
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One entry.

    Attributes:
        artefact: file name of what it is about, beside the note.
        sha256: of that file, untouched.
        written: when, RFC 3339.
        author: who wrote it.
        run_id: of the run, "" if that is not known.
        wrong: what is wrong.
        since: since when.
        evidence: what shows it.
        not_wrong: what remains right.
    """

    artefact: str
    sha256: str
    written: str
    author: str
    run_id: str
    wrong: Sequence[str]
    since: str
    evidence: Sequence[str]
    not_wrong: Sequence[str]


def entry(note: Annotation) -> str:
    """Write one entry as Markdown; text is never taken for markup."""
    return "\n".join(
        (
            f"## {note.written}, {_plain(note.author)}",
            "",
            f"- artefact: `{_name(note.artefact)}`",
            f"- sha256: `{note.sha256}`",
            *((f"- run: `{_name(note.run_id)}`",) if note.run_id else ()),
            f"- since: {_plain(note.since)}",
            "",
            "The artefact was not edited; this note stands beside it.",
            "",
            *_list("What is wrong", note.wrong),
            *_list("Evidence", note.evidence),
            *_list("What is not wrong", note.not_wrong),
        )
    )


def _list(title: str, items: Sequence[str]) -> tuple[str, ...]:
    return (f"### {title}", "", *(f"- {_plain(item)}" for item in items), "")


def _plain(text: str) -> str:
    """One line of text, its markup made harmless."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _name(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def digests_in(text: str) -> dict[str, str]:
    """Digests by name of artefact, the first entry's: later ones must agree with it."""
    found: dict[str, str] = {}
    for match in _ABOUT.finditer(text):
        found.setdefault(match["name"], match["sha"])
    return found
