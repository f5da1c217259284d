"""``pfid selftest``: prove that every check can fire, can pass, and would notice being broken."""

from pathlib import Path

import click

from pfid.bootstrap.selftest import Bench, selftest
from pfid.cli.chosen_config import chosen_config
from pfid.cli.gate_output import denominator, gates_data, print_gates, spoken
from pfid.cli.junit import write_junit
from pfid.cli.output import Exit, emit_json, error
from pfid.domain.gate import Gate, GateState
from pfid.spec.check import Stage


@click.command()
@click.option("--check", "only", metavar="NAME", help="Prove one check only.")
@click.option("--stage", type=click.Choice([s.value for s in Stage]), help="One stage only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write JUnit.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration to prove under.")
@click.pass_context
def command(
    ctx: click.Context,
    only: str | None,
    stage: str | None,
    as_json: bool,
    junit: Path | None,
    config: Path | None,
) -> None:
    """Drive every check through its controls and their sabotage.

    Exit status: 0 every enabled check is proven, 1 one is not, 2 usage, 3 nothing to prove.
    """
    stages = (Stage(stage),) if stage else tuple(Stage)
    gates = selftest(Bench(config=chosen_config(config)), stages, only).gates
    if only and not gates:
        error(f"there is no check {only}; `pfid checks` lists them")
        ctx.exit(Exit.USAGE)
    if junit is not None:
        _write(ctx, junit, gates)
    if as_json:
        emit_json(gates_data(gates))
    else:
        print_gates(gates)
        click.echo(spoken(denominator(gates)))
    ctx.exit(verdict(gates))


def verdict(gates: tuple[Gate, ...]) -> Exit:
    """Return the exit status: nothing tried is not a success."""
    if any(g.state is GateState.UNPROVEN for g in gates):
        return Exit.FAILED
    return Exit.OK if any(g.state is GateState.PROVEN for g in gates) else Exit.UNKNOWN


def _write(ctx: click.Context, path: Path, gates: tuple[Gate, ...]) -> None:
    try:
        write_junit(path, gates)
    except OSError as problem:
        error(f"{path}: cannot be written: {problem.strerror}")
        ctx.exit(Exit.USAGE)
