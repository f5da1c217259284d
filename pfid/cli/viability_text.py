"""How a model's viability looks: what was judged under which plan, its memory, and what is left."""

from collections.abc import Iterable, Sequence
from typing import Final

import click

from pfid.bootstrap.stage_judging import Judged
from pfid.bootstrap.viability.candidate import Candidate
from pfid.cli.colours import outcome_cell
from pfid.cli.judged_text import print_figures, print_judged, print_outcome
from pfid.cli.output import Cell, say, table
from pfid.cli.output import facts as print_facts
from pfid.cli.viability_output import (
    COLUMNS,
    FIT,
    GIB,
    HIGH,
    LOW,
    Compared,
    conclusion,
    layer_counts,
    memory_items,
    size_text,
)
from pfid.domain.model import RECURRENT, ModelShape
from pfid.domain.outcome import Outcome
from pfid.domain.training_plan import Loss, Method, Packing, Plan
from pfid.spec.ports.viability import ModelFacts

FITS: Final = {
    Outcome.PASS: "fits",
    Outcome.FAIL: "does not fit",
    Outcome.UNKNOWN: "unknown whether it fits",
}
NEVER_TRIED: Final = ("not_proven", "not_declared")


def print_viability(candidate: Candidate, facts: ModelFacts, judged: Sequence[Judged]) -> None:
    """Print what was judged and under which plan, the account, the verdicts, what they come to."""
    lines = [*model_lines(facts, judged), *plan_lines(candidate)]
    print_facts([("model", candidate.name), *((k, v) for k, v in lines if v)])
    items = memory_items(judged)
    if items:
        click.echo()
        table(
            ("MEMORY", "LOW GiB", "HIGH GiB"),
            [(n, f"{low / GIB:.2f}", f"{high / GIB:.2f}") for n, low, high in _peak_last(items)],
        )
    click.echo()
    print_judged(judged)
    print_figures(judged, but=(LOW, HIGH))
    _print_conclusion(judged)


def _print_conclusion(judged: Sequence[Judged]) -> None:
    """What fits with how much of how much, what remains to be proven, what to do."""
    click.echo()
    fit = next((j.view for j in judged if j.view.check == FIT), None)
    if fit is not None:
        say(f"{FITS.get(fit.outcome, 'not judged')}: {fit.summary}")
    unproven = [str(j.view.check) for j in judged if _is_unproven(j)]
    say(f"to be proven: {', '.join(unproven) or 'nothing'}")
    print_outcome(judged, good="this base can be trained and served as planned")


def _is_unproven(judged: Judged) -> bool:
    """Whether nobody knows yet, or nobody has tried."""
    return judged.view.outcome is Outcome.UNKNOWN or judged.view.reason in NEVER_TRIED


def plan_lines(candidate: Candidate) -> list[tuple[str, str]]:
    """How it would be trained and served, a line a thing."""
    plan = candidate.plan
    served = candidate.served_as.value if candidate.served_as is not None else "nothing of it"
    told = "" if candidate.serve else ", by the method: nobody said"
    return [
        ("plan", plan_text(plan)),
        ("card", f"{plan.gpu_memory_bytes / GIB:.1f} GiB"),
        ("to be served", served + told),
    ]


def plan_text(plan: Plan) -> str:
    """A plan in a line."""
    adapter = f" of rank {plan.rank}" if plan.method is not Method.FULL else ""
    targets = f" on {plan.targets}" if plan.targets else ""
    loss = f"chunked loss ({plan.loss_chunk})" if plan.loss is Loss.CHUNKED else "whole loss"
    measured = plan.measured_bytes
    return ", ".join(
        part
        for part in (
            f"{plan.method.value}{adapter}{targets}",
            f"{plan.micro_batch} x {plan.sequence} tokens",
            "checkpointing" if plan.checkpointing else "no checkpointing",
            loss,
            plan.optimizer.value + (" with momentum" if plan.momentum else ""),
            plan.attention.value,
            f"packing {plan.packing.value}" if plan.packing is not Packing.NONE else "",
            {True: "padded", False: "unpadded", None: ""}[plan.padded],
            {True: "float32", False: "bfloat16", None: ""}[plan.float32],
            "gradients accumulate" if plan.accumulates else "",
            f"measured peak {measured / GIB:.1f} GiB" if measured is not None else "",
        )
        if part
    )


def model_lines(facts: ModelFacts, judged: Sequence[Judged]) -> list[tuple[str, str]]:
    """What a model is, a line a thing."""
    shape = facts.shape
    if shape is None:
        return [("problem", facts.detail or facts.problem)]
    view = next((j.view for j in judged if j.view.check == FIT), None)
    return [
        ("class", ", ".join(shape.classes[:3])),
        ("size", size_text(view)),
        ("data type", " ".join(part for part in (shape.quantised, shape.dtype) if part)),
        ("layers", ", ".join(f"{n} {kind}" for kind, n in layer_counts(shape).items())),
        ("experts", _experts_text(shape)),
        ("beside it", ", ".join(_beside(shape))),
        *(("note", text) for _, text in facts.notes),
    ]


def _experts_text(shape: ModelShape) -> str:
    of = [layer.feed for layer in shape.layers if layer.feed.experts]
    if not of:
        return ""
    return f"{of[0].experts}, {of[0].top_k} a token, in {len(of)} of {len(shape.layers)} layers"


def _beside(shape: ModelShape) -> list[str]:
    found = [tower.key for tower in shape.towers]
    return found + ([f"{shape.mtp_layers} further-token layers"] if shape.mtp_layers else [])


def _peak_last(items: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    return sorted(items, key=lambda item: item[0] == "peak")


def print_compared(found: Compared, plan: Plan) -> None:
    """Print the playbook's table, a row a base; beneath it what other checks do not pass."""
    print_facts([("plan", plan_text(plan)), ("card", f"{plan.gpu_memory_bytes / GIB:.1f} GiB")])
    click.echo()
    shown = {name: check for name, check in COLUMNS.items() if _is_told(check, found)}
    rows = [_row(name, facts, judged, shown.values()) for name, facts, judged in found]
    table(("BASE", "SIZE", "KIND", "PEAK GiB", *shown, "VERDICT"), rows)
    doubts = [
        (name, j.view.check, _cell(j))
        for name, _, judged in found
        for j in judged
        if j.view.check not in shown.values() and j.view.outcome in (Outcome.FAIL, Outcome.UNKNOWN)
    ]
    if doubts:
        click.echo()
        table(("BASE", "CHECK", "BESIDE"), doubts)


def _is_told(check: str, found: Compared) -> bool:
    """A column in which every base says that it was not asked about tells nothing."""
    outcomes = {j.view.outcome for _, _, judged in found for j in judged if j.view.check == check}
    return bool(outcomes - {Outcome.NOT_APPLICABLE})


def _row(
    name: str, facts: ModelFacts, judged: Sequence[Judged], checks: Iterable[str]
) -> list[str | Cell]:
    of = {str(j.view.check): j for j in judged}
    cells = [_cell(of[check]) if check in of else Cell("") for check in checks]
    return [*_columns(name, facts, judged), *cells, conclusion(judged)]


def _columns(name: str, facts: ModelFacts, judged: Sequence[Judged]) -> list[str | Cell]:
    view = next((j.view for j in judged if j.view.check == FIT), None)
    peak = next(
        (f"{a / GIB:.1f}-{b / GIB:.1f}" for n, a, b in memory_items(judged) if n == "peak"), ""
    )
    kind = ""
    if facts.shape is not None:
        kind = "MoE" if facts.shape.experts else "dense"
        kind += " hybrid" if facts.shape.count(*RECURRENT) else ""
    return [name, size_text(view).replace(" parameters", ""), kind, peak]


def _cell(judged: Judged) -> Cell:
    cell = outcome_cell(judged.view.outcome)
    return Cell(f"{cell.text} {judged.view.reason}", cell.style)
