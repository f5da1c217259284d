"""The project's own files that a command starts: its script, its module, what its shell starts."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

CODE: Final = (".py", ".sh", ".bash", ".zsh", ".pl", ".lua", ".ipynb")
SHELL: Final = (".sh", ".bash", ".zsh")
SCRIPT_MAX_BYTES: Final = 1_000_000
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_MODULE: Final = frozenset({"-m", "--module"})
_PLACED: Final = re.compile(r"\$\{?\w+\}?/|\$\(.*\)/")
"""A folder that only the shell knows: ``$HERE/train.py``, ``$(dirname "$0")/train.py``."""


def launched_files(argv: Sequence[str], cwd: Path) -> tuple[Path, ...]:
    """Files that the command starts, absolute, in order; a program of an environment is none."""
    found: dict[Path, None] = {}
    open_words = [list(argv)]
    while open_words:
        for path in _named(open_words.pop(0), cwd):
            if path not in found:
                found[path] = None
                if _is_shell(path):
                    open_words.append(_words_of(path))
    return tuple(found)


def _named(words: Sequence[str], cwd: Path) -> Iterator[Path]:
    before, program = "", ""
    for word in words:
        name = os.path.basename(word)  # noqa: PTH119 - a word, not a path
        if before == "-c" and program in _SHELLS:
            yield from _named(_split(word), cwd)
        elif before in _MODULE:
            yield from _module(word, cwd)
        else:
            path = _path(word.partition("=")[2] if word.startswith("-") else word, cwd)
            if path is not None:
                yield path
        program = name if name in _SHELLS else program
        before = "-c" if re.fullmatch(r"-[a-z]*c", word) else word


def _path(word: str, cwd: Path) -> Path | None:
    """The file of a word, where it is code of the project's."""
    word = _PLACED.sub("", word)
    path = Path(os.path.normpath(cwd / os.path.expanduser(word)))  # noqa: PTH111 - as a shell does
    try:
        if not word or not path.is_file():
            return None
        if path.suffix in CODE:
            return path
        own = "/" in word and os.access(path, os.X_OK) and path.is_relative_to(cwd)
    except (OSError, ValueError):
        return None
    return path if own and not (path.parent.parent / "pyvenv.cfg").exists() else None


def _module(name: str, cwd: Path) -> Iterator[Path]:
    """What ``-m`` starts, where it is a module of the project's."""
    if not re.fullmatch(r"\w+(\.\w+)*", name):
        return
    for root in (cwd, cwd / "src"):
        path = root / name.replace(".", "/")
        yield from (p for p in (path.with_suffix(".py"), path / "__main__.py") if p.is_file())


def _is_shell(path: Path) -> bool:
    if path.suffix in SHELL:
        return True
    with path.open("rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and any(shell.encode() in first for shell in _SHELLS)


def _words_of(script: Path) -> list[str]:
    try:
        if script.stat().st_size > SCRIPT_MAX_BYTES:
            return []
        return _split(script.read_text(errors="replace"))
    except OSError:
        return []


def _split(text: str) -> list[str]:
    """Words of a shell's text, line by line: one that cannot be read hides no other."""
    words: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words += lexer
        except ValueError:
            words += line.split()
    return words
