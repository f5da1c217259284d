"""``pfid checks``: list the checks with their gates, or explain one."""

import inspect
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import msgspec

from pfid.bootstrap.selftest import Bench, Standing, selftest
from pfid.cli.chosen_config import chosen_config
from pfid.cli.gate_output import denominator, gate_data, spoken
from pfid.cli.output import Cell, Exit, emit_json, error, heading, say, table
from pfid.cli.prose import fits
from pfid.domain.gate import Gate, GateState
from pfid.wire.plugins import CheckInfo

_CONFIG = click.option(
    "--config", type=click.Path(path_type=Path), help="Configuration to look under."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_JSON
@_CONFIG
@click.pass_context
def command(ctx: click.Context, as_json: bool, config: Path | None) -> None:
    """List the checks and their gates, or explain one."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_checks, as_json=as_json, config=config)
    elif as_json or config is not None:
        ctx.fail("options go behind the command: pfid checks explain NAME --json")


@command.command("list")
@_JSON
@_CONFIG
def list_checks(as_json: bool, config: Path | None) -> None:
    """Every check, with its gate as it is proven here and now.

    Exit code: 0, whatever the gates are; `pfid selftest` answers by them.
    """
    standing = selftest(Bench(config=chosen_config(config)))
    counts = denominator(standing.gates)
    if as_json:
        checks = [_data(standing.infos.get(g.check), g) for g in standing.gates]
        emit_json({"checks": checks, "summary": counts})
        return
    table(
        ("check", "stage", "severity", "gate", "fails on"),
        [_row(standing.infos.get(g.check), g) for g in standing.gates],
    )
    say(spoken(counts))


@command.command("explain")
@click.argument("name")
@_JSON
@_CONFIG
@click.pass_context
def explain(ctx: click.Context, name: str, as_json: bool, config: Path | None) -> None:
    """What one check fails on, its blind spot, its limits, and what proves it.

    Exit codes: 0 there is such a check, 2 there is none.
    """
    chosen = chosen_config(config)
    standing = selftest(Bench(config=chosen), only=name)
    gate = next(iter(standing.gates), None)
    if gate is None:
        _no_such_check(ctx, name, selftest(Bench(config=chosen)))
        return
    info = standing.infos.get(gate.check)
    if as_json:
        emit_json(_data(info, gate))
    else:
        _tell(info, gate)


def _no_such_check(ctx: click.Context, name: str, standing: Standing) -> None:
    near = get_close_matches(name, [g.check for g in standing.gates], 1)
    hint = f"; did you mean {near[0]}?" if near else "; `pfid checks` lists them"
    error(f"there is no check {name}{hint}")
    ctx.exit(Exit.USAGE)


def _row(info: CheckInfo | None, gate: Gate) -> tuple[str | Cell, ...]:
    style = "" if gate.state is GateState.PROVEN else "bold red"
    fails_on = _first_line(info.runbook) if info is not None else gate.why
    return gate.check, gate.stage, gate.severity, Cell(gate.state.value, style), fails_on


def _first_line(runbook: str) -> str:
    return inspect.cleandoc(runbook).partition("\n")[0]


def _data(info: CheckInfo | None, gate: Gate) -> dict[str, Any]:
    described: dict[str, Any] = {} if info is None else msgspec.to_builtins(info)
    return {**described, "gate": gate_data(gate)}


def _tell(info: CheckInfo | None, gate: Gate) -> None:
    heading(f"{gate.check}  ({gate.stage}, {gate.severity})")
    if info is not None:
        _tell_runbook(inspect.cleandoc(info.runbook))
        _tell_settings(info)
    click.echo()
    say(f"gate: {gate.state.value}" + (f", {gate.why}" if gate.why else ""))
    if gate.controls:
        table(("control", "expects", "came out", "reason"), [_control(c) for c in gate.controls])
    if gate.sabotage:
        caught = sum(s.caught for s in gate.sabotage)
        say(f"sabotage: {caught} of {len(gate.sabotage)} mutants noticed")


def _tell_runbook(text: str) -> None:
    """Print it as it was written, or its paragraphs folded anew where that is too wide."""
    for paragraph in text.split("\n\n"):
        click.echo()
        lines = paragraph.splitlines()
        for line in lines if fits(lines, sys.stdout) else [" ".join(paragraph.split())]:
            say(line)
    click.echo()


def _tell_settings(info: CheckInfo) -> None:
    table(("reason", "means"), [(reason, o.value) for reason, o in info.reasons.items()])
    click.echo()
    if info.limits:
        table(("limit", "value", "unit"), _limits(info.limits, info.units))
        click.echo()
    rule = info.hysteresis
    say(
        f"fires on {rule.fire_m} of {rule.fire_n} over at least {rule.floor_s:g} s, clears on "
        f"{rule.clear_k} in a row; every {info.cadence_s:g} s; reads {', '.join(info.reads)}"
    )


def _limits(limits: Mapping[str, float], units: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(name, f"{value:g}", units.get(name, "")) for name, value in limits.items()]


def _control(control: Any) -> tuple[str | Cell, ...]:
    came = Cell(control.got or "invalid", "" if control.ok else "bold red")
    return control.name, control.expect, came, control.error or control.reason
