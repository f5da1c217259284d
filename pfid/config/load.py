"""TOML to :class:`Config`. Every bad key is reported at once, each with its path.

A configuration is taken whole or not at all: one bad key refuses the file, so that a reload never
leaves a mixture in force.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.config.model import Config
from pfid.config.rules import problems_across
from pfid.config.tables import build_table
from pfid.config.toml_file import is_absent, load_file, toml_data
from pfid.domain.errors import ConfigError

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
        absent = self.path is None or (not self.required and is_absent(self.path))
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
    return load_file(path, lambda text: loads(text, also), "configuration")


def loads(text: str, also: Rules | None = None) -> Config:
    """Read the text of a TOML file, under further rules if there are any.

    Raises:
        ConfigError: with every problem found.
    """
    problems: list[str] = []
    config = build_table(Config, toml_data(text), "", problems)
    if not isinstance(config, Config):
        raise ConfigError(tuple(problems))
    bad = tuple(table for table in _INTERWOVEN if any(p.startswith(table) for p in problems))
    rest = (*problems_across(config), *(also(config) if also is not None else ()))
    problems += [problem for problem in rest if not (bad and problem.startswith(bad))]
    if problems:
        raise ConfigError(tuple(problems))
    return config
