"""How gates look: the JSON of DESIGN section 9, a table, and an honest denominator."""

from collections.abc import Sequence
from typing import Any

import msgspec

from pfid.bootstrap.live.session import DrillResult
from pfid.bootstrap.monitoring import AlertResult, QueriesResult
from pfid.cli.output import Cell, table
from pfid.cli.times import rfc3339
from pfid.domain.gate import Gate, GateState, ProvenTo

_STYLES = {GateState.PROVEN: "green", GateState.UNPROVEN: "bold red", GateState.DISABLED: "dim"}
_ANSWERS = {True: "yes", False: "NO", None: "-"}


def denominator(gates: Sequence[Gate]) -> dict[str, int]:
    """Count what was there, what was tried and what came of it.

    ``applicable`` are enabled; ``ran`` had every control driven; ``firing`` were seen to fail at
    the far end at least once, and to come back.
    """
    enabled = [g for g in gates if g.state is not GateState.DISABLED]
    return {
        "checks": len(gates),
        "applicable": len(enabled),
        "ran": sum(bool(g.controls) for g in enabled),
        "firing": sum(_fired(g) for g in enabled),
        "proven": sum(g.state is GateState.PROVEN for g in gates),
        "unproven": sum(g.state is GateState.UNPROVEN for g in gates),
        "disabled": sum(g.state is GateState.DISABLED for g in gates),
    }


def _fired(gate: Gate) -> bool:
    return any(c.expect == "pass,fail,pass" and c.ok for c in gate.controls)


def gates_data(gates: Sequence[Gate]) -> dict[str, Any]:
    """Return the object that ``pfid selftest --json`` prints."""
    return {"summary": denominator(gates), "gates": [gate_data(g) for g in gates]}


def gate_data(gate: Gate) -> dict[str, Any]:
    """Return one gate as it stands in JSON."""
    data: dict[str, Any] = msgspec.to_builtins(gate)
    data["proven_at"] = rfc3339(data.pop("proven_at_s"))
    return data


def alert_data(result: AlertResult) -> dict[str, Any]:
    """Return what an alert came to that no check brings, as it stands in JSON."""
    return {
        "alert": result.check,
        "worlds": result.controls,
        "ok": result.ok,
        "problem": result.problem,
    }


def queries_data(result: QueriesResult) -> dict[str, Any]:
    """Return what queries ask for that nobody emits, as it stands in JSON."""
    return {
        "of": result.of,
        "queries": result.queries,
        "ok": result.ok,
        "problem": result.problem,
    }


def print_gates(gates: Sequence[Gate]) -> None:
    """Print a table of gates and the denominator below it."""
    table(
        ("check", "stage", "gate", "controls", "sabotage", "live", "alerts", "let down by"),
        [_row(g) for g in sorted(gates, key=lambda g: (g.stage, g.check))],
    )


def _row(gate: Gate) -> tuple[str | Cell, ...]:
    style = _STYLES[gate.state]
    why = gate.why if gate.state is not GateState.PROVEN else ""
    return (gate.check, gate.stage, Cell(gate.state.value, style), *_legs(gate.proven_to), why)


def _legs(proven: ProvenTo) -> tuple[str, ...]:
    legs = (proven.controls, proven.sabotage, proven.live, proven.alerts)
    return tuple(_ANSWERS[leg] for leg in legs)


def print_drills(drills: Sequence[DrillResult]) -> None:
    """Print what the live leg came to, if there was one."""
    if not drills:
        return
    table(
        ("drill", "check", "came out", "seen after", "drove"),
        [
            (
                d.drill,
                d.check,
                d.why or "good, bad, good",
                "" if d.detection_s is None else f"{d.detection_s:.1f} s",
                ", ".join(d.adapters),
            )
            for d in drills
        ],
    )


def spoken(counts: dict[str, int]) -> str:
    """Return the denominator as a sentence."""
    return (
        f"{counts['proven']} proven of {counts['applicable']} applicable; {counts['ran']} ran, "
        f"{counts['firing']} seen to fire; {counts['unproven']} unproven, "
        f"{counts['disabled']} disabled"
    )
