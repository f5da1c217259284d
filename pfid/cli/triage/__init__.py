"""``pfid triage``: where the step time goes, in the order that ends soonest, on one page."""

from pathlib import Path
from typing import Any

import click

from pfid.analysis.triage_findings import answer_of
from pfid.cli.output import Exit, emit_json, error, note
from pfid.cli.triage.ledger import read_negatives
from pfid.cli.triage.page import page_html, page_json, print_page
from pfid.cli.triage.stages import Examination
from pfid.config.triage import load_triage


@click.command()
@click.argument("spec", type=click.Path(dir_okay=False, path_type=Path), metavar="SPEC")
@click.option(
    "--python",
    default="python3",
    show_default=True,
    metavar="PY",
    help="The training interpreter: masks and step are looked at in it.",
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the page as one self-contained HTML file too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context, spec: Path, python: str, html_file: Path | None, as_json: bool
) -> None:
    """Say where the step time goes: masks, scaling, kernels, data, and backends last.

    SPEC is TOML with a [model], a [step], a [trace], [lengths] and [claims], each of which may be
    left out. It stops where the answer is, and recommends nothing that runs already, nor what the
    ledger of claims holds as a measured negative: the one that [claims] names, else the
    claims.toml beside SPEC, above it in its repository, or in the current folder.

    Exit codes: 0 there is an answer, 1 the masks are wrong, 2 usage or spec, 3 there is none.
    """
    wanted, folder = load_triage(spec), spec.absolute().parent
    negatives = read_negatives(wanted, folder)
    findings = Examination(wanted, folder, python, note, negatives).findings()
    title = wanted.title or spec.stem
    data = page_json(title, findings, negatives)
    if html_file is not None:
        _write(html_file, page_html(title, data), ctx)
    if as_json:
        emit_json(data)
    else:
        print_page(data)
    ctx.exit(_status(findings))


def _write(file: Path, page: str, ctx: click.Context) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as problem:
        error(f"{file}: cannot be written: {problem.strerror}")
        ctx.exit(Exit.USAGE)


def _status(findings: Any) -> Exit:
    answer = answer_of(findings)
    if answer is None:
        return Exit.UNKNOWN
    return Exit.FAILED if answer.wrong else Exit.OK
