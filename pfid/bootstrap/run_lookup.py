"""One run, from whoever knows it: a living daemon or engine, else the file an engine left."""

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.sources import ASK_TIMEOUT_S, Gathered, Source, SourceKind, living
from pfid.domain.errors import ControlError
from pfid.domain.names import run_id
from pfid.policy.run_choice import RunChoiceError, choose
from pfid.wire.control import GetRun, RunReply
from pfid.wire.snapshots import RunDetails, run_of


def look_up(found: Gathered, wanted: str) -> RunDetails:
    """Find a run by id, beginning of an id, or name, and ask for everything about it.

    Raises:
        RunChoiceError: if no run or more than one is meant.
        ControlError: if the daemon that knows it does not answer.
    """
    runs = [v.run for s in found.sources for v in s.snapshot.runs if not v.synthetic]
    try:
        chosen = choose(wanted, runs)
    except RunChoiceError:
        remembered = _remembered(found, wanted)
        if remembered is None:
            raise
        return remembered
    source = next(s for s in found.sources if _knows(s, chosen.run_id))
    return _left(source, chosen.run_id) if source.ended else _asked(source, chosen.run_id)


def _knows(source: Source, run: str) -> bool:
    return any(view.run.run_id == run for view in source.snapshot.runs)


def _asked(source: Source, run: str) -> RunDetails:
    with ControlClient(source.place, timeout_s=ASK_TIMEOUT_S) as client:
        return run_of(client.ask(GetRun(run_id=run), RunReply))


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
        stop=None,
        gpus=ended.gpus.get(run, ()),
    )
