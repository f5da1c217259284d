"""A third-party plugin as the host knows it."""

from dataclasses import dataclass, field
from enum import Enum

from pfid.host.plugins import PluginSource
from pfid.wire.plugins import CheckInfo


class Stage(Enum):
    """How far a plugin has come."""

    LOADING = "loading"
    LOADED = "loaded"
    OUT = "out"
    """It is loaded no more: held back, or there is nothing of it to run."""


@dataclass(slots=True)
class Plugin:
    """One plugin, its checks by name, and how often it ended the worker in an evaluation."""

    source: PluginSource
    stage: Stage = Stage.LOADING
    checks: dict[str, CheckInfo] = field(default_factory=dict)
    strikes: int = 0
