"""A snapshot, a run and events as they arrive at the command line, as domain objects again.

JSON has no NaN: a figure that was not a number arrives as null and is one again here.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pfid.domain.errors import WireError
from pfid.domain.gpu_past import GpuPast
from pfid.domain.run import OperatorStop
from pfid.domain.snapshot import RunView, Snapshot, VerdictView
from pfid.domain.transition import Transition
from pfid.wire.control import EventsReply, RunReply, SnapshotReply

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A transition with the id it has in its daemon."""

    id: int
    transition: Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """Everything a user may see of one run; ``evidence`` None for a stranger.

    ``gpus`` are those it is or was on, each with what it did meanwhile.
    """

    view: RunView
    verdicts: tuple[VerdictView, ...]
    events: tuple[Event, ...]
    evidence: dict[str, list[str]] | None
    stop: OperatorStop | None
    gpus: tuple[GpuPast, ...] = ()


def snapshot_of(reply: SnapshotReply) -> Snapshot:
    """Read a snapshot.

    Raises:
        WireError: naming the place that does not fit.
    """
    return _typed(reply.snapshot, Snapshot)


def run_of(reply: RunReply) -> RunDetails:
    """Read one run.

    Raises:
        WireError: naming the place that does not fit.
    """
    return RunDetails(
        view=_typed(reply.run, RunView),
        verdicts=_typed(reply.verdicts, tuple[VerdictView, ...]),
        events=_typed(reply.events, tuple[Event, ...]),
        evidence=reply.evidence,
        stop=None if reply.stop is None else _typed(reply.stop, OperatorStop),
        gpus=_typed(reply.gpus, tuple[GpuPast, ...]),
    )


def events_of(reply: EventsReply) -> tuple[Event, ...]:
    """Read events, oldest first.

    Raises:
        WireError: naming the place that does not fit.
    """
    return _typed(reply.events, tuple[Event, ...])


def _typed(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(_numbers(data), kind)
    except msgspec.ValidationError as error:
        raise WireError(f"a reply does not fit this pfid: {error}; restart the daemon") from error


def _numbers(data: Any) -> Any:
    """Give every figure that came as null its NaN back."""
    if isinstance(data, list):
        return [_numbers(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"value", "unit"} and data["value"] is None:
        return {**data, "value": math.nan}
    return {key: _numbers(item) for key, item in data.items()}
