"""A ledger judged where it lies: its claims, its artefacts, and the repository around it."""

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pfid.bootstrap.claims.findings import Finding, findings_of
from pfid.bootstrap.manifest_drift import sha256_of
from pfid.bootstrap.preflight.figures import SearchError, Standing, find_standing
from pfid.bootstrap.preflight.project import Project
from pfid.config.claims import Ledger
from pfid.config.preflight.source import Claims
from pfid.config.preflight.spec import Spec
from pfid.domain.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a look came to.

    Attributes:
        findings: everything that is wrong or could not be looked at.
        standing: the search for superseded figures; None if it could not be made.
    """

    findings: tuple[Finding, ...]
    standing: Standing | None


def check_ledger(
    path: Path,
    ledger: Ledger,
    on: dt.date,
    environ: Mapping[str, str],
    vendored: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Judge a ledger.

    Args:
        path: of the ledger; artefacts are named from its folder.
        ledger: what it holds.
        on: the day on which it is judged.
        environ: with a PATH on which git and ripgrep may be.
        vendored: folders that are somebody else's text.
        told: is told how far the search is, often.
    """
    folder = path.absolute().parent
    found = list(findings_of(ledger, on, lambda name: sha256_of(artefact(folder, name))))
    try:
        standing = search_around(path, ledger, environ, vendored, told)
    except SearchError as error:
        found.append(_unknown("search_failed", str(error), ""))
        return Checked(findings=tuple(found), standing=None)
    return Checked(findings=(*found, *_of_search(ledger, standing)), standing=standing)


def search_around(
    path: Path,
    ledger: Ledger,
    environ: Mapping[str, str],
    vendored: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Standing:
    """Look for superseded figures in the repository of a ledger, or its folder.

    Raises:
        SearchError: if git cannot name the files.
    """
    folder = path.absolute().parent
    spec = Spec(claims=Claims(file=path.name, vendored=list(vendored)))
    project = Project(spec=spec, folder=folder, state=folder, environ=environ)
    return find_standing(project, path, ledger, vendored, told)


def artefact(folder: Path, name: str) -> Path:
    """The path of an artefact that a ledger names."""
    return folder / os.path.expanduser(name)  # noqa: PTH111 - before it is joined


def _of_search(ledger: Ledger, standing: Standing) -> Iterator[Finding]:
    for place in standing.places:
        yield Finding(
            outcome=Outcome.FAIL,
            code="superseded_stands",
            key=place.key,
            text=f"{place.text.strip()!r} {_instead(ledger, place.key)}",
            where=f"{place.path}:{place.line}",
        )
    if standing.nothing:
        yield _unknown("nothing_searched", f"{standing.nothing} superseded figures", "")
    for path in standing.unread:
        yield _unknown("file_unread", "cannot be looked at for superseded figures", path)
    if standing.further:
        listed = len(standing.places) + standing.allowed
        yield _unknown("places_unlisted", f"{standing.further} places beyond {listed} unlisted", "")


def _instead(ledger: Ledger, key: str) -> str:
    by = [c.superseded_by for c in ledger.of(key) if not c.live and c.superseded_by]
    return f"is superseded (pfid claims why {by[0] if by else key})"


def _unknown(code: str, text: str, where: str) -> Finding:
    return Finding(outcome=Outcome.UNKNOWN, code=code, key="", text=text, where=where)
