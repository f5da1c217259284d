"""One command of git's own, without a shell and without anything that a repository brings along.

A repository may carry programs in its own configuration (a monitor, content filters, external
diffs, hooks): none of them is run, nothing is fetched, and no lock is taken. What the user's or
the machine's own configuration says stays in force; ``safe.directory`` is one of those things.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Final

from pfid.adapters.bounded_process import CannotStartError, Finished, found_program, run_bounded
from pfid.domain.repository import GitProblem

_OFF: Final = (
    "core.checkStat=default",  # all of what the index keeps of a file is compared
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.trustctime=true",  # a file that was replaced with its size and date kept is looked at
    "credential.helper=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.orderFile=/dev/null",
    "protocol.allow=never",
    "status.submoduleSummary=false",
)
_ENVIRON: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its name says
    "LC_ALL": "C",
}
_PROBLEMS: Final = (
    ("dubious ownership", GitProblem.DUBIOUS_OWNERSHIP),
    ("unsafe repository", GitProblem.DUBIOUS_OWNERSHIP),
    ("not a git repository (or any", GitProblem.NO_REPOSITORY),
    ("must be run in a work tree", GitProblem.BARE),
)


class GitGaveUpError(Exception):
    """Git said no; carries what that means."""

    def __init__(self, problem: GitProblem, detail: str) -> None:
        """Keep both; ``detail`` is git's own words."""
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class GitCommand:
    """Git in one folder. One look may be several commands under one deadline."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        """Nothing is started yet; ``folder`` is absolute."""
        self._folder = folder
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = {**kept, **_ENVIRON}
        self._until_s = 0.0

    def begin(self, deadline_s: float) -> None:
        """A look begins: all its commands together take so long at most."""
        self._until_s = time.monotonic() + deadline_s

    def text(self, *arguments: str, folder: str | None = None) -> str:
        """Run one and return its line.

        Raises:
            GitGaveUpError: if it fails.
        """
        return os.fsdecode(self.run(*arguments, folder=folder)).removesuffix("\n")

    def run(
        self,
        *arguments: str,
        folder: str | None = None,
        off: Sequence[str] = (),
        index: str | None = None,
        may_fail: bool = False,
    ) -> bytes:
        """Run one and return its output.

        Args:
            arguments: for git.
            folder: where, if not in the one it was made for.
            off: what else of the configuration does not count.
            index: a file that is read, and written, in the place of the repository's own.
            may_fail: whether nothing found is an answer.

        Raises:
            GitGaveUpError: if it fails, and may not.
        """
        program = found_program("git", self._environ, "/")
        if program is None:
            raise GitGaveUpError(GitProblem.NO_GIT, "there is no git on the PATH")
        switched_off = [part for key in (*_OFF, *off) for part in ("-c", key)]
        try:
            finished = run_bounded(
                [program, "--no-pager", *switched_off, "-C", folder or self._folder, *arguments],
                self._environ if index is None else {**self._environ, "GIT_INDEX_FILE": index},
                deadline_s=max(0.0, self._until_s - time.monotonic()),
                out_max_bytes=1 << 26,
            )
        except CannotStartError as error:
            raise GitGaveUpError(GitProblem.NO_GIT, str(error)) from error
        if finished.exit_code != 0 and not (may_fail and finished.exit_code == 1):
            raise GitGaveUpError(_problem(finished), finished.tail.decode(errors="replace").strip())
        return finished.out


def _problem(finished: Finished) -> GitProblem:
    if finished.hung:
        return GitProblem.HUNG
    said = finished.tail.decode(errors="replace")
    return next((problem for words, problem in _PROBLEMS if words in said), GitProblem.FAILED)
