"""``pfid events``: what changed, and what changes while one looks."""

import contextlib
import time
from collections.abc import Iterable
from typing import Any, Final, NoReturn

import click

from pfid.bootstrap.event_sources import Heard, Listening, merged
from pfid.bootstrap.run_lookup import look_up
from pfid.bootstrap.sources import Gathered, SourceKind, living
from pfid.cli.colours import outcome_cell
from pfid.cli.finite import WholeRange
from pfid.cli.gathering import gathered, nobody, not_chosen
from pfid.cli.output import Cell, Exit, emit_json, emit_json_line, note, say, table
from pfid.cli.shapes import event_json
from pfid.cli.times import rfc3339
from pfid.policy.run_choice import RunChoiceError

WAIT_S: Final = 10.0
"""How long one question to a living source may wait for an event."""
LOOK_AGAIN_S: Final = 1.0


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on and print what changes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; with --follow one a line.")
@click.option("--run", metavar="RUN", help="Only events about one run (id, prefix or name).")
@click.option("--limit", type=WholeRange(min=1), default=200, help="Newest events shown first.")
@click.pass_context
def command(ctx: click.Context, follow: bool, as_json: bool, run: str | None, limit: int) -> None:
    """Show what changed: settled verdicts, oldest first.

    With --follow it goes on until interrupted, or until the last engine has ended and no daemon
    is there to wait for. Exit codes: 0, or 3 when there is nothing to ask or somebody who should
    answer does not.
    """
    found = gathered(everything=True)
    if not found.sources:
        nobody(found)
        _leave(ctx, Exit.UNKNOWN, as_json=as_json and not follow)
    try:
        run_id = None if run is None else look_up(found, run).view.run.run_id
    except RunChoiceError as problem:
        _leave(ctx, not_chosen(found, run or "", problem), as_json=as_json and not follow)
    listening = Listening(run_id=run_id)
    newest = merged(listening.hear(found))[-limit:]
    if follow:
        _print_lines(newest, as_json=as_json)
        with contextlib.suppress(KeyboardInterrupt):
            _follow(found, listening, as_json=as_json)
    elif as_json:
        emit_json({"events": [_json(h) for h in newest], "last_ids": listening.last_ids})
    else:
        table(("AT", "OUTCOME", "CHECK", "ABOUT", "REASON", "SUMMARY"), map(_row, newest))
    for name, why in listening.problems.items():
        note(f"{name} could not be heard: {why}")
    if listening.problems or found.problems:
        ctx.exit(Exit.UNKNOWN)


def _leave(ctx: click.Context, code: Exit, *, as_json: bool) -> NoReturn:
    """End with nothing to tell; whoever reads JSON gets its one object all the same."""
    if as_json:
        emit_json({"events": [], "last_ids": {}})
    ctx.exit(code)


def _follow(found: Gathered, listening: Listening, *, as_json: bool) -> None:
    """Ask the living again and again; engines come, end and leave their file."""
    with_daemon = any(source.kind is SourceKind.DAEMON for source in found.sources)
    told = False
    said = set(found.problems)
    while True:
        alive = list(living(found.sources))
        if not alive and not with_daemon:
            return
        if not alive and not told:
            note("waiting for the daemon")
        told = not alive
        began_s = time.monotonic()
        _print_lines(merged(listening.hear(found, wait_s=WAIT_S)), as_json=as_json)
        time.sleep(max(0.0, LOOK_AGAIN_S - (time.monotonic() - began_s)))
        found = gathered(everything=True, said=said)
        if not list(living(found.sources)):
            _print_lines(merged(listening.hear(found)), as_json=as_json)


def _print_lines(heard: Iterable[Heard], *, as_json: bool) -> None:
    for one in heard:
        if as_json:
            emit_json_line(_json(one))
        else:
            say(_line(one), indent="    ")


def _json(heard: Heard) -> dict[str, Any]:
    return {"source": heard.source, **event_json(heard.event.id, heard.event.transition)}


def _line(heard: Heard) -> str:
    t = heard.event.transition
    outcome = outcome_cell(t.verdict.outcome, t.verdict.label).text
    about = f"{outcome} {t.check} {t.entity.id} ({t.verdict.reason}): {t.verdict.summary}"
    return f"{rfc3339(t.at_s)} {about}"


def _row(heard: Heard) -> tuple[str | Cell, ...]:
    t = heard.event.transition
    return (
        rfc3339(t.at_s) or "",
        outcome_cell(t.verdict.outcome, t.verdict.label),
        t.check,
        t.entity.id,
        t.verdict.reason,
        t.verdict.summary,
    )
