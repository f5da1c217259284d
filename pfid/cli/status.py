"""``pfid status``: all runs, what is wrong with them, and how far the answer can be trusted."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click

from pfid.bootstrap.sources import Gathered, SourceKind
from pfid.cli.colours import outcome_cell, state_cell
from pfid.cli.exit_codes import EXITS
from pfid.cli.gathering import ended_after_s, gathered, nobody
from pfid.cli.output import Cell, Exit, emit_json, say, table
from pfid.cli.shapes import run_json, verdicts_json
from pfid.cli.times import age, rfc3339
from pfid.cli.unread_steps import UNREAD, unread
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import RunView, VerdictView
from pfid.policy.box_report import BoxReport, report
from pfid.policy.standing import Denominator, comes_to, counting, denominator, tally


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--all", "everything", is_flag=True, help="Also runs that ended over a day ago.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, everything: bool) -> None:
    """Show all runs, verdicts and gates.

    Asks the box's daemon and this user's own engines. Runs that ended are shown for a day, with
    --all as long as they are remembered.

    Exit codes: 0 nothing fails, 1 a check fails, 3 something required is UNKNOWN or there is
    nothing to ask. Of a run that ended its failures count as long as it is shown, until a run of
    its name is started again; what was unknown of it counts no more, unless its end was not seen.
    """
    found = gathered(everything=everything)
    seen = report(
        [source.snapshot for source in found.sources],
        ended_after_s=ended_after_s(everything=everything),
    )
    if as_json:
        emit_json(_json(found, seen))
    elif found.sources:
        _print(found, seen)
    if not found.sources:
        nobody(found)
    ctx.exit(_exit(found, seen))


def _exit(found: Gathered, seen: BoxReport) -> Exit:
    code = EXITS[comes_to(counting(seen.verdicts, seen.runs), seen.gates)]
    blind = not found.sources or bool(_problems(found))
    return Exit.UNKNOWN if blind and code is Exit.OK else code


def _json(found: Gathered, seen: BoxReport) -> dict[str, object]:
    return {
        **verdicts_json(seen.verdicts),
        "counting": tally(counting(seen.verdicts, seen.runs)),
        "gates": asdict(denominator(seen.gates, seen.verdicts)),
        "runs": [run_json(view) for view in seen.runs],
        "sources": [
            {
                "kind": source.kind.value,
                "ready": source.snapshot.health.ready,
                "at": rfc3339(source.snapshot.at_s),
                "store_problem": source.snapshot.health.store_problem,
            }
            for source in found.sources
        ],
        "problems": _problems(found),
    }


def _problems(found: Gathered) -> list[str]:
    """What nobody could look at, runs that a daemon lost with its stored state among it."""
    lost = (what for source in found.sources for what in source.snapshot.health.state_unread)
    return [*found.problems, *(f"stored state that cannot be read: {what}" for what in lost)]


def _print(found: Gathered, seen: BoxReport) -> None:
    now_s = time.time()
    if seen.runs:
        table(
            ("RUN", "STATE", "SINCE", "STEPS", "STEP P50", "CHECKS"),
            [_run_row(view, seen.verdicts, now_s) for view in seen.runs],
        )
    else:
        say("no runs")
    for view in seen.runs:
        if unread(view, now_s):
            click.echo()
            say(f"{view.run.run_id}: {UNREAD}", indent="  ")
    _print_wrong(seen, now_s)
    for lost in _problems(found)[len(found.problems) :]:
        say(f"{lost}; a run that it was about is not watched: `pfid attach` its process")
    click.echo()
    say(_gates_line(denominator(seen.gates, seen.verdicts), found))


def _print_wrong(seen: BoxReport, now_s: float) -> None:
    """What fails or is unknown; of what counts no more the failures alone, marked as past."""
    count = {(v.check, v.entity) for v in counting(seen.verdicts, seen.runs)}
    wrong = [
        (v, (v.check, v.entity) not in count)
        for v in seen.verdicts
        if v.outcome in {Outcome.FAIL, Outcome.UNKNOWN}
    ]
    shown = [(v, past) for v, past in wrong if not past or v.outcome is Outcome.FAIL]
    if shown:
        click.echo()
        table(
            ("OUTCOME", "CHECK", "ABOUT", "REASON", "FOR", "SUMMARY"),
            [_verdict_row(v, now_s, past=past) for v, past in shown],
        )
    if any(past for _, past in shown):
        say("past: a run of the same name was started again since, and this counts no more")
    if left_out := len(wrong) - len(shown):
        say(
            f"{left_out} UNKNOWN about runs that have ended count no more; `pfid show RUN` has them"
        )


def _run_row(view: RunView, verdicts: Sequence[VerdictView], now_s: float) -> Sequence[str | Cell]:
    since_s = view.run.started_at_s if view.end is None else view.end.at_s
    return (
        Cell(view.run.run_id, whole=True),
        state_cell(view),
        age(now_s - since_s),
        str(view.steps_total),
        "" if view.summary is None else f"{view.summary.p50_s:.4g} s",
        _checks_cell(view, verdicts),
    )


def _checks_cell(view: RunView, verdicts: Sequence[VerdictView]) -> Cell:
    counts = Counter(v.outcome for v in verdicts if v.entity.id == view.run.run_id)
    said = [
        f"{counts[outcome]} {outcome.value}"
        for outcome in (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS)
        if counts[outcome]
    ]
    style = "bold red" if counts[Outcome.FAIL] else "yellow" if counts[Outcome.UNKNOWN] else ""
    return Cell(", ".join(said) or "none yet", style)


def _verdict_row(verdict: VerdictView, now_s: float, *, past: bool) -> Sequence[str | Cell]:
    return (
        outcome_cell(verdict.outcome, "past" if past else verdict.label),
        verdict.check,
        Cell(verdict.entity.id, whole=True),
        verdict.reason,
        age(now_s - verdict.since_s),
        verdict.summary,
    )


def _gates_line(count: Denominator, found: Gathered) -> str:
    if not count.checks:
        living = [source for source in found.sources if source.kind is not SourceKind.ENDED_ENGINE]
        if not living:
            return "gates: none; nothing runs, these are the last verdicts of engines that ended"
        starting = any(not source.snapshot.health.ready for source in living)
        return "gates: none is proven yet" if starting else "gates: none"
    return (
        f"gates: {count.proven} of {count.checks} checks proven, {count.ran} ran, "
        f"{count.applicable} of them with something here to judge, {count.firing} of them failing"
        + (f", {count.unproven} UNPROVEN" if count.unproven else "")
        + (f", {count.disabled} disabled" if count.disabled else "")
    )
