"""One run, from whoever knows it: a living daemon or engine, else the file an engine left."""

import time
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.sources import (
    ASK_TIMEOUT_S,
    STATE_FILE,
    Gathered,
    Source,
    SourceKind,
    left_behind,
    living,
)
from pfid.domain.errors import ControlError
from pfid.domain.names import run_id
from pfid.domain.run import Run
from pfid.policy.run_choice import RunChoiceError, choose
from pfid.wire.control import GetRun, RunReply
from pfid.wire.snapshots import RunDetails, run_of

LEAVING_S: Final = 5.0
"""An engine that answers no more still writes its last and lets go of its file."""
LOOK_EVERY_S: Final = 0.02


def look_up(found: Gathered, wanted: str) -> RunDetails:
    """Find a run by id, beginning of an id, or name, and ask for everything about it.

    Raises:
        RunChoiceError: if no run or more than one is meant.
        ControlError: if the daemon that knows it does not answer.
        StateError: if an engine answers no more and left nothing that can be read.
    """
    runs = [v.run for s in found.sources for v in s.snapshot.runs if not v.synthetic]
    try:
        chosen = choose(wanted, runs)
        _refuse_an_older_one(found, wanted, chosen)
    except RunChoiceError:
        remembered = _remembered(found, wanted)
        if remembered is None:
            raise
        return remembered
    source = next(s for s in found.sources if _knows(s, chosen.run_id))
    if source.ended:
        return _left(source, chosen.run_id)
    try:
        return _asked(source, chosen.run_id)
    except ControlError:
        if source.kind is not SourceKind.ENGINE:
            raise
        return _left_meanwhile(source, chosen.run_id)


def _refuse_an_older_one(found: Gathered, wanted: str, chosen: Run) -> None:
    """A name means its latest run, also while nobody who answers knows that one."""
    for each in found.unanswered:
        if each.name == wanted != chosen.run_id and each.started_at_s > chosen.started_at_s:
            raise RunChoiceError(each.sentence)


def _knows(source: Source, run: str) -> bool:
    return any(view.run.run_id == run for view in source.snapshot.runs)


def _asked(source: Source, run: str) -> RunDetails:
    with ControlClient(source.place, timeout_s=ASK_TIMEOUT_S) as client:
        return run_of(client.ask(GetRun(run_id=run), RunReply))


def _left_meanwhile(engine: Source, run: str) -> RunDetails:
    """An engine ends with its run: it may have answered one question and be gone at the next."""
    from pfid.adapters.ended_state import is_locked  # as the store: only if needed

    state, until_s = engine.place.parent / STATE_FILE, time.monotonic() + LEAVING_S
    while is_locked(state.with_name(state.name + ".lock")) and time.monotonic() < until_s:
        time.sleep(LOOK_EVERY_S)
    return _left(left_behind(state, engine.snapshot.at_s), run)


def _remembered(found: Gathered, wanted: str) -> RunDetails | None:
    """A run that left the snapshot long ago is still in the daemon's state, under its whole id."""
    try:
        run_id(wanted)
    except ValueError:
        return None
    for source in living(found.sources):
        if source.kind is SourceKind.DAEMON:
            try:
                return _asked(source, wanted)
            except ControlError:
                return None
    return None


def _left(source: Source, run: str) -> RunDetails:
    ended = source.ended
    if ended is None:
        raise RunChoiceError(f"{source.place} left nothing behind")
    return RunDetails(
        view=next(view for view in ended.runs if view.run.run_id == run),
        verdicts=tuple(v for v in ended.verdicts if v.entity.id == run),
        events=tuple(e for e in ended.events if e.transition.entity.id == run),
        evidence=ended.evidence,
        stop=ended.stops.get(run),
        gpus=ended.gpus.get(run, ()),
    )
