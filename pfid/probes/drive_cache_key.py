"""Does a project's own key function move with the meaning, and with nothing else?

Asked: ``folder``, ``probes`` (this folder), ``function``, ``kwargs``, ``files`` (path of a scratch
copy by argument), ``given_as``, ``must_change`` (other value by argument), ``only`` (arguments to
try; all if null).
Answer: ``{"base": text, "again": text, "unmoved": [argument, ...], "tried": number}``.

Each file is changed where it lies: one byte, at the same path, of the same size and time, which is
what an edit looks like to a key that hashes the path.
"""

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import Any, Callable, Dict, Optional


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Drive the function."""
    spec = importlib.util.spec_from_file_location("pfid_loading", asked["probes"] + "/loading.py")
    if spec is None or spec.loader is None:
        raise ImportError(asked["probes"])
    loading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loading)
    loading.enter(asked["folder"])
    driven = _Driven(loading.load(asked["function"]), asked)
    base, again = driven.key(), driven.key()
    tried = [n for n in (*asked["files"], *asked["must_change"]) if driven.is_asked(n)]
    return {
        "base": base,
        "again": again,
        "unmoved": [name for name in tried if driven.changed(name) == base],
        "tried": len(tried),
    }


class _Driven:
    def __init__(self, function: Callable[..., Any], asked: Dict[str, Any]) -> None:
        self._function = function
        self._kwargs: Dict[str, Any] = asked["kwargs"]
        self._files: Dict[str, str] = asked["files"]
        self._given_as: str = asked["given_as"]
        self._other: Dict[str, Any] = asked["must_change"]
        self._only = asked.get("only")

    def is_asked(self, name: str) -> bool:
        return self._only is None or name in self._only

    def key(self, other: Optional[Dict[str, Any]] = None) -> str:
        files = {name: self._passed(Path(path)) for name, path in self._files.items()}
        value = self._function(**{**self._kwargs, **files, **(other or {})})
        return f"{type(value).__name__} {value!r}"

    def changed(self, name: str) -> str:
        if name in self._other:
            return self.key({name: self._other[name]})
        path = Path(self._files[name])
        before, times = path.read_bytes(), path.stat()
        path.write_bytes(bytes([before[0] ^ 1]) + before[1:] if before else b"\x01")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        try:
            return self.key()
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _passed(self, path: Path) -> Any:
        if self._given_as == "path":
            return str(path)
        content = path.read_bytes()
        if self._given_as == "sha256":
            return hashlib.sha256(content).hexdigest()
        return content if self._given_as == "bytes" else content.decode("utf-8", "replace")
