"""A later commit that holds, to the byte, the changes that a tree had when it was looked at.

A tree is launched dirty, and what ran is committed afterwards: the digest of its changes tells
which commit that is.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from pfid.adapters.git_command import GitCommand, GitGaveUpError
from pfid.adapters.git_repository import DIFF

COMMITS_MAX: Final = 200
"""So many commits after it are looked at, the oldest first."""
DEADLINE_S: Final = 20.0


def commit_with_changes(
    folder: str, environ: Mapping[str, str], base: str, diff_sha256: str
) -> str | None:
    """Return the first commit after ``base`` that differs from it by exactly these changes.

    Args:
        folder: absolute, in the repository.
        environ: to ask git in.
        base: a commit, in full.
        diff_sha256: as ``GitFacts`` has it.

    Returns:
        The commit in full; None if there is none, or it cannot be told.
    """
    git = GitCommand(folder, environ)
    git.begin(DEADLINE_S)
    try:
        root = git.text("rev-parse", "--show-toplevel")
        later = git.text("rev-list", "--all", "--ancestry-path", "--reverse", f"^{base}")
        for commit in later.split()[:COMMITS_MAX]:
            changes = git.run(*DIFF, base, commit, "--", folder=root)
            if hashlib.sha256(changes).hexdigest() == diff_sha256:
                return commit
    except GitGaveUpError:
        return None
    return None
