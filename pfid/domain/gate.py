"""May this check be believed, and why."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.names import CheckName


class GateState(Enum):
    """PROVEN is the only state in which a check's PASS counts."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenTo:
    """How far a gate is proven: True, False, or None where the leg cannot be tried here.

    ``controls`` and ``sabotage`` are needed to be enabled; the others are reported and alertable.
    """

    controls: bool | None = None
    sabotage: bool | None = None
    live: bool | None = None
    alerts: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResult:
    """What one control came to. ``got`` and ``reason`` are "" when it raised; see ``error``."""

    name: str
    expect: str
    got: str
    reason: str
    ok: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SabotageResult:
    """Whether a deliberate break of the check was noticed by its controls."""

    mutant: str
    caught: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The standing of one check.

    Attributes:
        check: its name.
        stage: value of its stage.
        state: PROVEN, UNPROVEN or DISABLED.
        proven_to: how far.
        why: what let it down, "" when proven.
        key: digest of check source, configuration, pfid version and driver; proof is void when
            it changes.
        proven_at_s: wall time of the proof, None if there is none.
        controls: results, one a control.
        sabotage: results, one a mutant.
        severity: value of the check's severity.
    """

    check: CheckName
    stage: str
    state: GateState
    proven_to: ProvenTo
    why: str = ""
    key: str = ""
    proven_at_s: float | None = None
    controls: tuple[ControlResult, ...] = ()
    sabotage: tuple[SabotageResult, ...] = ()
    severity: str = "warning"
