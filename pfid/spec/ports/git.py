"""The repository that the training code lies in, as git itself sees it."""

from typing import Protocol

from pfid.domain.repository import (
    CHANGES_MAX,
    GitChange,
    GitFacts,
    GitProblem,
    GitSubmodule,
)

__all__ = ["CHANGES_MAX", "GitChange", "GitFacts", "GitPort", "GitProblem", "GitSubmodule"]


class GitPort(Protocol):
    """The repository around one folder."""

    def facts(self) -> GitFacts:
        """Look at it now; every call looks again."""
        ...

    def tracked(self) -> tuple[str, ...] | None:
        """Every tracked file, from the root of the repository; None if that cannot be told."""
        ...
