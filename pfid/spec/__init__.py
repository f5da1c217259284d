"""All a plugin may import: checks, controls, worlds, fakes and hooks."""

from pfid.domain.errors import CheckDefinitionError, PortError, PortNotSetUpError
from pfid.domain.outcome import Outcome, worst
from pfid.domain.verdict import BOX, Entity, EntityKind, Figure, Verdict
from pfid.spec.answers import Answers
from pfid.spec.check import AnyCheck, Check, Hysteresis, Scope, Severity, Stage
from pfid.spec.control import Control
from pfid.spec.hookspecs import hookimpl
from pfid.spec.limits import NoLimits, limit, reported
from pfid.spec.world import World

__all__ = [
    "BOX",
    "Answers",
    "AnyCheck",
    "Check",
    "CheckDefinitionError",
    "Control",
    "Entity",
    "EntityKind",
    "Figure",
    "Hysteresis",
    "NoLimits",
    "Outcome",
    "PortError",
    "PortNotSetUpError",
    "Scope",
    "Severity",
    "Stage",
    "Verdict",
    "World",
    "hookimpl",
    "limit",
    "reported",
    "worst",
]
