"""Gates as JUnit XML: a suite a check; every control, mutant and live drill is a case."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pfid.bootstrap.live.session import DrillResult
from pfid.bootstrap.monitoring import AlertResult
from pfid.domain.gate import ControlResult, Gate, GateState
from pfid.formats.untrusted import printable

_CHARS = 2_000


def write_junit(
    path: Path,
    gates: Sequence[Gate],
    drills: Sequence[DrillResult] = (),
    alerts: Sequence[AlertResult] = (),
) -> None:
    """Write the file.

    Args:
        path: of the file.
        gates: each a suite.
        drills: of the live leg, a suite of their own.
        alerts: that no check brings, likewise.

    Raises:
        OSError: if it cannot be written.
    """
    root = ET.Element("testsuites", name="pfid selftest")
    for gate in gates:
        cases = list(_cases(gate))
        failed = sum(problem is not None for _, problem in cases)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=f"{gate.stage}.{gate.check}",
            tests=str(len(cases)),
            failures=str(failed),
            skipped=str(int(gate.state is GateState.DISABLED)),
        )
        _write_cases(suite, gate, cases)
    if drills:
        _write_drills(root, drills)
    if alerts:
        _write_alerts(root, alerts)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _write_cases(suite: ET.Element, gate: Gate, cases: Iterable[tuple[str, str | None]]) -> None:
    for name, problem in cases:
        case = ET.SubElement(suite, "testcase", classname=gate.check, name=_clean(name))
        if problem is not None:
            ET.SubElement(case, "failure", message=_clean(problem))
        elif gate.state is GateState.DISABLED:
            ET.SubElement(case, "skipped", message=_clean(gate.why))


def _write_drills(root: ET.Element, drills: Sequence[DrillResult]) -> None:
    suite = ET.SubElement(
        root,
        "testsuite",
        name="live",
        tests=str(len(drills)),
        failures=str(sum(d.ok is False for d in drills)),
        skipped=str(sum(d.ok is None for d in drills)),
    )
    for drill in drills:
        case = ET.SubElement(suite, "testcase", classname=drill.check, name=drill.drill)
        if drill.ok is not True:
            kind = "failure" if drill.ok is False else "skipped"
            ET.SubElement(case, kind, message=_clean(drill.why))


def _write_alerts(root: ET.Element, alerts: Sequence[AlertResult]) -> None:
    failed = sum(not a.ok for a in alerts)
    suite = ET.SubElement(
        root, "testsuite", name="alerts", tests=str(len(alerts)), failures=str(failed), skipped="0"
    )
    for alert in alerts:
        case = ET.SubElement(suite, "testcase", classname="alerts", name=alert.check)
        if not alert.ok:
            ET.SubElement(case, "failure", message=_clean(alert.problem))


def _cases(gate: Gate) -> Iterator[tuple[str, str | None]]:
    """Name and problem of every case; None where there is none."""
    yield "gate", gate.why if gate.state is GateState.UNPROVEN else None
    for control in gate.controls:
        yield f"control {control.name}", None if control.ok else _said(control)
    for mutant in gate.sabotage:
        yield f"sabotage {mutant.mutant}", None if mutant.caught else "no control noticed"


def _said(control: ControlResult) -> str:
    return control.error or f"expected {control.expect}, got {control.got} {control.reason}"


def _clean(text: str) -> str:
    return printable(text, _CHARS)
