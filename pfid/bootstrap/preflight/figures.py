"""Superseded figures of the ledger, looked for in the whole repository."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pfid.adapters.figure_files import search_files, walked
from pfid.adapters.figure_places import Place
from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.project import Project
from pfid.config.claims import Claim, Ledger, load_claims
from pfid.domain.errors import ConfigError, PfidError
from pfid.formats.figures.wanted import Wanted, is_same_figure
from pfid.spec.ports.preflight import FiguresFacts


class SearchError(PfidError):
    """The repository cannot be searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where superseded figures stand.

    Attributes:
        claims: superseded claims that were looked for.
        places: where, without those that are allowed.
        allowed: places that an allow-list with a reason excuses.
        unread: files that could not be looked at.
        read: files that were looked through.
        left_out: binary and vendored files, and links.
        by: "ripgrep" or "python".
        further: places beyond those that are listed, allowed or not.
    """

    claims: int
    places: tuple[Place, ...]
    allowed: int
    unread: tuple[str, ...]
    read: int
    left_out: int
    by: str
    further: int = 0

    @property
    def nothing(self) -> str:
        """That figures were looked for in no file at all, in words; "" where there was one."""
        if not self.claims or self.read or self.unread:
            return ""
        left_out = f" ({self.left_out} left out)" if self.left_out else ""
        return f"not one file was looked through{left_out}: nothing is known of {self.claims}"


def figures_facts(project: Project) -> FiguresFacts | None:
    """Look for them; None where the spec names no ledger."""
    claims = project.spec.claims
    if claims is None:
        return None
    path = project.path(claims.file)
    try:
        found = find_standing(project, path, load_claims(path), claims.vendored)
    except ConfigError as error:
        return FiguresFacts(problem="claims_unreadable", detail="; ".join(error.problems[:5]))
    except SearchError as error:
        return FiguresFacts(problem="search_failed", detail=str(error))
    if found.nothing:
        return FiguresFacts(problem="search_failed", detail=found.nothing)
    return FiguresFacts(
        claims=found.claims,
        places=tuple(f"{p.path}:{p.line}: {p.text} ({p.key})" for p in found.places),
        allowed=found.allowed,
        unread=found.unread,
        left_out=found.left_out,
        further=found.further,
    )


def find_standing(
    project: Project,
    path: Path,
    ledger: Ledger,
    vendored: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Standing:
    """Look for every superseded figure.

    Args:
        project: whose repository, or folder if there is none, is searched.
        path: of the ledger, which may name its own figures.
        ledger: what it holds.
        vendored: folders that are somebody else's text.
        told: is told how far it is, often.

    Raises:
        SearchError: if git cannot name the files.
    """
    wanted = superseded_figures(ledger)
    closed: list[str] = []
    root, files = _files(project, closed)
    own = _within(root, path)
    searched = search_files(
        root,
        [f for f in files if f != own],
        wanted,
        vendored=vendored,
        environ=project.environ,
        told=told,
    )
    allowed: dict[str, list[str]] = {}
    for claim in ledger.claims:
        allowed.setdefault(claim.key, []).extend(a.path for a in claim.allow)
    standing = [p for p in searched.places if not _is_allowed(p, allowed.get(p.key, []))]
    return Standing(
        claims=len(wanted),
        places=tuple(standing),
        allowed=len(searched.places) - len(standing),
        unread=(*closed, *searched.unread),
        read=searched.read,
        left_out=searched.left_out,
        by=searched.by,
        further=searched.further,
    )


def superseded_figures(ledger: Ledger) -> list[Wanted]:
    """What is looked for: the figure of every claim that fell, unless it was confirmed since."""
    live = [(c.key, wanted_of(c)) for c in ledger.claims if c.live and c.ends]
    fallen = [(c.key, wanted_of(c)) for c in ledger.claims if not c.live and c.ends]
    return [
        wanted
        for key, wanted in fallen
        if not any(key == other and is_same_figure(wanted, now) for other, now in live)
    ]


def wanted_of(claim: Claim) -> Wanted:
    """The figure of a claim that has one."""
    high = claim.ends[1] if len(claim.ends) > 1 else None
    return Wanted(key=claim.key, low=claim.ends[0], high=high, unit=claim.unit)


def _files(project: Project, closed: list[str]) -> tuple[Path, list[str]]:
    """Tracked files and those that could be committed; without a repository every file."""
    git = project.git
    if git.problem.value:
        return project.folder, list(walked(project.folder, closed))
    tracked, others = project.repository.tracked(), project.repository.untracked()
    if tracked is None or others is None:
        raise SearchError("git cannot name the files")
    root = Path(git.root)
    return root, list(dict.fromkeys([*tracked, *untracked_files(root, others)]))


def _within(root: Path, path: Path) -> str:
    """The path from the root, however each is spelled; "" outside of it."""
    root, path = root.resolve(), path.resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else ""


def _is_allowed(place: Place, patterns: list[str]) -> bool:
    return any(fnmatch(place.path, pattern) for pattern in patterns)
