"""Which runs stand on the page: cardinality is bounded whatever the box does.

An ended run stays for a while, so that its end is seen, and leaves. Over the cap the longest
finished leave first; among the living those that came last are left out, so that a series that
once stood there does not come and go.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.domain.snapshot import RunView, Snapshot

EXPORTED_RUNS_MAX: Final = 64
ENDED_RUN_LINGER_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Runs on the page in order of their start, and those that had to make room."""

    exported: tuple[RunView, ...]
    dropped: tuple[RunView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many runs the page takes, and how long an ended one stays, in seconds."""

    exported_runs_max: int = EXPORTED_RUNS_MAX
    ended_run_linger_s: float = ENDED_RUN_LINGER_S


def select(snapshot: Snapshot, bounds: Bounds, *, synthetic: bool) -> Selection:
    """Choose the runs of one kind, real or made by a self-test."""
    due = sorted(_present(snapshot, bounds, synthetic=synthetic), key=_rank)
    kept, dropped = due[: bounds.exported_runs_max], due[bounds.exported_runs_max :]
    return Selection(exported=tuple(sorted(kept, key=_started)), dropped=tuple(dropped))


def _present(snapshot: Snapshot, bounds: Bounds, *, synthetic: bool) -> Iterable[RunView]:
    for view in snapshot.runs:
        if view.synthetic is not synthetic:
            continue
        if not view.state.ended or snapshot.at_s - _ended_at_s(view) <= bounds.ended_run_linger_s:
            yield view


def _rank(view: RunView) -> tuple[bool, float, str]:
    """Living before ended; the living by start, the ended by end, latest first."""
    if view.state.ended:
        return True, -_ended_at_s(view), view.run.run_id
    return False, view.run.started_at_s, view.run.run_id


def _started(view: RunView) -> tuple[float, str]:
    return view.run.started_at_s, view.run.run_id


def _ended_at_s(view: RunView) -> float:
    return view.end.at_s if view.end is not None else view.run.started_at_s
