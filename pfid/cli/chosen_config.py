"""The configuration a command works under: the one named, or the box's, or the defaults."""

import os
from pathlib import Path
from typing import NoReturn

import click

from pfid.cli.output import Exit, error
from pfid.config.load import load
from pfid.config.model import Config
from pfid.config.paths import config_file
from pfid.domain.errors import ConfigError


def chosen_config(named: Path | None) -> Config:
    """Load it; ends the command with status 2 and every problem if it cannot be used."""
    path = named or config_file(os.environ)
    asked_for = named is not None or bool(os.environ.get("PFID_CONFIG"))
    if path is None or (not asked_for and not path.exists()):
        return Config()
    try:
        return load(path)
    except ConfigError as problem:
        _refuse(problem)


def _refuse(problem: ConfigError) -> NoReturn:
    error(str(problem))
    raise click.exceptions.Exit(Exit.USAGE)
