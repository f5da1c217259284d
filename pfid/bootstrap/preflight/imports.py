"""Which modules a file of code imports, as far as that can be read from it."""

import ast
import json
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

PARSED_MAX_BYTES: Final = 2_000_000
COMPILED: Final = (".so", ".pyd")
"""Ends of compiled modules, whichever Python they are for: ``name.cpython-311-x86_64….so``."""
MODULES: Final = (".py", *COMPILED)
READ_MAX_BYTES: Final = 64_000_000
_UNPARSED: Final = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """What one file imports.

    Attributes:
        names: dotted names, each with every end cut off: `a.b.c` imports a and a.b as well.
        words: where the file is no Python of this interpreter (of a newer one, perhaps, or of
            none), those words in it that were looked for: it imports nothing else. None if it
            could not be read.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] | None = frozenset()


def imports_of(path: Path, among: Collection[str], package: Sequence[str] = ()) -> Imports:
    """Read a file.

    Args:
        path: of the file.
        among: the words to be looked for where it cannot be parsed.
        package: names of the folders it lies in, from the root: where a relative import begins.
    """
    body = _read(path)
    if body is None:
        return Imports(words=None)
    try:
        body = _of_notebook(body) if path.suffix == ".ipynb" else body
        return Imports(names=frozenset(_names(_parsed(body), package)))
    except _UNPARSED:
        text = body.decode(errors="replace")
        words = set(re.findall(r"\w+", text)).intersection(among)
        return Imports(names=frozenset(_of_lines(text, package)), words=frozenset(words))


def module_parts(path: str) -> tuple[str, ...]:
    """Folders and name that a file is imported by; a package's own file bears its folder's."""
    *folders, name = PurePosixPath(path).parts
    name = name.partition(".")[0] if name.endswith(COMPILED) else PurePosixPath(name).stem
    return tuple(folders) if name == "__init__" and folders else (*folders, name)


def is_script(path: Path) -> bool:
    """Whether a file whose name does not say so is Python: by its first line, or read as such."""
    body = _read(path)
    if not body:
        return False
    if body.startswith(b"#!"):
        return b"python" in body.partition(b"\n")[0]
    try:
        return any(True for _ in _names(_parsed(body), ()))
    except _UNPARSED:
        return False


def _read(path: Path) -> bytes | None:
    """Its bytes: none where no file is, which nothing can run; None if it cannot be read."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return b""
        if not stat.S_ISREG(found.st_mode) or found.st_size > READ_MAX_BYTES:
            return None
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return None


def _of_notebook(body: bytes) -> bytes:
    """The code of its cells; the whole text where it is no notebook, which no Python is then."""
    try:
        cells = json.loads(body)["cells"]
        return "\n".join(
            "".join(cell["source"]) for cell in cells if "code" in cell.values()
        ).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return b"no notebook: " + body


def _parsed(body: bytes) -> ast.AST:
    if len(body) > PARSED_MAX_BYTES:
        raise ValueError(len(body))
    return ast.parse(body)


def _of_lines(text: str, package: Sequence[str]) -> Iterator[str]:
    """Imports that stand on a line of their own, whatever else the file holds."""
    for line in text.splitlines():
        alone = line.strip()
        if alone.startswith(("import ", "from ")):
            try:
                yield from _names(ast.parse(alone), package)
            except _UNPARSED:
                continue


def _names(tree: ast.AST, package: Sequence[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield from _with_parents(f"{base}.{alias.name}" if base else alias.name)
        elif isinstance(node, ast.Call) and _is_import(node.func):
            yield from _with_parents(_absolute(*_said_by(node, package)))


def _is_import(called: ast.expr) -> bool:
    """``importlib.import_module(...)`` and ``__import__(...)``, however they are reached."""
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in {"import_module", "__import__"}


def _said_by(call: ast.Call, package: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The name that a call imports, and the package it begins in; "" if the name is made."""
    given = dict(zip(("name", "package"), call.args, strict=False))
    given |= {each.arg: each.value for each in call.keywords if each.arg}
    name, begin = (getattr(given.get(key), "value", None) for key in ("name", "package"))
    if not isinstance(name, str):
        return "", ()
    return name, begin.split(".") if isinstance(begin, str) else package


def _absolute(name: str, package: Sequence[str]) -> str:
    """The name from the root: each point in front after the first is one folder up."""
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    if not level:
        return name
    above = package[: max(0, len(package) - level + 1)]
    return ".".join((*above, rest) if rest else above)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".") if name else []
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])
