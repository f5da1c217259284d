"""Superseded figures of the ledger, looked for in the whole repository."""

from fnmatch import fnmatch
from pathlib import Path

from pfid.adapters.figure_files import Place, Searched, search_files, walked
from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.project import Project
from pfid.config.claims import Claim, Ledger, load_claims
from pfid.domain.errors import ConfigError
from pfid.formats.figure_search import Wanted
from pfid.spec.ports.preflight import FiguresFacts


def figures_facts(project: Project) -> FiguresFacts | None:
    """Look for them; None where the spec names no ledger."""
    claims = project.spec.claims
    if claims is None:
        return None
    path = project.path(claims.file)
    try:
        ledger = load_claims(path)
    except ConfigError as error:
        return FiguresFacts(problem="claims_unreadable", detail="; ".join(error.problems[:5]))
    wanted = superseded_figures(ledger)
    root, files = _files(project)
    if files is None:
        return FiguresFacts(problem="search_failed", detail="git cannot name the files")
    own = {str(p.relative_to(root)) for p in (path,) if p.is_relative_to(root)}
    searched = search_files(
        root,
        [f for f in files if f not in own],
        wanted,
        vendored=claims.vendored,
        environ=project.environ,
    )
    return _facts(searched, ledger, wanted)


def superseded_figures(ledger: Ledger) -> list[Wanted]:
    """What is looked for: the figure of every claim that fell."""
    return [_wanted(c) for c in ledger.claims if c.status == "superseded" and c.figure is not None]


def _wanted(claim: Claim) -> Wanted:
    if isinstance(claim.figure, list):
        return Wanted(key=claim.key, low=claim.figure[0], high=claim.figure[1], unit=claim.unit)
    return Wanted(key=claim.key, low=claim.figure or 0.0, unit=claim.unit)


def _files(project: Project) -> tuple[Path, list[str] | None]:
    """Tracked files and those that could be committed; without a repository every file."""
    git = project.git
    if git.problem.value:
        return project.folder, list(walked(project.folder))
    tracked = project.repository.tracked()
    root = Path(git.root)
    return root, None if tracked is None else [*tracked, *untracked_files(root, git.untracked)]


def _facts(searched: Searched, ledger: Ledger, wanted: list[Wanted]) -> FiguresFacts:
    allowed: dict[str, list[str]] = {}
    for claim in ledger.claims:
        allowed.setdefault(claim.key, []).extend(a.path for a in claim.allow)
    standing = [p for p in searched.places if not _is_allowed(p, allowed.get(p.key, []))]
    return FiguresFacts(
        claims=len(wanted),
        places=tuple(f"{p.path}:{p.line}: {p.text} ({p.key})" for p in standing),
        allowed=len(searched.places) - len(standing),
        unread=tuple(searched.unread),
        left_out=searched.left_out,
    )


def _is_allowed(place: Place, patterns: list[str]) -> bool:
    return any(fnmatch(place.path, pattern) for pattern in patterns)
