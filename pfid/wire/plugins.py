"""Messages between the host and the plugin worker, where third-party checks are loaded and run.

msgpack, not JSON: a loss may be NaN. The worker is disposable and trusted with nothing but its
own answers.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pfid.domain.gate import Gate
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, Verdict
from pfid.policy.hysteresis import Settling
from pfid.spec.check import AnyCheck, Hysteresis, Scope, Severity, Stage
from pfid.spec.limits import units
from pfid.wire.worker_codec import WorkerCodec
from pfid.wire.worlds import WorldData


class CheckInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A check without its code: everything the host needs to schedule, settle and explain it.

    Attributes are those of :class:`pfid.spec.check.Check`; ``limits`` and ``units`` by name,
    ``source`` the digest of the defining file.
    """

    name: str
    stage: Stage
    scope: Scope
    severity: Severity
    milder: dict[str, Severity] = {}
    hysteresis: Hysteresis
    cadence_s: float
    deadline_s: float
    reads: tuple[str, ...]
    reasons: dict[str, Outcome]
    runbook: str
    limits: dict[str, float] = {}
    units: dict[str, str] = {}
    source: str = ""


def check_info(check: AnyCheck, source: str = "") -> CheckInfo:
    """Describe a check."""
    unit = units(check.limits)
    return CheckInfo(
        name=check.name,
        stage=check.stage,
        scope=check.scope,
        severity=check.severity,
        milder=dict(check.milder),
        hysteresis=check.hysteresis,
        cadence_s=check.cadence_s,
        deadline_s=check.deadline_s,
        reads=tuple(check.reads),
        reasons=dict(check.reasons),
        runbook=check.runbook,
        limits={name: getattr(check.limits, name) for name in unit},
        units=unit,
        source=source,
    )


class _Order(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    pass


class Load(_Order, tag="load", frozen=True, kw_only=True):
    """Load one plugin. ``plugin`` numbers it; the worker says it is touching that number."""

    plugin: int
    name: str
    kind: str
    place: str
    limits: dict[str, dict[str, float]] = {}


class Prove(_Order, tag="prove", frozen=True, kw_only=True):
    """Drive a loaded check through its controls; answered with Proved, with Show before it."""

    check: str


class Evaluate(_Order, tag="evaluate", frozen=True, kw_only=True):
    """Run a loaded check over a world; answered with Evaluated of the same ``id``."""

    id: int
    check: str
    world: WorldData


class Shown(_Order, tag="shown", frozen=True, kw_only=True):
    """Answer to Show: what the page says, or why it could not be asked."""

    outcome: Outcome | None = None
    reasons: tuple[str, ...] = ()
    error: str = ""


Order = Load | Prove | Evaluate | Shown


class _Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Loaded(_Report, tag="loaded", frozen=True, kw_only=True):
    """What a plugin gave."""

    plugin: int
    checks: tuple[CheckInfo, ...] = ()
    problems: tuple[str, ...] = ()


class Show(_Report, tag="show", frozen=True, kw_only=True):
    """Take this settled state to the page and say what stands there about ``entity``."""

    check: str
    settling: Settling
    entity: Entity
    wall_s: float


class Proved(_Report, tag="proved", frozen=True, kw_only=True):
    """What the proof came to."""

    gate: Gate


class Evaluated(_Report, tag="evaluated", frozen=True, kw_only=True):
    """A raw verdict; ``error`` says what the runner had to replace, "" if nothing."""

    id: int
    verdict: Verdict
    error: str = ""


class Beat(_Report, tag="beat", frozen=True, kw_only=True):
    """The worker has nothing to do and is alive."""


Report = Loaded | Show | Proved | Evaluated | Beat


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is no plain data")


_codec: Final = WorkerCodec[Order, Report](Order, Report, _plain)
encode: Final = _codec.encode
decode_order: Final = _codec.decode_order
decode_report: Final = _codec.decode_report
