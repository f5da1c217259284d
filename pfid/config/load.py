"""TOML to :class:`Config`. Every bad key is reported at once, each with its path.

A configuration is taken whole or not at all: one bad key refuses the file, so that a reload never
leaves a mixture in force.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

from pfid.config.model import Config
from pfid.config.rules import problems_across
from pfid.domain.errors import ConfigError

MAX_BYTES: Final = 1024 * 1024
Rules = Callable[[Config], tuple[str, ...]]
"""Says what is wrong with a configuration, each problem with its path."""
_INTERWOVEN: Final = ("tls_server_config", "notify")
"""Tables whose keys are held against one another: beside a bad one the others say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """Where a configuration is looked for, at the start and at each reload.

    Attributes:
        path: None if there is nowhere to look.
        required: somebody named it, so that its absence is an error and not the defaults.
    """

    path: Path | None = None
    required: bool = False

    def load(self, also: Rules | None = None) -> Config:
        """Read what is there now.

        Raises:
            ConfigError: like :func:`load`.
        """
        absent = self.path is None or (not self.required and not self.path.exists())
        return load(None if absent else self.path, also)


def load(path: Path | None, also: Rules | None = None) -> Config:
    """Read a file; None, the file nobody wrote, means every default.

    Args:
        path: of the file.
        also: further rules, of those who know more than this file does (which checks there are).

    Raises:
        ConfigError: with every problem found, or saying why the file cannot be read.
    """
    if path is None:
        return Config()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError((f"{path}: cannot be read: {error.strerror}",)) from error
    if len(text) > MAX_BYTES:
        raise ConfigError((f"{path}: over {MAX_BYTES} bytes is no configuration",))
    try:
        return loads(text.decode(), also)
    except UnicodeDecodeError as error:
        raise ConfigError((f"{path}: not UTF-8: {error}",)) from error
    except ConfigError as error:
        raise ConfigError(tuple(f"{path}: {problem}" for problem in error.problems)) from error


def loads(text: str, also: Rules | None = None) -> Config:
    """Read the text of a TOML file, under further rules if there are any.

    Raises:
        ConfigError: with every problem found.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError((f"not TOML: {error}",)) from error
    problems: list[str] = []
    config = _struct(Config, data, "", problems)
    if not isinstance(config, Config):
        raise ConfigError(tuple(problems))
    bad = tuple(table for table in _INTERWOVEN if any(p.startswith(table) for p in problems))
    rest = (*problems_across(config), *(also(config) if also is not None else ()))
    problems += [problem for problem in rest if not (bad and problem.startswith(bad))]
    if problems:
        raise ConfigError(tuple(problems))
    return config


def _struct(kind: Any, data: Any, path: str, problems: list[str]) -> Any:
    """Build a table key by key; what cannot be built is reported and its default stands in."""
    if not isinstance(data, dict):
        problems.append(f"{path}: is a table, write [{path}]; got {_said(data)}")
        return None
    known = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    problems += [_unknown(_join(path, key), key, known) for key in data if key not in known]
    values = {
        name: _value(f.type, data[name], _join(path, name), problems)
        for name, f in known.items()
        if name in data
    }
    return kind(**{name: value for name, value in values.items() if value is not None})


def _value(kind: Any, data: Any, path: str, problems: list[str]) -> Any:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return _struct(bare, data, path, problems)
    if get_origin(bare) is dict and isinstance(data, dict):
        of = get_args(bare)[1]
        entries = {k: _value(of, v, _join(path, k), problems) for k, v in data.items()}
        return {k: v for k, v in entries.items() if v is not None}
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problems.append(_leaf_problem(path, str(error)))
        return None


def _leaf_problem(path: str, message: str) -> str:
    said, _, where = message.partition(" - at `$")
    return f"{path}{where.rstrip('`')}: {said[:1].lower()}{said[1:]}"


def _unknown(path: str, key: str, known: Any) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(known)}"
    return f"{path}: unknown key{hint}"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _said(data: Any) -> str:
    return f"{type(data).__name__} {data!r}"[:80]
