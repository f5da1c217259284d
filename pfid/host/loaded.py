"""A third-party plugin as the host knows it, and a question to it that is not answered yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from pfid.domain.verdict import Verdict
from pfid.host.plugins import PluginSource
from pfid.spec.world import World
from pfid.wire.plugins import CheckInfo

Done = Callable[[Verdict, str], None]
"""Takes the raw verdict and why the check's own answer was not used ("" if it was)."""


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


@dataclass(frozen=True, slots=True)
class Pending:
    """An evaluation under way, and by when it has to be over."""

    check: str
    world: World
    done: Done
    due_s: float
