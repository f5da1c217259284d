"""A repository as it lies there, asked of git with nothing run that it brings along."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pfid.adapters.git_command import GitCommand, GitGaveUpError
from pfid.adapters.git_index import index_that_looks
from pfid.domain.repository import GitFacts, GitProblem, GitSubmodule

if TYPE_CHECKING:
    from pfid.formats.git_status import GitStatus

DEADLINE_S: Final = 20.0
"""For one look, all its commands together."""
_DEPTH_MAX: Final = 8
"""Submodules of submodules are followed so deep."""
DIFF: Final = (
    "diff",
    "--full-index",  # names a binary file's content by its digest
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--diff-algorithm=myers",
    "--unified=3",
    "--ignore-submodules=none",
    "--submodule=short",  # showing what differs inside would run programs of the inner one
)
"""Shows changes so that their digest is the same wherever they are looked at."""


class GitRepository:
    """The repository around one folder."""

    def __init__(
        self, folder: str, environ: Mapping[str, str], *, deadline_s: float = DEADLINE_S
    ) -> None:
        """Nothing is started yet; ``folder`` is absolute."""
        self._deadline_s = deadline_s
        self._command = GitCommand(folder, environ)
        self._text, self._git = self._command.text, self._command.run

    def facts(self) -> GitFacts:
        """Look at it now."""
        self._command.begin(self._deadline_s)
        try:
            return self._look()
        except GitGaveUpError as error:
            return GitFacts(problem=error.problem, detail=error.detail)

    def tracked(self) -> tuple[str, ...] | None:
        """Every tracked file."""
        return self._listed()

    def untracked(self) -> tuple[str, ...] | None:
        """All that is neither tracked nor ignored; a folder of such files by the folder alone."""
        return self._listed("--others", "--exclude-standard", "--directory")

    def ignored(self) -> tuple[str, ...] | None:
        """All that git is told to ignore; a folder of such files by the folder alone."""
        return self._listed("--others", "--ignored", "--exclude-standard", "--directory")

    def links(self) -> tuple[str, ...] | None:
        """Every tracked symbolic link."""
        from pfid.formats.git_status import symlinks

        listed = self._list("--stage")
        return None if listed is None else tuple(symlinks(listed))

    def submodules(self) -> tuple[str, ...] | None:
        """Where every submodule of the index lies, checked out or not."""
        from pfid.formats.git_status import gitlinks

        listed = self._list("--stage")
        return None if listed is None else tuple(path for path, _ in gitlinks(listed))

    def _listed(self, *options: str) -> tuple[str, ...] | None:
        listed = self._list(*options)
        if listed is None:
            return None
        return tuple(os.fsdecode(path) for path in listed.split(b"\0") if path)

    def _list(self, *options: str) -> bytes | None:
        self._command.begin(self._deadline_s)
        try:
            root = self._text("rev-parse", "--show-toplevel")
            return self._git("ls-files", "-z", *options, folder=root)
        except GitGaveUpError:
            return None

    def _look(self) -> GitFacts:
        root = self._text("rev-parse", "--show-toplevel")
        links = dict(self._links(root))
        filters = tuple(sorted(set(self._filters(root, links, _DEPTH_MAX))))
        with index_that_looks(self._command, root) as index:
            return self._seen(root, links, filters, index)

    def _seen(
        self, root: str, links: Mapping[str, str], filters: tuple[str, ...], index: str | None
    ) -> GitFacts:
        from pfid.formats.git_status import parse_status  # a launch outside of one needs none

        off = tuple(f"filter.{name}.{key}" for name in filters for key in ("clean=", "process="))
        off += tuple(f"filter.{name}.required=false" for name in filters)
        status = parse_status(self._status(root, off, index))
        if status.commit is None:
            return GitFacts(problem=GitProblem.NO_COMMIT, detail=root)
        submodules = tuple(self._submodules(root, links, status, off))
        dirty = bool(status.changes_n) or any(inner.dirty for inner in submodules)
        named = self._text("describe", "--always", status.commit, folder=root)
        return GitFacts(
            root=root,
            commit=status.commit,
            describe=f"{named}-dirty" if dirty else named,
            branch=status.branch,
            dirty=dirty,
            changes=status.changes,
            changes_n=status.changes_n,
            untracked=status.untracked,
            untracked_n=status.untracked_n,
            diff_sha256=self._digest(root, status.commit, off, index) if dirty else None,
            submodules=submodules,
            filters_off=filters,
        )

    def _status(self, folder: str, off: Sequence[str], index: str | None) -> bytes:
        return self._git(
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=none",
            "--no-renames",
            "--no-ahead-behind",
            folder=folder,
            off=off,
            index=index,
        )

    def _digest(self, root: str, commit: str, off: Sequence[str], index: str | None) -> str | None:
        """Digest of all that differs; None where that is too much, or cannot be read."""
        digest = hashlib.sha256()
        try:
            for text in self._diffs(root, commit, off, index, _DEPTH_MAX):
                digest.update(text)
        except GitGaveUpError:
            return None
        return digest.hexdigest()

    def _diffs(
        self, folder: str, commit: str, off: Sequence[str], index: str | None, depth: int
    ) -> Iterator[bytes]:
        """What differs in a repository, then what differs inside its submodules."""
        yield self._git(*DIFF, commit, "--", folder=folder, off=off, index=index)
        for path, _ in self._links(folder):
            inner = f"{folder}/{path}"
            if depth and os.path.lexists(f"{inner}/.git"):
                with index_that_looks(self._command, inner) as looking:
                    yield from self._diffs(inner, "HEAD", off, looking, depth - 1)

    def _links(self, root: str) -> Iterator[tuple[str, str]]:
        """Submodules in the index and the commits it names; listing takes long, so only if any."""
        if os.path.lexists(f"{root}/.gitmodules"):
            from pfid.formats.git_status import gitlinks

            yield from gitlinks(self._git("ls-files", "--stage", "-z", folder=root))

    def _filters(self, folder: str, links: Mapping[str, str], depth: int) -> Iterator[str]:
        """Names of the content filters that repositories bring along, submodules' included."""
        listed = self._git(
            "config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.",
            folder=folder, may_fail=True,
        )  # fmt: skip
        fields = os.fsdecode(listed).split("\0")
        for scope, key in zip(fields[::2], fields[1::2], strict=False):
            if scope in {"local", "worktree"}:
                yield key.split(".", 1)[1].rpartition(".")[0]
        for path in links:
            inner = f"{folder}/{path}"
            if depth and os.path.lexists(f"{inner}/.git"):
                yield from self._filters(inner, dict(self._links(inner)), depth - 1)

    def _submodules(
        self, root: str, links: Mapping[str, str], status: "GitStatus", off: Sequence[str]
    ) -> Iterator[GitSubmodule]:
        for path in sorted({*links, *status.submodules}):
            seen = status.submodules.get(path)
            known = seen or GitSubmodule(path=path, commit=links.get(path), checked_out=None)
            inner = f"{root}/{path}"
            dirty = known.dirty or self._differs_unlooked(inner, off, _DEPTH_MAX)
            yield replace(known, checked_out=self._checked_out(inner, known), dirty=dirty)

    def _differs_unlooked(self, folder: str, off: Sequence[str], depth: int) -> bool:
        """Whether a submodule, or one in it, differs where its index takes it for unchanged."""
        from pfid.formats.git_status import parse_status

        if not depth or not os.path.lexists(f"{folder}/.git"):
            return False
        with index_that_looks(self._command, folder) as index:
            if index is not None and parse_status(self._status(folder, off, index)).changes_n:
                return True
        inner = (f"{folder}/{path}" for path, _ in self._links(folder))
        return any(self._differs_unlooked(each, off, depth - 1) for each in inner)

    def _checked_out(self, folder: str, known: GitSubmodule) -> str | None:
        """What lies there; without a repository of its own, git would answer for the outer one."""
        if not os.path.lexists(f"{folder}/.git"):
            return None
        if not known.moved:
            return known.commit
        try:
            return self._text("rev-parse", "HEAD", folder=folder)
        except GitGaveUpError:
            return None
