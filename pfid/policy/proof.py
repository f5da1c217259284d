"""Prove one check: every control through the whole way, three legs, and sabotage.

The whole way is the real runner, hysteresis, Transition, Snapshot and exposition under a fake
clock. This module does everything that is pure; the far end, which renders a page and reads the
verdict back from its text, comes in as a function. A verdict that never reaches the page is not a
verdict.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pfid.domain.gate import ControlResult, Gate, GateState, ProvenTo, SabotageResult
from pfid.domain.names import CheckName
from pfid.policy.control_drive import Bench, FarEnd, drive_controls
from pfid.policy.sabotage import sabotage
from pfid.spec.check import AnyCheck
from pfid.spec.control import Control


def prove(check: AnyCheck, *, far_end: FarEnd, monotonic_s: Callable[[], float]) -> Gate:
    """Drive ``check`` through its controls and their sabotage.

    Returns:
        A gate that is PROVEN only if every control came out as declared at the far end, every
        FAIL was left again, and every mutant was caught. ``why`` names what let it down.
    """
    try:
        controls = check.built_controls()
    except Exception as error:  # noqa: BLE001 - whatever a check raises is the answer
        return unproven(check, f"controls cannot be built: {type(error).__name__}: {error}")
    bench = Bench(check=check, far_end=far_end, monotonic_s=monotonic_s)
    results = drive_controls(bench, controls)
    bad = next((r for r in results if not r.ok), None)
    if bad is not None:
        return _gate(check, results, (), f"control {bad.name!r}: {_said(bad)}")
    return _sabotaged(bench, controls, results)


def _sabotaged(bench: Bench, controls: Sequence[Control], results: Sequence[ControlResult]) -> Gate:
    check = bench.check
    try:
        tried = sabotage(check, controls, lambda control: bench.took_s.get(control.name, 0.0))
    except Exception as error:  # noqa: BLE001 - a check that cannot be sabotaged is not proven
        return _gate(check, results, (), f"sabotage cannot be tried: {error}")
    alive = [s.mutant for s in tried if not s.caught]
    why = f"sabotage {', '.join(alive)}: no control noticed" if alive else ""
    return _gate(check, results, tried, why)


def unproven(check: AnyCheck, why: str) -> Gate:
    """Return the gate of a check that could not be tried."""
    return Gate(
        check=CheckName(check.name),
        stage=check.stage.value,
        state=GateState.UNPROVEN,
        proven_to=ProvenTo(controls=False),
        why=why,
        severity=check.severity.value,
    )


def _gate(
    check: AnyCheck,
    controls: Sequence[ControlResult],
    sabotage: Sequence[SabotageResult],
    why: str,
) -> Gate:
    sound = bool(controls) and all(c.ok for c in controls)
    caught = all(s.caught for s in sabotage) if sabotage else None
    proven = sound and caught is True and not why
    return replace(
        unproven(check, why or "sabotage was not tried"),
        state=GateState.PROVEN if proven else GateState.UNPROVEN,
        proven_to=ProvenTo(controls=sound, sabotage=caught),
        why="" if proven else why or "sabotage was not tried",
        controls=tuple(controls),
        sabotage=tuple(sabotage),
    )


def _said(result: ControlResult) -> str:
    if result.error:
        return f"invalid: {result.error}"
    return f"expected {result.expect}, got {result.got} {result.reason}"
