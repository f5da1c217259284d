"""Joins samplers to what keeps them from a driver after a fatal error: a word in a file each."""

import os
import time
from functools import partial
from pathlib import Path
from typing import Final

from pfid.adapters.driver_stop import DriverStop, driver_load
from pfid.adapters.gpu_gate import GpuGate
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.place import Place
from pfid.config.paths import (
    SYSTEM_SHOWN,
    SYSTEM_STATE,
    daemon_shown_dir,
    daemon_socket,
    user_state_dir,
)
from pfid.domain.errors import ConfigError
from pfid.domain.gpu import NVML

NO_MODULE: Final = Path("/nonexistent")
"""Nobody knows the modules of other vendors: there only another boot or an operator counts."""


def daemon_gate(place: Place, name: str = NVML) -> GpuGate:
    """For the box's daemon, or an engine; ``name`` tells whose driver."""
    if place.engine_of is None or place.history is None:
        kept = daemon_shown_dir(os.environ)
        shown = (place.socket.parent, *(() if kept is None else (kept,)))
        stop = DriverStop(name=name, own=place.state_dir, shown=shown)
        gate = _gate(stop)
        stop.show()
        return gate
    return _gate(DriverStop(name=name, own=place.history.parent, others=_of_the_box()))


def command_stop(name: str = NVML) -> DriverStop:
    """For a command of this user; one without a home keeps nothing. ``name``: whose driver."""
    try:
        own = user_state_dir(os.environ, machine_id())
    except ConfigError:
        own = None
    return DriverStop(name=name, own=own, others=_of_the_box())


def _of_the_box() -> tuple[Path, ...]:
    """Where the box's daemon shows its users that the driver is not to be asked; its own state.

    The folder of its socket goes when it stops, and what was fatal is not over by that.
    """
    return (daemon_socket(os.environ).parent, SYSTEM_SHOWN, SYSTEM_STATE)


def command_gate(name: str = NVML) -> GpuGate:
    """For a sampler that a command of this user starts."""
    return _gate(command_stop(name))


def _gate(stop: DriverStop) -> GpuGate:
    if stop.name != NVML:
        stop.load = partial(driver_load, NO_MODULE)
    return GpuGate(monotonic_s=time.monotonic, stop=stop)
