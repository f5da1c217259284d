"""``pfid judge``: an evaluation's records as verdicts that say what they can and cannot see."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pfid.cli.chosen_config import chosen_config
from pfid.cli.exit_codes import EXITS
from pfid.cli.output import emit_json, note
from pfid.cli.own_name import called

if TYPE_CHECKING:
    from pfid.bootstrap.stage_judging import Judged

RECORDS = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("results", nargs=-1, required=True, type=RECORDS, metavar="RESULTS...")
@click.option(
    "--spec",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="GATES.toml",
    help="What is asked of them. [default: GATES.toml]",
)
@click.option(
    "--baseline",
    multiple=True,
    type=RECORDS,
    metavar="BASE",
    help="Records of the other arm. May be given again for repeated runs.",
)
@click.option("--init", is_flag=True, help="Write a commented spec for these records.")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write one self-contained page with plots as well, readable by you alone.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Configuration to judge under.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    results: tuple[Path, ...],
    spec: Path | None,
    init: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Judge an evaluation's records by what a spec asks: pfid judge RESULTS.jsonl.

    RESULTS are JSON lines, sample logs of lm-evaluation-harness or logs of inspect-ai, gzip among
    them, or a folder of such logs; several are repeated runs. Nothing is dropped: a record that
    cannot be judged is counted and shown with its line, and what is judged over fewer records than
    were declared is unknown. The judgement is kept under the spec's name, for the run after it.

    Exit codes: 0 nothing fails or is unknown, 1 a check failed, 2 the spec cannot be used, 3
    something required is unknown.
    """
    if init:
        _init(results, given["baseline"], spec, as_json=as_json)
        return
    from pfid.bootstrap.judge.judging import (
        Asked,
        judge_evaluation,
        keep_judgement,
        open_evaluation,
        ready,
    )
    from pfid.cli.judge.output import judge_json, print_judgement
    from pfid.config.gates import FILE_NAME
    from pfid.domain.errors import StateError

    asked = Asked(
        results=results,
        baseline=given["baseline"],
        spec=spec or Path(FILE_NAME),
        environ=os.environ,
        told=(lambda _: None) if as_json else note,
    )
    evaluation = open_evaluation(asked, chosen_config(given["config"]))
    judged = judge_evaluation(evaluation, _progress(as_json))
    came = ready(judged)
    try:
        keep_judgement(evaluation, judged)
        kept = ""
    except StateError as problem:
        kept = str(problem)
        note(f"this judgement is not kept for the next run: {kept}")
    if given["html"] is not None:
        _write(given["html"], evaluation, judged)
    if as_json:
        emit_json(
            {**judge_json(evaluation, judged), "passed": came.value == "pass", "not_kept": kept}
        )
    else:
        print_judgement(evaluation, judged)
    raise SystemExit(EXITS[came])


def _progress(as_json: bool) -> "Callable[[Judged], None]":
    """On a terminal each verdict is named as it comes: a corpus may take minutes."""
    if as_json or not sys.stderr.isatty():
        return lambda _: None
    return lambda judged: note(f"{judged.view.check}: {judged.view.outcome.value}")


def _write(path: Path, evaluation: object, judged: object) -> None:
    from pfid.cli.judge.page import page
    from pfid.cli.page_file import write_page

    write_page(path, page(evaluation, judged))  # type: ignore[arg-type]


def _init(
    results: tuple[Path, ...], baseline: tuple[Path, ...], spec: Path | None, *, as_json: bool
) -> None:
    from pfid.bootstrap.judge.initial import write_initial

    written = write_initial(results, baseline, spec)
    if as_json:
        emit_json({"spec": str(written.path), "found": list(written.found)})
        return
    for line in written.found:
        note(line)
    note(f"wrote {written.path}; read it, complete it, and judge by it: {called()} judge ...")
