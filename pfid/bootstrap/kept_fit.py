"""A user's scaling fit for the runs of a name: kept by a probe, found by a launch."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pfid.adapters.process_identity import machine_id
from pfid.adapters.step_fits import keep_fit, load_fit
from pfid.config.paths import user_state_dir
from pfid.domain.errors import ConfigError
from pfid.domain.step_fit import StepFit


def keep(name: str, fit: StepFit, environ: Mapping[str, str]) -> Path:
    """Keep a fit for this user's runs of a name; returns where.

    Raises:
        StateError: if it cannot be written.
        ConfigError: if the user has no home.
    """
    return keep_fit(user_state_dir(environ, machine_id()), name, fit)


def kept_fit(name: str, environ: Mapping[str, str]) -> StepFit | None:
    """What was kept for a name; None if nothing was, or this user has no home."""
    with suppress(ConfigError):
        return load_fit(user_state_dir(environ, machine_id()), name)
    return None
