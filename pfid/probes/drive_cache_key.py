"""Does a project's own key function move with the meaning, and with nothing else?

Asked: ``folder``, ``probes`` (this folder), ``function``, ``kwargs``, ``files`` (path of a scratch
copy by argument), ``elsewhere`` (path of a second copy), ``given_as``, ``must_change`` (other value
by argument), ``may_stay`` (arguments that mean nothing), ``base_only``.
Answer: ``{"base": text, "again": text}``, and unless only that was asked ``stayed`` (changes of the
meaning that left the key), ``followed`` (changes of nothing but place or time that moved it),
``tried`` (how many changes of the meaning there were).

A file is changed where it lies, at the same path and with the same times, which is what an edit
looks like to a key that hashes the path: one character at its beginning, a quarter in, and so on to
its end, and then its length. Each key is computed in a process of its own, forked before the
function was ever called: no memory of an earlier call can hide a change. A function that raises at
what was changed gives no key, and so hits no cache.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

PLACES = (("beginning", 0.0), ("first quarter", 0.25), ("middle", 0.5), ("last quarter", 0.75))
FILES_MAX = 32
"""So many files of a folder are changed, spread over it."""
_LOOK_BYTES = 4_096
_DAY_NS = 86_400_000_000_000


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Drive the function."""
    spec = importlib.util.spec_from_file_location("pfid_loading", asked["probes"] + "/loading.py")
    if spec is None or spec.loader is None:
        raise ImportError(asked["probes"])
    loading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loading)
    loading.enter(asked["folder"])
    return _Driven(loading.load(asked["function"]), asked).answer()


class _Driven:
    def __init__(self, function: Callable[..., Any], asked: Dict[str, Any]) -> None:
        self._function = function
        self._kwargs: Dict[str, Any] = asked["kwargs"]
        self._files: Dict[str, str] = asked["files"]
        self._elsewhere: Dict[str, str] = asked["elsewhere"]
        self._given_as: str = asked["given_as"]
        self._other: Dict[str, Any] = asked["must_change"]
        self._may_stay: List[str] = asked["may_stay"]
        self._base_only: bool = asked["base_only"]

    def answer(self) -> Dict[str, Any]:
        keys, raised = _in_child(lambda: [self._key(), self._key()])
        if raised:
            raise RuntimeError(raised)
        base, again = keys
        if self._base_only:
            return {"base": base, "again": again}
        tried = [(name, key == base) for name, key in self._changed()]
        followed = [name for name, key in self._same_elsewhere() if key != base]
        stayed = [name for name, stays in tried if stays]
        return {
            "base": base,
            "again": again,
            "stayed": stayed,
            "followed": followed,
            "tried": len(tried),
        }

    def _key(self, **other: Any) -> str:
        files = {name: self._passed(Path(path)) for name, path in self._files.items()}
        value = self._function(**{**self._kwargs, **files, **other})
        return "%s %r" % (type(value).__name__, value)

    def _passed(self, path: Path) -> Any:
        if self._given_as == "path":
            return str(path)
        content = path.read_bytes()
        if self._given_as == "sha256":
            return hashlib.sha256(content).hexdigest()
        return content if self._given_as == "bytes" else content.decode("utf-8", "replace")

    def _new_key(self, **other: Any) -> str:
        """The key as a process computes it that has never computed another."""
        keys, raised = _in_child(lambda: [self._key(**other)])
        return raised or keys[0]

    def _changed(self) -> Iterator[Tuple[str, str]]:
        """Every change of the meaning, and the key that came of it."""
        for name, path in self._files.items():
            for place, edit in _edits(Path(path)):
                with edit:
                    yield "%s: %s" % (name, place), self._new_key()
        for name, other in {**self._varied(), **self._other}.items():
            yield "%s = %s" % (name, json.dumps(other)), self._new_key(**{name: other})

    def _varied(self) -> Dict[str, Any]:
        """Another value for each constant argument that nobody named one for."""
        exempt = {*self._other, *self._may_stay}
        return {n: _another(v) for n, v in self._kwargs.items() if n not in exempt}

    def _same_elsewhere(self) -> Iterator[Tuple[str, str]]:
        """The same content under another date, and in another folder."""
        if self._given_as != "path":
            return
        for name, path in self._files.items():
            with _redated(Path(path)):
                yield "%s: another date" % name, self._new_key()
            yield "%s: another folder" % name, self._new_key(**{name: self._elsewhere[name]})


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "_"
    if isinstance(value, list):
        return [*value, *(value[-1:] or [1])]
    return {**value, "pfid": 1} if isinstance(value, dict) else 1


def _edits(path: Path) -> Iterator[Tuple[str, Any]]:
    """Ways to change a file, or a file of a folder, each a context in which it is changed."""
    if path.is_dir():
        inner = sorted(p for p in path.rglob("*") if p.is_file())
        step = max(1, -(-len(inner) // FILES_MAX))
        for one in inner[::step]:
            yield str(one.relative_to(path)), _flipped(one, _character(one, 0.5))
        return
    seen = set()
    for name, share in (*PLACES, ("end", 1.0)):
        at = _character(path, share)
        if at not in seen:
            seen.add(at)
            yield name, _flipped(path, at)
    yield "length", _longer(path)


def _character(path: Path, share: float) -> int:
    """Where something stands that is no white space, as near to the place as it can be found."""
    size = path.stat().st_size
    at = min(int(size * share), max(size - 1, 0))
    with path.open("rb") as file:
        file.seek(at)
        after = file.read(_LOOK_BYTES)
        begin = max(at - _LOOK_BYTES, 0)
        file.seek(begin)
        before = file.read(at - begin)
    if after[:1].strip():
        return at
    if after.strip():
        return at + len(after) - len(after.lstrip())
    return begin + len(before.rstrip()) - 1 if before.strip() else at


@contextlib.contextmanager
def _flipped(path: Path, at: int) -> Iterator[None]:
    """One bit of one byte is another; a file without any gets one."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(at)
        before = file.read(1)
        file.seek(at)
        file.write(bytes([before[0] ^ 1]) if before else b"\x01")
    _date(path, times.st_mtime_ns)
    try:
        yield
    finally:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(before)
            if not before:
                file.truncate(0)
        _date(path, times.st_mtime_ns)


@contextlib.contextmanager
def _longer(path: Path) -> Iterator[None]:
    """There is a character more."""
    times = path.stat()
    with path.open("ab") as file:
        file.write(b"x")
    _date(path, times.st_mtime_ns)
    try:
        yield
    finally:
        os.truncate(str(path), times.st_size)
        _date(path, times.st_mtime_ns)


@contextlib.contextmanager
def _redated(path: Path) -> Iterator[None]:
    """Nothing is another but the date."""
    every = [path, *(path.rglob("*") if path.is_dir() else ())]
    times = {one: one.stat().st_mtime_ns for one in every}
    for one, at_ns in times.items():
        _date(one, at_ns - _DAY_NS)
    try:
        yield
    finally:
        for one, at_ns in times.items():
            _date(one, at_ns)


def _date(path: Path, at_ns: int) -> None:
    os.utime(str(path), ns=(at_ns, at_ns))


def _in_child(compute: Callable[[], List[str]]) -> Tuple[List[str], str]:
    """What a forked process computes, and the end of its traceback if it raised."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        try:
            said: Any = [compute(), ""]
        except BaseException:  # noqa: BLE001 - the user's own code, and no way back from here
            said = [[], traceback.format_exc()[-2_000:]]
        with os.fdopen(writing, "w") as out:
            out.write(json.dumps(said))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as out:
        text = out.read()
    _, status = os.waitpid(pid, 0)
    if not text:
        return [], "the process that computed the key ended with %d" % status
    keys, raised = json.loads(text)
    return keys, raised
