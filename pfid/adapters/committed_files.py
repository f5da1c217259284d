"""Files as a commit holds them, out of the repository; what lies in a tree is not looked at."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pfid.adapters.git_command import GitCommand, GitGaveUpError
from pfid.domain.errors import PfidError
from pfid.domain.repository import GitProblem

DEADLINE_S: Final = 60.0
"""For all of them together."""


class CommitUnreadableError(PfidError):
    """There is no such commit, no such place in it, or no repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit.

    Attributes:
        sha: in full.
        describe: as ``git describe --always`` names it.
    """

    sha: str
    describe: str


class CommittedFiles:
    """What stands in one commit below one folder of its repository."""

    def __init__(self, folder: str, environ: Mapping[str, str], revision: str) -> None:
        """Find the commit.

        Args:
            folder: absolute; of the working tree, or a bare repository.
            environ: to ask git in.
            revision: any name of a commit; no option.

        Raises:
            CommitUnreadableError: if it names no commit there.
        """
        self._git = GitCommand(folder, environ)
        self._git.begin(DEADLINE_S)
        try:
            self.under = self._git.text("rev-parse", "--show-prefix")
            sha = self._git.text(
                *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            )
            described = self._git.text("describe", "--always", sha)
        except GitGaveUpError as error:
            raise CommitUnreadableError(_why(error, folder, revision)) from error
        self.commit = Commit(sha=sha, describe=described)

    def mentioning(self, words: Sequence[str], name: str = "") -> Iterator[str]:
        """Yield the paths of the text files that hold one of the words, in any case.

        Args:
            words: literal.
            name: one file of the folder; "" for all below it.

        Returns:
            Paths from the top of the repository, in order.

        Raises:
            CommitUnreadableError: if the commit has no such folder or file.
        """
        place = str(PurePosixPath(self.under, name))
        place = "" if place == "." else place
        self._run("cat-file", "-e", f"{self.commit.sha}:{place}")
        patterns = [part for word in words for part in ("-e", word)]
        found = self._run(
            *("grep", "-I", "--fixed-strings", "--ignore-case", "--full-name", "--null"),
            *(
                "--files-with-matches",
                "--no-textconv",
                "--no-recurse-submodules",
                *patterns,
                self.commit.sha,
            ),
            *("--", f":(top,literal){place}" if place else ":(top)"),
            may_fail=True,
        )
        for line in found.split(b"\0"):
            if line:
                yield os.fsdecode(line).partition(":")[2]

    def size_bytes(self, path: str) -> int:
        """Return the size of a file, ``path`` being from the top of the repository.

        Raises:
            CommitUnreadableError: if it is not there.
        """
        return int(self._run("cat-file", "-s", f"{self.commit.sha}:{path}"))

    def read(self, path: str) -> bytes:
        """Return the bytes of a file, ``path`` being from the top of the repository.

        Raises:
            CommitUnreadableError: if it is not there.
        """
        return self._run("cat-file", "blob", f"{self.commit.sha}:{path}")

    def _run(self, *arguments: str, may_fail: bool = False) -> bytes:
        try:
            return self._git.run(*arguments, may_fail=may_fail)
        except GitGaveUpError as error:
            raise CommitUnreadableError(
                f"commit {self.commit.describe} cannot be read: {_words(error)}"
            ) from error


def _why(error: GitGaveUpError, folder: str, revision: str) -> str:
    if error.problem is GitProblem.FAILED and not error.detail:
        return f"{folder}: its repository has no commit {revision!r}"
    return f"{folder}: commit {revision!r} cannot be looked up: {_words(error)}"


def _words(error: GitGaveUpError) -> str:
    last = (error.detail.strip().splitlines() or [""])[-1]
    return f"{error.problem.value.replace('_', ' ')}{': ' if last else ''}{last[:200]}"
