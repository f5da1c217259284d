"""``pfid show RUN``: everything about one run."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NoReturn

import click

from pfid.bootstrap.gpu_look import gpus_of_run
from pfid.bootstrap.run_lookup import look_up
from pfid.bootstrap.sources import Gathered
from pfid.cli.achieved_text import achieved_facts
from pfid.cli.colours import outcome_cell, state_cell
from pfid.cli.exit_codes import EXITS
from pfid.cli.gathering import gathered, nobody, not_chosen
from pfid.cli.gpu_shapes import gpu_json
from pfid.cli.gpu_text import sentence
from pfid.cli.output import Cell, Exit, emit_json, facts, table
from pfid.cli.shapes import event_json, run_json, stop_json, verdicts_json
from pfid.cli.step_cover import not_covered
from pfid.cli.times import age, rfc3339
from pfid.cli.unread_steps import UNREAD, phase_known, unread
from pfid.domain.gpu_view import GpuView
from pfid.domain.run import RunEnd
from pfid.domain.snapshot import RunView, VerdictView
from pfid.policy.run_choice import RunChoiceError
from pfid.policy.standing import believed, comes_to, counting, gate_states
from pfid.wire.snapshots import Event, RunDetails

EVENTS_SHOWN: Final = 20


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, run: str, as_json: bool) -> None:
    """Show one run.

    RUN is a run's id, the beginning of one, or a name (the latest run of that name). What its log
    said is shown to its owner only. Exit codes as for `pfid status`, for this run alone.
    """
    found = gathered(everything=True)
    if not found.sources:
        nobody(found)
        _leave(ctx, Exit.UNKNOWN, as_json=as_json)
    try:
        details = look_up(found, run)
    except RunChoiceError as problem:
        _leave(ctx, not_chosen(found, run, problem), as_json=as_json)
    states = gate_states(g for source in found.sources for g in source.snapshot.gates)
    details = replace(details, verdicts=tuple(believed(v, states) for v in details.verdicts))
    gpus = _gpus(found, details)
    if as_json:
        emit_json(_json(details, gpus))
    else:
        _print(details, gpus or ())
    ctx.exit(EXITS[comes_to(counting(details.verdicts, (details.view,)))])


def _leave(ctx: click.Context, code: Exit, *, as_json: bool) -> NoReturn:
    """End without a run; whoever reads JSON gets its one object all the same."""
    if as_json:
        nothing: dict[str, object] = {
            "run": None,
            "gpus": None,
            "stop": None,
            "events": [],
            "evidence": None,
        }
        emit_json({**nothing, **verdicts_json(())})
    ctx.exit(code)


def _gpus(found: Gathered, details: RunDetails) -> tuple[GpuView, ...] | None:
    """GPUs the run is on; None where nobody samples."""
    run_id = details.view.run.run_id
    view = gpus_of_run((source.snapshot for source in found.sources), run_id)
    if view is None:
        return None
    return tuple(g for g in view.gpus if any(h.run_id == run_id for h in g.holders or ()))


def _json(details: RunDetails, gpus: tuple[GpuView, ...] | None) -> dict[str, object]:
    return {
        "run": run_json(details.view),
        "gpus": None if gpus is None else [gpu_json(gpu) for gpu in gpus],
        "stop": stop_json(details.stop),
        **verdicts_json(details.verdicts),
        "events": [event_json(event.id, event.transition) for event in details.events],
        "evidence": details.evidence,
    }


def _print(details: RunDetails, gpus: tuple[GpuView, ...]) -> None:
    now_s = time.time()
    facts((*_facts(details, now_s), *(("gpu", sentence(gpu)) for gpu in gpus)))
    if details.verdicts:
        click.echo()
        table(
            ("OUTCOME", "CHECK", "REASON", "FOR", "SUMMARY"),
            [_verdict_row(verdict, now_s) for verdict in details.verdicts],
        )
    for check, lines in (details.evidence or {}).items():
        if lines:
            click.echo()
            table((f"seen by {check}",), [(line,) for line in lines])
    if details.events:
        click.echo()
        table(("AT", "CHECK", "CHANGE", "REASON"), _event_rows(details.events[-EVENTS_SHOWN:]))


def _facts(details: RunDetails, now_s: float) -> Iterable[tuple[str, str | Cell]]:
    view, run = details.view, details.view.run
    yield "run", run.run_id
    yield "name", run.name
    yield "state", state_cell(view)
    yield "user", run.username
    yield "pid", str(run.identity.pid)
    yield "started", f"{rfc3339(run.started_at_s)} ({age(now_s - run.started_at_s)} ago)"
    if view.end is not None:
        yield "ended", f"{_end_text(view.end)} ({age(now_s - view.end.at_s)} ago)"
    if details.stop is not None:
        yield "stopped by", f"{details.stop.username}: {details.stop.why or 'no reason given'}"
    if view.last_progress_at_s is not None:
        phase = f", {view.phase.value}" if phase_known(view) else ""
        yield "last progress", f"{age(now_s - view.last_progress_at_s)} ago{phase}"
    yield from _step_facts(view)
    if unread(view, now_s):
        yield "no step", UNREAD
    if view.resources is not None:
        yield "processes", str(view.resources.processes)


def _step_facts(view: RunView) -> Iterable[tuple[str, str]]:
    yield "steps", str(view.steps_total)
    if view.summary is not None:
        s = view.summary
        clock = "" if view.step_clock is None else f", {view.step_clock.value} clock"
        ranks = f"p50={s.p50_s:.4g} p90={s.p90_s:.4g} p99={s.p99_s:.4g}"
        yield "step seconds", f"n={s.n} min={s.min_s:.4g} {ranks} max={s.max_s:.4g}{clock}"
        if s.first_s is not None:
            yield "first step", f"{s.first_s:.4g} s, not counted above"
        yield from not_covered(view)
    if view.optimizers:
        yield "steps of", f"{', '.join(view.optimizers)} (reported from inside)"
    if view.files_left_out:
        yield "not followed", f"{view.files_left_out} of its files: a run has too many"
    yield from achieved_facts(view.achieved)
    if view.baseline is not None:
        b = view.baseline
        yield "baseline", f"{b.median_s:.4g} s from {b.source.value.replace('_', ' ')} (n={b.n})"
    if view.slowdown_ratio is not None:
        yield "slowdown", f"{view.slowdown_ratio:.3g} x baseline"


def _end_text(end: RunEnd) -> str:
    said = end.kind.value.replace("_", " ")
    if end.signal is not None:
        said += f", signal {end.signal}"
    elif end.exit_code is not None:
        said += f", code {end.exit_code}"
    death = end.first_death
    if death is not None and not death.is_root:
        said += f"; {death.comm} (pid {death.pid}) died first"
    return said


def _verdict_row(verdict: VerdictView, now_s: float) -> tuple[str | Cell, ...]:
    return (
        outcome_cell(verdict.outcome, verdict.label),
        verdict.check,
        verdict.reason,
        age(now_s - verdict.since_s),
        verdict.summary,
    )


def _event_rows(events: Iterable[Event]) -> list[tuple[str | Cell, ...]]:
    return [
        (
            rfc3339(event.transition.at_s) or "",
            event.transition.check,
            outcome_cell(event.transition.verdict.outcome, event.transition.verdict.label),
            event.transition.verdict.reason,
        )
        for event in events
    ]
