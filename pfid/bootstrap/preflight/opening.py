"""From a spec on the command line to the project it speaks of."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.preflight.judging import unknown_optional
from pfid.bootstrap.preflight.project import Project
from pfid.config.model import Config
from pfid.config.paths import user_state_dir
from pfid.config.preflight.spec import FILE_NAME, load_spec
from pfid.domain.errors import ConfigError


def open_project(
    spec: Path | None, environ: Mapping[str, str], config: Config, python: str | None = None
) -> Project:
    """Read the spec that is named, or the one in the current folder.

    Args:
        spec: its path; None for ``preflight.toml``.
        environ: what training will be started with.
        config: under which checks are judged.
        python: the training interpreter, in the place of the spec's; from the current folder.

    Raises:
        ConfigError: with everything that is wrong with the spec.
    """
    path = Path(os.path.abspath(spec or FILE_NAME))  # noqa: PTH100 - links stay as they are
    found = load_spec(path)
    if python is not None:
        named = os.path.abspath(python) if "/" in python else python  # noqa: PTH100
        found = replace(found, python=named)
    elif found.python:
        found = replace(found, python=os.path.expanduser(found.python))  # noqa: PTH111
    project = Project(
        spec=found, folder=path.parent, environ=environ, state=user_state_dir(environ, machine_id())
    )
    misspelt = unknown_optional(project, config)
    if misspelt:
        raise ConfigError(tuple(f"{path}: optional: there is no check {n}" for n in misspelt))
    return project
