"""``pfid probe gemm``: what each card does on its own dense GEMM."""

from dataclasses import replace
from typing import Any, Final

import click

from pfid.bootstrap.gemm import IDLE_S, SIZE, Measured, keep, measure
from pfid.bootstrap.gpu_look import OwnLook
from pfid.cli.gathering import gathered
from pfid.cli.gpus import PROBLEMS
from pfid.cli.output import Exit, emit_json, error, note, table
from pfid.domain.gpu_view import GpusView, GpuView

COLUMNS: Final = ("gpu", "name", "TFLOP/s", "W", "limit W", "")


@click.command()
@click.option(
    "--python",
    default="python3",
    show_default=True,
    metavar="PY",
    help="The training interpreter: its torch is what is measured.",
)
@click.option("--gpu", "wanted", metavar="UUID", help="This card only, by uuid or index.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, python: str, wanted: str | None, as_json: bool) -> None:
    """Measure each idle GPU's dense bf16 GEMM and keep it as its reference.

    Takes about 20 seconds a card. A card that is not idle is refused. The daemon keeps a
    reference if root asks; this user's own engines use it from their next start.

    Exit codes: 0 every card was measured, 3 one could not be.
    """
    sources = gathered(everything=False).sources
    with OwnLook(sources) as own:
        view = own.look(IDLE_S)
        found: list[Measured] = []
        for card in _chosen(ctx, view, wanted):
            if found:  # the one before took a while: who is on this one now?
                view = own.look(IDLE_S)
            found.append(_told(measure(own, _now(view, card), python, view.driver)))
    references = [m.reference for m in found if m.reference is not None]
    kept, refused = keep(references, sources) if references else ([], "")
    if refused:
        note(refused)
    if as_json:
        emit_json(_data(found, kept))
    elif found:
        table(COLUMNS, [_row(m) for m in found])
    ctx.exit(Exit.OK if found and len(references) == len(found) else Exit.UNKNOWN)


def _chosen(ctx: click.Context, view: GpusView, wanted: str | None) -> list[GpuView]:
    """The cards to measure; ends the command if there is none to look at."""
    if not view.up:
        error(f"could not look: {PROBLEMS.get(view.problem, view.problem or 'no driver answers')}")
        ctx.exit(Exit.UNKNOWN)
    if not view.gpus:
        error("could not look: the driver answers and has no GPU")
        ctx.exit(Exit.UNKNOWN)
    if wanted is None:
        return list(view.gpus)
    cards = [g for g in view.gpus if wanted in {g.facts.uuid, str(g.facts.index)}]
    if not cards:
        error(f"there is no GPU {wanted}; `pfid gpus --json` names them")
        ctx.exit(Exit.USAGE)
    return cards


def _now(view: GpusView, card: GpuView) -> GpuView:
    """The same card as it is seen now; gone if the driver does not list it any more."""
    same = (gpu for gpu in view.gpus if gpu.facts.uuid == card.facts.uuid)
    return next(same, replace(card, present=False))


def _told(measured: Measured) -> Measured:
    if measured.why:
        note(f"GPU {measured.gpu.facts.index} was not measured: {measured.why}")
    return measured


def _row(measured: Measured) -> tuple[str, ...]:
    facts, found = measured.gpu.facts, measured.reference
    if found is None:
        return str(facts.index), facts.name, "-", "-", "-", measured.why
    limit_w = "-" if found.power_limit_w is None else f"{found.power_limit_w:.0f}"
    return str(facts.index), facts.name, f"{found.tflops:.0f}", f"{found.power_w:.0f}", limit_w, ""


def _data(found: list[Measured], kept: list[str]) -> dict[str, Any]:
    return {
        "dtype": "bfloat16",
        "size": SIZE,
        "gpus": [
            {
                "uuid": m.gpu.facts.uuid,
                "index": m.gpu.facts.index,
                "name": m.gpu.facts.name,
                "reference": m.reference,
                "reason": m.why or None,
            }
            for m in found
        ],
        "kept_by": kept,
    }
