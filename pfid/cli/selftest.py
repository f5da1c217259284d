"""``pfid selftest``: prove that every check can fire, can pass, and would notice being broken."""

import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from pfid.bootstrap.live.ports import UNDRILLED_STAGES
from pfid.bootstrap.live.project_session import run_project_drills
from pfid.bootstrap.live.record import record_drills
from pfid.bootstrap.live.session import DrillResult, run_live, with_live
from pfid.bootstrap.monitoring import (
    AlertResult,
    QueriesResult,
    alert_legs,
    own_alerts,
    queries_known,
    tell_alerts,
    with_alerts,
)
from pfid.bootstrap.selftest import Bench, selftest
from pfid.cli.chosen_config import chosen_config
from pfid.cli.gate_output import (
    alert_data,
    denominator,
    gates_data,
    print_drills,
    print_gates,
    queries_data,
    spoken,
)
from pfid.cli.junit import write_junit
from pfid.cli.output import Exit, emit_json, error, note, say
from pfid.config.paths import daemon_socket
from pfid.domain.errors import PfidError
from pfid.domain.gate import Gate, GateState
from pfid.spec.check import Stage

DRILLED: Final = {stage.value for stage in Stage} - UNDRILLED_STAGES.keys()


@click.command()
@click.option("--check", "only", metavar="NAME", help="Prove one check only.")
@click.option("--stage", type=click.Choice([s.value for s in Stage]), help="One stage only.")
@click.option("--live", is_flag=True, help="Go on to real faults through a running daemon.")
@click.option("--burn", metavar="PY", help="Load an idle GPU with this interpreter's torch, too.")
@click.option("--alerts", is_flag=True, help="Go on to the alert rules, with promtool.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write JUnit.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration to prove under.")
@click.pass_context
def command(  # noqa: PLR0917 - click hands each option over as an argument
    ctx: click.Context,
    only: str | None,
    stage: str | None,
    live: bool,
    burn: str | None,
    alerts: bool,
    as_json: bool,
    junit: Path | None,
    config: Path | None,
) -> None:
    """Drive every check through its controls and their sabotage.

    With --live a canary process is really killed, stopped and slowed down, its log and steps are
    really written, through the box's daemon or one of our own, until verdict, event and metric
    have arrived, and are good again. It takes one to three minutes. Faults of GPUs are planted
    where PFID_NVML_SHIM names a stand-in for NVML; on real GPUs none can be. With --burn PY the
    training interpreter PY loads an idle one for a minute: a GEMM, a spinning kernel, a GEMM.
    For pre-launch checks a scratch repository is really broken and mended, git and the
    interpreter really asked; what has no drill says why.

    With --alerts the page of every control, plugins' too, is put before the alert rules: a control
    that fails must raise its check's alert, one that cannot look the lower one, one that passes
    none. Alerts that no check brings are put before worlds of their own, in which they fire and do
    not. It needs promtool; without it that leg stays untried. Recording rules and the dashboard's
    panels must ask for nothing that the daemon never emits.

    Exit status: 0 every enabled check is proven, 1 one is not, 2 usage, 3 nothing to prove, or
    a leg that was asked for could be tried on nothing that was chosen.
    """
    stages = (Stage(stage),) if stage else tuple(Stage)
    chosen = chosen_config(config)
    gates = selftest(Bench(config=chosen), stages, only).gates
    if only and not gates:
        where = f" of stage {stage}" if stage else ""
        error(f"there is no check {only}{where}; `pfid checks` lists them")
        ctx.exit(Exit.USAGE)
    off = chosen.disabled_checks
    drills = _drilled(ctx, only, off) if live and Stage.WATCH in stages else ()
    if live and Stage.PREFLIGHT in stages:
        drills = (*drills, *run_project_drills(chosen, only, _tell))
    untried = undriven(gates, drills) if live else ()
    if burn is not None:
        burnt = _burnt(burn) if Stage.WATCH in stages else None
        untried += ("--burn",) if burnt is None or burnt.ok is None else ()
        drills = (*drills, *([burnt] if burnt is not None else []))
    gates = with_live(gates, drills)
    raised = alert_legs(chosen, only) if alerts and Stage.WATCH in stages else ()
    untried += ("--alerts",) if alerts and not raised else ()
    gates = with_alerts(gates, _told(raised))
    if raised:
        tell_alerts(daemon_socket(os.environ), gates)
    others = _told_others(own_alerts() or ()) if raised and only is None else ()
    queries = _told_queries(queries_known()) if alerts and only is None else ()
    if junit is not None:
        _write(ctx, junit, gates, drills, others)
    if as_json:
        more: dict[str, Any] = {}
        if live or burn is not None:
            more["drills"] = msgspec.to_builtins(drills)
        if alerts:
            more["alerts"] = None if raised is None else [alert_data(r) for r in others]
            more["queries"] = [queries_data(r) for r in queries]
        emit_json({**gates_data(gates), **more})
    else:
        print_gates(gates)
        print_drills(drills)
        say(spoken(denominator(gates)))
    for leg in untried:
        note(f"{leg}: nothing that was chosen could be tried here")
    ctx.exit(verdict(gates, untried) if _all_ok(others) and _all_ok(queries) else Exit.FAILED)


def verdict(gates: Sequence[Gate], untried: Sequence[str] = ()) -> Exit:
    """Return the exit status: nothing tried is not a success, and neither is a failed drill.

    Args:
        gates: of what was chosen.
        untried: legs that were asked for and tried on nothing.
    """
    legs = [leg for g in gates for leg in (g.proven_to.live, g.proven_to.alerts)]
    if False in legs or any(g.state is GateState.UNPROVEN for g in gates):
        return Exit.FAILED
    proven = any(g.state is GateState.PROVEN for g in gates)
    return Exit.OK if proven and not untried else Exit.UNKNOWN


def undriven(gates: Sequence[Gate], drills: Sequence[DrillResult]) -> tuple[str, ...]:
    """Return stages in which no drill was driven, as the leg and the stage.

    Of the stages that were chosen those that have drills count; where none has, each does: whoever
    asks for real faults of a stage without drills must not read that they were seen.
    """
    driven = {r.check for r in drills if r.ok is not None}
    chosen = [g for g in gates if g.state is not GateState.DISABLED]
    stages = sorted({g.stage for g in chosen})
    counted = [s for s in stages if s in DRILLED] or stages
    return tuple(
        f"--live, {stage}"
        for stage in counted
        if not any(g.stage == stage and g.check in driven for g in chosen)
    )


def _tell(result: DrillResult) -> None:
    came = {True: "good, bad, good", False: "FAILED", None: "not tried"}[result.ok]
    note(f"drill {result.drill} ({result.check}): {came} {result.why}".rstrip())


def _burnt(python: str) -> DrillResult:
    from pfid.bootstrap.live.burn import burn  # GPUs are looked for only if asked

    result = burn(python)
    _tell(result)
    return result


def _drilled(ctx: click.Context, only: str | None, off: Container[str]) -> tuple[DrillResult, ...]:
    try:
        results = run_live(daemon_socket(os.environ), only, _tell, off=off)
    except PfidError as problem:
        error(str(problem))
        ctx.exit(Exit.UNKNOWN)
    if only is None:
        record_drills(results)
    return results


def _told(raised: Sequence[AlertResult] | None) -> Sequence[AlertResult]:
    """Say on stderr what the alerts came to, and that they were not tried where they were not."""
    if raised is None:
        note("alerts: not tried, promtool is not installed")
        return ()
    for result in raised:
        came = "as declared" if result.ok else f"FAILED: {result.problem}"
        note(f"alerts of {result.check}, {result.controls} controls: {came}")
    return raised


def _told_others(results: Sequence[AlertResult]) -> Sequence[AlertResult]:
    """Say on stderr what the alerts came to that no check brings."""
    for result in results:
        came = "as declared" if result.ok else f"FAILED: {result.problem}"
        note(f"alert {result.check}, {result.controls} worlds: {came}")
    return results


def _all_ok(results: Sequence[AlertResult | QueriesResult]) -> bool:
    return all(r.ok for r in results)


def _told_queries(results: Sequence[QueriesResult]) -> Sequence[QueriesResult]:
    """Say on stderr whether rules and panels ask for what is emitted."""
    for result in results:
        came = "ask for what is emitted" if result.ok else f"FAILED: {result.problem}"
        note(f"{result.queries} queries of {result.of}: {came}")
    return results


def _write(
    ctx: click.Context,
    path: Path,
    gates: Sequence[Gate],
    drills: Sequence[DrillResult],
    others: Sequence[AlertResult],
) -> None:
    try:
        write_junit(path, gates, drills, others)
    except OSError as problem:
        error(f"{path}: cannot be written: {problem.strerror}")
        ctx.exit(Exit.USAGE)
