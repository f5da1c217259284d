"""A check as data: what it reads, how it judges, and the controls that prove it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from pfid.domain.errors import CheckDefinitionError
from pfid.domain.names import check_name
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.control import Control
from pfid.spec.limits import NoLimits, shifts
from pfid.spec.reasons import RUNNER_REASONS
from pfid.spec.world import World

O = TypeVar("O")  # noqa: E741 - the observation; read beside L, the limits
L = TypeVar("L")

_REASON: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_REQUIRED: Final = (Outcome.FAIL, Outcome.PASS, Outcome.UNKNOWN)


class Stage(Enum):
    """When a check runs."""

    WATCH = "watch"
    PREFLIGHT = "preflight"
    VIABILITY = "viability"
    RESULT = "result"


class Severity(Enum):
    """How loudly a FAIL is to be heard (the alert's severity label), the loudest first."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Scope(Enum):
    """What a check is asked about: each run, each GPU, or the box once."""

    RUN = "run"
    GPU = "gpu"
    BOX = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hysteresis:
    """When a raw verdict becomes the settled one (DESIGN section 4, rule 11).

    A missing sample (UNKNOWN) holds the counts. The first FAIL is never hidden by flapping.

    Attributes:
        fire_m: FAILs needed among the last ``fire_n`` raw verdicts.
        fire_n: see ``fire_m``.
        clear_k: consecutive PASSes needed to leave FAIL.
        floor_s: wall time the FAILs must span, seconds.
        unknown_k: consecutive UNKNOWNs before UNKNOWN is the settled verdict.
    """

    fire_m: int = 1
    fire_n: int = 1
    clear_k: int = 1
    floor_s: float = 0.0
    unknown_k: int = 1

    def __post_init__(self) -> None:
        """Hold the invariants.

        Raises:
            CheckDefinitionError: unless 1 <= fire_m <= fire_n, and the others are sane.
        """
        if not 1 <= self.fire_m <= self.fire_n or self.clear_k < 1 or self.unknown_k < 1:
            raise CheckDefinitionError(f"hysteresis cannot fire or cannot clear: {self}")
        if self.floor_s < 0:
            raise CheckDefinitionError(f"hysteresis floor is negative: {self.floor_s}")


@dataclass(frozen=True, kw_only=True)
class Check(Generic[O, L]):
    """One safeguard. Constructing it fails unless its controls cover what it can say.

    Attributes:
        name: file stem, metric label and test name.
        stage: when it runs.
        scope: what it is asked about.
        severity: how loudly it fails.
        milder: reasons that fail less loudly than that, each with an alert of its own.
        observe: reads a world into a frozen dataclass; never decides.
        judge: decides, purely, from the observation and the limits.
        reasons: every reason code it can give, with the outcome that code belongs to.
        controls: builds the controls around the given (configured) limits.
        limits: its limits, declared with :func:`pfid.spec.limits.limit`.
        hysteresis: when a raw verdict is believed.
        cadence_s: how often the daemon runs it.
        deadline_s: how long one evaluation may take.
        reads: names of the world's ports it reads; the live self-test drives each of them.
        runbook: what it fails on, its blind spot, what to do; the module's docstring.
    """

    name: str
    stage: Stage
    observe: Callable[[World], O]
    judge: Callable[[O, L], Verdict]
    reasons: Mapping[str, Outcome]
    controls: Callable[[L], Iterable[Control]]
    limits: L = field(default_factory=NoLimits)  # type: ignore[assignment]
    scope: Scope = Scope.RUN
    severity: Severity = Severity.WARNING
    milder: Mapping[str, Severity] = field(default_factory=dict)
    hysteresis: Hysteresis = field(default_factory=Hysteresis)
    cadence_s: float = 5.0
    deadline_s: float = 2.0
    reads: tuple[str, ...] = ()
    runbook: str = ""

    def __post_init__(self) -> None:
        """Refuse a check that could not be proven.

        Raises:
            CheckDefinitionError: naming the check and what is missing.
        """
        try:
            check_name(self.name)
        except ValueError as error:
            raise CheckDefinitionError(str(error)) from error
        for problem in _problems(self):
            raise CheckDefinitionError(f"check {self.name}: {problem}")

    def evaluate(self, world: World) -> Verdict:
        """Read and judge. Exceptions are the runner's business."""
        return self.judge(self.observe(world), self.limits)

    def built_controls(self) -> tuple[Control, ...]:
        """Return the controls for the limits in force."""
        return tuple(self.controls(self.limits))


AnyCheck = Check[Any, Any]


def _problems(check: AnyCheck) -> list[str]:
    found = [f"reason {r!r} is no identifier" for r in check.reasons if not _REASON.match(r)]
    found += [f"reason {r!r} belongs to the runner" for r in check.reasons if r in RUNNER_REASONS]
    if not (check.runbook or "").strip():
        found.append("no runbook: give it the module's docstring")
    if not check.reads:
        found.append("reads nothing: name the ports of the world it reads")
    if not is_dataclass(check.limits):
        found.append("limits must be a dataclass of limit() fields")
    else:
        list(shifts(check.limits))
    found += _not_milder(check)
    if check.cadence_s <= 0 or check.deadline_s <= 0:
        found.append("cadence_s and deadline_s must be positive")
    return found or _control_problems(check, tuple(check.controls(check.limits)))


def _not_milder(check: AnyCheck) -> Iterator[str]:
    loudness = list(Severity)
    for reason, severity in check.milder.items():
        if check.reasons.get(reason) is not Outcome.FAIL:
            yield f"milder reason {reason!r} is none that fails"
        elif loudness.index(severity) <= loudness.index(check.severity):
            yield f"reason {reason!r} is not milder than the check: {severity.value}"
    fails = {r for r, outcome in check.reasons.items() if outcome is Outcome.FAIL}
    if fails and not fails - check.milder.keys():
        yield "every reason that fails is a milder one: lower its severity instead"


def _control_problems(check: AnyCheck, controls: tuple[Control, ...]) -> list[str]:
    found = []
    names = [c.name for c in controls]
    found += [
        f"two controls are named {n!r}" for n in sorted({n for n in names if names.count(n) > 1})
    ]
    for outcome in _REQUIRED:
        if not any(c.expect is outcome for c in controls):
            found.append(f"no control expects {outcome.name}")
    for c in controls:
        if c.reason not in check.reasons:
            found.append(f"control {c.name!r} expects reason {c.reason!r}, which is not declared")
        elif check.reasons[c.reason] is not c.expect:
            found.append(
                f"control {c.name!r}: reason {c.reason!r} does not belong to {c.expect.name}"
            )
    shown = {c.reason for c in controls}
    found += [f"no control shows reason {r!r}" for r in check.reasons if r not in shown]
    return found
