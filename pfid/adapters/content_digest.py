"""Digests of declared files by their content, several at a time, told how far they are.

A path is stable across an edit; that is why it proves nothing (playbook section 4.1). A digest is
kept between launches only where its owner says so, keyed by inode, size and both times: whoever
writes through a mapping, or sets the clock back, can fool that, and the manifest says that it was
trusted.
"""

import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pfid.adapters.declared_folder import FolderError, content_of
from pfid.domain.provenance import FileIdentity, FileRole

_BLOCK_BYTES: Final = 1 << 20
SAY_EVERY_S: Final = 2.0
SETTLED_S: Final = 2.0
"""A file younger than the clock's own grain could change again and look the same: not kept."""
_Key = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A file or folder to be digested; ``path`` is absolute."""

    role: FileRole
    path: str


class DigestCache:
    """Digests of earlier readings, in one file of its user's."""

    def __init__(self, file: Path | None) -> None:
        """None for no cache."""
        self._file = file
        self._known: dict[str, str] = {}
        self._new = False
        if file is not None:
            self._known = _read_cache(file)

    def get(self, path: str, key: _Key) -> str | None:
        """Return what is known of exactly this file."""
        return self._known.get(_entry(path, key)) if self._file is not None else None

    def put(self, path: str, key: _Key, digest: str) -> None:
        """Remember it."""
        if self._file is not None:
            self._known[_entry(path, key)] = digest
            self._new = True

    def save(self) -> None:
        """Write it, whole or not at all; a cache that cannot be written is no loss."""
        if self._file is None or not self._new:
            return
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(json.dumps(self._known))
            draft.replace(self._file)
        except OSError:
            draft.unlink(missing_ok=True)


def _entry(path: str, key: _Key) -> str:
    return ":".join((*map(str, key), path))


def _read_cache(file: Path) -> dict[str, str]:
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    good = isinstance(known, dict) and all(isinstance(v, str) for v in known.values())
    return known if good else {}


class _Readers:
    """Threads that digest one file after the other; they die with the program, whatever they read.

    A pool of the library's would be waited for at the end, to the last byte of a file that nobody
    wants any more, or for ever where a mount is dead.
    """

    def __init__(self, paths: Sequence[str], cache: DigestCache, at_a_time: int) -> None:
        self.outcomes: list[tuple[str, bool] | str] = ["not_read"] * len(paths)
        self.read_bytes = 0
        self._todo = iter(enumerate(paths))
        self._left = len(paths)
        self._cache = cache
        self._changed = threading.Condition()
        for _ in range(min(at_a_time, len(paths))):
            threading.Thread(target=self._run, name="digest", daemon=True).start()

    def wait(self, within_s: float) -> bool:
        """Whether all is read, now or within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._left, within_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                place, path = next(self._todo, (-1, ""))
            if place < 0:
                return
            outcome = self._outcome(path)
            with self._changed:
                self.outcomes[place] = outcome
                self._left -= 1
                self._changed.notify_all()

    def _outcome(self, path: str) -> tuple[str, bool] | str:
        try:
            return _digest(path, self._cache, self._count)
        except OSError as error:
            return _code(error)
        except _ProblemError as error:
            return str(error)

    def _count(self, size_bytes: int) -> None:
        with self._changed:
            self.read_bytes += size_bytes


class _ProblemError(Exception):
    """Why there is no digest; a code."""


def digest_all(
    declared: Sequence[Declared],
    say: Callable[[str], None],
    cache: DigestCache | None = None,
    at_a_time: int | None = None,
) -> tuple[FileIdentity, ...]:
    """Digest everything declared, in its order.

    Args:
        declared: files and folders.
        say: told every few seconds how far it is.
        cache: digests that may be trusted.
        at_a_time: files read at once; one a processor if None.
    """
    cache = cache or DigestCache(None)
    plans = [_plan(one) for one in declared]
    files = [(path, size) for plan in plans for _, path, size in plan.files]
    total = sum(size for _, size in files)
    readers = _Readers([path for path, _ in files], cache, at_a_time or os.cpu_count() or 1)
    while not readers.wait(SAY_EVERY_S):
        say(_how_far(readers.read_bytes, total, len(files)))
    outcomes = iter(readers.outcomes)
    found = tuple(_identity(plan, [next(outcomes) for _ in plan.files]) for plan in plans)
    cache.save()
    return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read for one declaration: (name within, path, size) each; or a problem."""

    declared: Declared
    folder: bool
    files: tuple[tuple[str, str, int], ...]
    links: tuple[tuple[str, str], ...] = ()
    problem: str | None = None


def _plan(declared: Declared) -> _Plan:
    try:
        found = os.stat(declared.path)  # noqa: PTH116 - a plain string
        if stat.S_ISDIR(found.st_mode):
            return _plan_folder(declared)
    except OSError as error:
        return _Plan(declared, folder=False, files=(), problem=_code(error))
    except FolderError as error:
        return _Plan(declared, folder=True, files=(), problem=str(error))
    if not stat.S_ISREG(found.st_mode):
        return _Plan(declared, folder=False, files=(), problem="not_regular")
    return _Plan(declared, folder=False, files=(("", declared.path, found.st_size),))


def _plan_folder(declared: Declared) -> _Plan:
    """Files by content, links too; what is neither is not content."""
    found = content_of(declared.path)
    return _Plan(declared, folder=True, files=found.files, links=found.links)


def _digest(path: str, cache: DigestCache, count: Callable[[int], None]) -> tuple[str, bool]:
    """Digest one file; whether it was trusted. A file that changes meanwhile has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise _ProblemError("not_regular")
        known = cache.get(path, _key(before))
        if known is not None:
            count(before.st_size)
            return known, True
        digest = hashlib.sha256()
        while block := os.read(descriptor, _BLOCK_BYTES):
            digest.update(block)
            count(len(block))
        if _key(os.fstat(descriptor)) != _key(before):
            raise _ProblemError("changed_while_read")
    finally:
        os.close(descriptor)
    if time.time() - max(before.st_mtime, before.st_ctime) > SETTLED_S:
        cache.put(path, _key(before), digest.hexdigest())
    return digest.hexdigest(), False


def _key(found: os.stat_result) -> _Key:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _identity(plan: _Plan, outcomes: Sequence[tuple[str, bool] | str]) -> FileIdentity:
    problems = [outcome for outcome in outcomes if isinstance(outcome, str)]
    known = [outcome for outcome in outcomes if not isinstance(outcome, str)]
    found = FileIdentity(
        role=plan.declared.role,
        path=plan.declared.path,
        problem=plan.problem or (problems[0] if problems else None),
    )
    if found.problem is not None:
        return found
    digests = [digest for digest, _ in known]
    names = [name for name, _, _ in plan.files]
    return replace(
        found,
        sha256=_folder_digest(names, digests, plan.links) if plan.folder else digests[0],
        size_bytes=sum(size for _, _, size in plan.files),
        files=len(plan.files),
        cached=any(cached for _, cached in known),
    )


def _folder_digest(
    names: Iterable[str], digests: Iterable[str], links: Iterable[tuple[str, str]]
) -> str:
    """As ``sha256sum`` of all files in the order of their names, and ``-> folder`` for links."""
    whole = hashlib.sha256()
    for name, digest in zip(names, digests, strict=True):
        whole.update(f"{digest}  {name}\n".encode("utf-8", "surrogateescape"))
    for name, target in links:
        whole.update(f"-> {target}  {name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _code(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "missing"
    return "unreadable"


def _how_far(read_bytes: int, total_bytes: int, files: int) -> str:
    share = read_bytes / total_bytes if total_bytes else 1.0
    return f"digesting {files} declared files: {share:.0%} of {total_bytes / 1e9:.1f} GB"
