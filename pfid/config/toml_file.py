"""One file of TOML: taken whole, or refused with everything that is wrong with it."""

import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from pfid.config.tables import build_table
from pfid.domain.errors import ConfigError

MAX_BYTES: Final = 1024 * 1024
T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R")


def load_file(
    path: Path,
    loads: Callable[[str], R],
    kind: str,
    *,
    max_bytes: int = MAX_BYTES,
    name: str = "",
    hint: str = "",
) -> R:
    """Read a file.

    Args:
        path: of it.
        loads: reads its text.
        kind: what it ought to be, in a word.
        max_bytes: a longer one is none.
        name: what problems call it; its path if empty.
        hint: what to do where there is none.

    Raises:
        ConfigError: with every problem found, each under the file's name, or saying why it cannot
            be read.
    """
    called = name or str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise ConfigError((f"{called}: is no file{hint}",))
        with path.open("rb") as file:
            body = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # a name with a zero in it is a ValueError
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError((f"{called}: cannot be read: {why}{hint}",)) from error
    if len(body) > max_bytes:
        raise ConfigError((f"{called}: over {max_bytes} bytes is no {kind}",))
    try:
        return loads(body.decode())
    except UnicodeDecodeError as error:
        raise ConfigError((f"{called}: not UTF-8: {error}",)) from error
    except ConfigError as error:
        raise ConfigError(tuple(f"{called}: {problem}" for problem in error.problems)) from error


def is_absent(path: Path) -> bool:
    """Whether nothing is there; where it cannot be told, something may be, and reading says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def toml_data(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        ConfigError: if it is no TOML, deeper than anybody would write, or holds a zero byte: no
            path, command or name can.
    """
    try:
        data = tomllib.loads(text)
        zeros = tuple(_zeros(data, ""))
    except (ValueError, RecursionError) as error:
        raise ConfigError((f"not TOML: {error}",)) from error
    if zeros:
        raise ConfigError(tuple(f"{path}: holds a zero byte" for path in zeros))
    return data


def _zeros(value: Any, path: str) -> Iterator[str]:
    """Paths of all texts and keys that hold a zero byte."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = key.replace("\0", "\\0")
            below = f"{path}.{name}" if path else name
            if name != key:
                yield below
            yield from _zeros(inner, below)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _zeros(inner, f"{path}[{at}]")
    elif isinstance(value, str) and "\0" in value:
        yield path


def loads_table(kind: type[T], text: str, rules: Callable[[T], Iterable[str]] = lambda _: ()) -> T:
    """Build a table of a text.

    Args:
        kind: of the table.
        text: TOML.
        rules: what is wrong with keys that are each right.

    Raises:
        ConfigError: with every problem found.
    """
    problems: list[str] = []
    table = build_table(kind, toml_data(text), "", problems)
    if isinstance(table, kind) and not problems:
        problems += rules(table)
    if problems or not isinstance(table, kind):
        raise ConfigError(tuple(problems))
    return table
