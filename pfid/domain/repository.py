"""A repository at one moment, as git itself sees it."""

from dataclasses import dataclass
from enum import Enum

from msgspec import Struct


class GitProblem(Enum):
    """Why nothing can be told. The value is fit to be a reason code."""

    NONE = ""
    NO_GIT = "git_not_installed"
    NO_REPOSITORY = "no_repository"
    DUBIOUS_OWNERSHIP = "dubious_ownership"
    """The folder belongs to somebody else and git refuses: neither clean nor dirty."""
    BARE = "bare_repository"
    """There is no working tree."""
    NO_COMMIT = "no_commit"
    """A repository without a first commit: nothing names the code."""
    HUNG = "git_hung"
    FAILED = "git_failed"
    """Git gave up: a damaged repository, a format it does not know, a full disk."""


class GitChange(Struct, frozen=True, kw_only=True):
    """A tracked file that differs from the commit.

    Attributes:
        path: from the root of the repository.
        state: git's two letters (index, then working tree), as in ``.M``.
        submodule: whether it is one.
    """

    path: str
    state: str
    submodule: bool = False


class GitSubmodule(Struct, frozen=True, kw_only=True):
    """One submodule.

    Attributes:
        path: from the root of the repository.
        commit: what the commit of the outer repository names; None if it was added since.
        checked_out: what lies in the working tree; None if it is not checked out, or not readable.
        moved: whether the two differ.
        dirty: whether tracked files in it differ from its commit.
        untracked: whether it holds files that it does not track.
    """

    path: str
    commit: str | None
    checked_out: str | None
    moved: bool = False
    dirty: bool = False
    untracked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFacts:
    """A repository at one moment. Every field but ``problem`` and ``detail`` is empty on a problem.

    Attributes:
        problem: why nothing can be told.
        detail: git's own words, for the run's owner alone; untrusted.
        root: the top of the working tree.
        commit: HEAD, in full.
        describe: ``git describe --always --dirty``.
        branch: None where HEAD is detached.
        dirty: whether tracked files differ from the commit, in submodules too.
        changes: those files, CHANGES_MAX at most.
        changes_n: how many there are.
        untracked: files that are neither tracked nor ignored, CHANGES_MAX at most.
        untracked_n: how many there are.
        diff_sha256: of ``git diff --full-index HEAD`` with that of every submodule behind it; None
            if not dirty, and if it could not be taken.
        submodules: every submodule of HEAD or the index, not recursive.
        filters_off: content filters of the repository's own configuration that were not run; a
            file they serve may be called changed where it is not.
    """

    problem: GitProblem = GitProblem.NONE
    detail: str = ""
    root: str = ""
    commit: str | None = None
    describe: str | None = None
    branch: str | None = None
    dirty: bool | None = None
    changes: tuple[GitChange, ...] = ()
    changes_n: int = 0
    untracked: tuple[str, ...] = ()
    untracked_n: int = 0
    diff_sha256: str | None = None
    submodules: tuple[GitSubmodule, ...] = ()
    filters_off: tuple[str, ...] = ()


CHANGES_MAX = 1_000
"""So many changed or untracked files are named."""
