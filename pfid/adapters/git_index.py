"""The index of a repository without the marks that keep git from looking at a file.

``git update-index --assume-unchanged`` and ``--skip-worktree`` make git call a file unchanged
whatever lies there. A commit that is called clean by their word does not describe what would run.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pfid.adapters.git_command import GitCommand, GitGaveUpError
from pfid.domain.repository import GitProblem

_AT_A_TIME: Final = 500
"""Paths in one command line."""


@contextmanager
def index_that_looks(command: GitCommand, root: str) -> Iterator[str | None]:
    """A copy of the index without such marks, while the context lasts; None if it has none.

    What a sparse checkout leaves out, and is not there, stays marked.

    Raises:
        GitGaveUpError: if git says no, or the index cannot be copied.
    """
    from pfid.formats.git_status import unlooked  # a launch outside of a repository needs none

    marked = [
        path
        for path, sparse in unlooked(command.run("ls-files", "-v", "-z", folder=root))
        if not sparse or os.path.lexists(f"{root}/{path}")
    ]
    if not marked:
        yield None
        return
    import shutil
    import tempfile

    own = command.text("rev-parse", "--git-path", "index", folder=root)
    with tempfile.TemporaryDirectory(prefix="pfid-index-") as place:
        copy = f"{place}/index"
        try:
            shutil.copyfile(f"{root}/{own}" if not own.startswith("/") else own, copy)
        except OSError as error:
            raise GitGaveUpError(GitProblem.FAILED, f"the index: {error.strerror}") from error
        for mark in ("--no-assume-unchanged", "--no-skip-worktree"):
            for at in range(0, len(marked), _AT_A_TIME):
                some = marked[at : at + _AT_A_TIME]
                command.run("update-index", mark, "--", *some, folder=root, index=copy)
        yield copy
