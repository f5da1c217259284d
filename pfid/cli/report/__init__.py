"""``pfid report RUN``: one file about one run that a person can attach to a ticket."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from pfid.adapters.report_plots import PlotsMissingError, ReportPlots
from pfid.bootstrap.gpu_look import gpus_of_run
from pfid.bootstrap.run_lookup import look_up
from pfid.bootstrap.sources import Source
from pfid.cli.gathering import gathered, nobody, not_chosen
from pfid.cli.output import Exit, error, note
from pfid.cli.report.document import Reported, report
from pfid.cli.report.plots import Plots, SmallPlots
from pfid.cli.report.step_times import Text, recorded_logs, reported_times, step_times
from pfid.policy.run_choice import RunChoiceError
from pfid.policy.standing import believed, gate_states
from pfid.wire.snapshots import RunDetails

OWNERS_ONLY = 0o600


@click.command()
@click.argument("run")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write there, readable by you alone; to stdout when left out.",
)
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Take the whole timeline from this log; the run's own as recorded when left out.",
)
@click.option("--no-evidence", is_flag=True, help="Leave out lines of the run's log.")
@click.pass_context
def command(
    ctx: click.Context, run: str, html: Path | None, logs: Sequence[Path], no_evidence: bool
) -> None:
    """Write one self-contained HTML file about a run.

    Identity, distribution and timeline of its step times, its GPUs, verdicts with evidence, and
    what proves the checks. Nothing in it is loaded from elsewhere. RUN is as for `pfid show`.
    Plots with axes need matplotlib (`pip install '.[report]'` in pfid's checkout); without it they
    are small ones.

    Exit codes: 0 written, 2 no such run, or it cannot be written, 3 nobody knows any run.
    """
    found = gathered(everything=True)
    if not found.sources:
        nobody(found)
        ctx.exit(Exit.UNKNOWN)
    try:
        details = look_up(found, run)
    except RunChoiceError as problem:
        ctx.exit(not_chosen(found, run, problem))
    shown = _reported(details, found.sources, logs, with_evidence=not no_evidence)
    _write(ctx, report(shown), html)


def _reported(
    details: RunDetails, sources: Sequence[Source], logs: Sequence[Path], *, with_evidence: bool
) -> Reported:
    run_id = details.view.run.run_id
    snapshots = [s.snapshot for s in sources]
    knows = [s for s in snapshots if any(v.run.run_id == run_id for v in s.runs)]
    source = (knows or snapshots)[0]
    states = gate_states(source.gates)
    gpus = gpus_of_run(snapshots, run_id)
    reported = () if logs else reported_times(os.environ, run_id)
    timed, problems = (reported, ()) if reported else step_times(_texts(logs, run_id))
    for problem in problems:
        note(problem)
    plots, missing = _plots()
    return Reported(
        details=replace(
            details,
            verdicts=tuple(believed(v, states) for v in details.verdicts),
            evidence=details.evidence if with_evidence else None,
        ),
        at_s=source.at_s,
        gates=source.gates,
        gpus=None if gpus is None else gpus.gpus,
        steps_s=timed or details.view.recent_step_s,
        whole=bool(timed),
        plots=plots,
        plots_missing=missing,
    )


def _plots() -> tuple[Plots, str]:
    """Whoever can draw, and what it would take to have it done better."""
    try:
        return ReportPlots(), ""
    except PlotsMissingError as problem:
        note(f"small plots only; larger ones with axes: {problem}")
        return SmallPlots(), str(problem)


def _texts(logs: Sequence[Path], run_id: str) -> Sequence[Text]:
    return [Text(path=p) for p in logs] or recorded_logs(os.environ, run_id)


def _write(ctx: click.Context, page: str, path: Path | None) -> None:
    if path is None:
        click.echo(page, nl=False)
        return
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_ONLY)
        with open(fd, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a descriptor
            os.fchmod(fd, OWNERS_ONLY)
            file.write(page)
    except OSError as problem:
        error(f"{path}: cannot be written: {problem.strerror}")
        ctx.exit(Exit.USAGE)
    note(f"wrote {path}")
