"""``pfid probe mask``: which attention masks the installed transformers makes for a model."""

from typing import Any, Final

import click

from pfid.analysis.mask_structure import (
    REASONS,
    FastPath,
    MaskReading,
    MaskRow,
    mask_notes,
    read_masks,
)
from pfid.bootstrap.masks import look_at_masks
from pfid.cli.finite import WholeRange
from pfid.cli.output import Cell, Exit, emit_json, error, facts, table
from pfid.domain.masks import LayerFact, MaskReport
from pfid.domain.outcome import Outcome

STYLES: Final = {Outcome.PASS: "green", Outcome.FAIL: "bold red", Outcome.UNKNOWN: "yellow"}
WORDS: Final = {Outcome.NOT_APPLICABLE: "n/a"}


@click.command()
@click.argument("model", metavar="MODEL_OR_CONFIG")
@click.option(
    "--python",
    default="python3",
    show_default=True,
    metavar="PY",
    help="The training interpreter: its transformers is what is looked at.",
)
@click.option(
    "--attention",
    multiple=True,
    metavar="NAME",
    help="This attention implementation only; may be given again. All registered ones otherwise.",
)
@click.option(
    "--width",
    type=WholeRange(8, 8_192),
    help="Tokens a row; a little over the window otherwise.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    model: str,
    python: str,
    attention: tuple[str, ...],
    width: int | None,
    as_json: bool,
) -> None:
    """Say what masks a model's layers get: no weights, no GPU, nothing compiled.

    MODEL_OR_CONFIG is a folder, a config.json or a hub id; code that comes with a model is never
    executed. Every attention implementation is asked for every layer type without a mask, with one
    of ones, with padding at either end and with packed documents.

    Exit codes: 0 every mask is right, 1 one is wrong, 3 could not look.
    """
    report = look_at_masks(python, model, attention, width)
    reading = read_masks(report, attention)
    if as_json:
        emit_json(mask_json(report, reading))
    else:
        _print(report, reading)
    if not reading.instrument_sees:
        error("the probe does not see a fault planted in it: nothing it says counts")
    ctx.exit(exit_of(reading.outcome))


def exit_of(outcome: Outcome) -> Exit:
    """Exit status of an outcome."""
    if outcome is Outcome.FAIL:
        return Exit.FAILED
    return Exit.UNKNOWN if outcome is Outcome.UNKNOWN else Exit.OK


def mask_json(report: MaskReport, reading: MaskReading) -> dict[str, Any]:
    """Everything as one object."""
    return {
        "transformers": report.transformers,
        "torch": report.torch,
        "model_type": report.model_type,
        "requested": report.requested,
        "registered": report.registered,
        "width": report.width,
        "layer_types": [
            {
                "type": kind,
                "layers": count,
                "configured": report.configured.get(kind),
                "probed": report.probed.get(kind),
            }
            for kind, count in report.layer_types.items()
        ],
        "layers": report.layers,
        "outcome": reading.outcome,
        "masks": [_row_json(row) for row in reading.rows],
        "controls": [
            {"planted": fault, "named": named, "ok": fault == named}
            for fault, named in reading.planted.items()
        ],
        "notes": [{"code": code, "text": text} for code, text in mask_notes(report)],
    }


def _row_json(row: MaskRow) -> dict[str, Any]:
    fact = row.fact
    return {
        "attention": fact.attention,
        "case": fact.case,
        "layer_type": fact.layer_type,
        "mask": fact.kind,
        "fast_path": None if row.path is FastPath.NONE else row.path,
        "window": fact.size,
        "max_allowed": fact.max_allowed,
        "saturating_row": fact.saturating_row,
        "sparsity": None if fact.sparsity is None else fact.sparsity / 100,
        "outcome": row.outcome,
        "reason": row.reason,
    }


def summary_lines(report: MaskReport, reading: MaskReading) -> list[tuple[str, Outcome]]:
    """One sentence a layer type, with the worst of its masks' outcomes and why."""
    found = []
    for kind in report.layer_types:
        rows = [row for row in reading.rows if row.fact.layer_type == kind]
        if not rows:
            continue
        outcome = worst_of(rows)
        decisive = next(row for row in rows if row.outcome is outcome)
        counted = next((row for row in (decisive, *rows) if row.fact.max_allowed is not None), None)
        said = kind if counted is None else f"{kind} {_structure(counted)}"
        if decisive.reason != "right":
            said += f"; {decisive.reason} under {decisive.fact.attention}"
        found.append((said, outcome))
    return found


def worst_of(rows: list[MaskRow]) -> Outcome:
    """The outcome of several masks."""
    return MaskReading(rows=tuple(rows), planted={"-": "-"}).outcome


def _structure(row: MaskRow) -> str:
    fact = row.fact
    if fact.max_allowed is None:
        return ""
    return f"max {fact.max_allowed:,} allowed/row, saturates at row {fact.saturating_row:,}"


def _word(outcome: Outcome) -> str:
    return WORDS.get(outcome, outcome.value.upper())


def _print(report: MaskReport, reading: MaskReading) -> None:
    facts(
        [
            ("model", f"{report.model_type}, {_layers(report)}"),
            ("installed", f"transformers {report.transformers}, torch {report.torch}"),
            ("configured attention", report.requested or "the library's default"),
            ("width", f"{report.width:,} tokens a row"),
            ("planted faults named", _controls(reading)),
        ]
    )
    table(
        ("attention", "case", "layer type", "mask", "fast path", "allowed", "outcome", "reason"),
        [
            [
                row.fact.attention,
                row.fact.case.value,
                row.fact.layer_type,
                row.fact.kind.value,
                row.path.value,
                _structure(row),
                Cell(_word(row.outcome), STYLES.get(row.outcome, "")),
                row.reason,
            ]
            for row in reading.rows
        ],
    )
    if report.layers:
        table(
            ("layers", "type", "mask from", "window passed", "heads", "head dim"),
            [_layer_row(group) for group in _groups(report.layers)],
            title="what the layers hand to attention",
        )
    said = sorted({row.reason for row in reading.rows} - {"right"})
    rows = [(code, REASONS[code][1]) for code in said]
    table(("note", ""), [*rows, *mask_notes(report)])
    for line, outcome in summary_lines(report, reading):
        facts([(line, Cell(_word(outcome), STYLES.get(outcome, "")))])


def _layers(report: MaskReport) -> str:
    parts = []
    for kind, count in report.layer_types.items():
        size = report.configured.get(kind)
        parts.append(f"{count} {kind}" + (f" of {size:,}" if size else ""))
    return ", ".join(parts)


def _controls(reading: MaskReading) -> str:
    good = sum(fault == named for fault, named in reading.planted.items())
    return f"{good} of {len(reading.planted)}"


def _groups(layers: tuple[LayerFact, ...]) -> list[list[LayerFact]]:
    """Layers that hand over the same, together."""
    found: dict[tuple[object, ...], list[LayerFact]] = {}
    for one in layers:
        same = (one.type, one.mask_function, one.window, one.heads, one.kv_heads, one.head_dim)
        found.setdefault(same, []).append(one)
    return list(found.values())


def _layer_row(group: list[LayerFact]) -> list[str]:
    one = group[0]
    if one.mask_function is None:
        return [str(len(group)), one.type or "?", "attention not reached", "-", "-", "-"]
    window = "-" if not one.window_passed else "none" if one.window is None else f"{one.window:,}"
    heads = f"{one.heads} on {one.kv_heads}"
    return [str(len(group)), one.type, one.mask_function, window, heads, str(one.head_dim)]
