"""Which runs stand on the page: cardinality is bounded whatever the box does.

An ended run stays for a while, so that its end is seen, and leaves. Over the cap what fails has
its place before anything else, what failed last first: a death on a full box is seen. Of the
others the longest finished leave first; among the living those that came last are left out, so
that a series that once stood there does not come and go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import RunView, Snapshot
from pfid.domain.verdict import EntityKind
from pfid.policy.standing import believed, gate_states

EXPORTED_RUNS_MAX: Final = 64
ENDED_RUN_LINGER_S: Final = 900.0
WATCH: Final = "watch"


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
    present = tuple(_present(snapshot, bounds, synthetic=synthetic))
    if len(present) <= bounds.exported_runs_max:  # whose turn it is matters to nobody
        return Selection(exported=tuple(sorted(present, key=_started)), dropped=())
    failing = _failing_since_s(snapshot, synthetic=synthetic)
    due = sorted(present, key=lambda view: _rank(view, failing))
    kept, dropped = due[: bounds.exported_runs_max], due[bounds.exported_runs_max :]
    return Selection(exported=tuple(sorted(kept, key=_started)), dropped=tuple(dropped))


def _present(snapshot: Snapshot, bounds: Bounds, *, synthetic: bool) -> Iterable[RunView]:
    for view in snapshot.runs:
        if view.synthetic is not synthetic:
            continue
        if not view.state.ended or snapshot.at_s - _ended_at_s(view) <= bounds.ended_run_linger_s:
            yield view


def _failing_since_s(snapshot: Snapshot, *, synthetic: bool) -> Mapping[str, float]:
    """By run: when the last of its checks that fail began to."""
    gates = gate_states(snapshot.gates)
    since_s: dict[str, float] = {}
    for verdict in snapshot.verdicts:
        about_run = verdict.entity.kind is EntityKind.RUN and verdict.synthetic is synthetic
        if not about_run or verdict.stage != WATCH:
            continue
        if believed(verdict, gates).outcome is Outcome.FAIL:
            run = verdict.entity.id
            since_s[run] = max(verdict.since_s, since_s.get(run, verdict.since_s))
    return since_s


def _rank(view: RunView, failing_since_s: Mapping[str, float]) -> tuple[int, float, str]:
    """Failing, living, ended: the living by start, the others by when it happened, latest first."""
    run_id = view.run.run_id
    if run_id in failing_since_s:
        return 0, -failing_since_s[run_id], run_id
    if view.state.ended:
        return 2, -_ended_at_s(view), run_id
    return 1, view.run.started_at_s, run_id


def _started(view: RunView) -> tuple[float, str]:
    return view.run.started_at_s, view.run.run_id


def _ended_at_s(view: RunView) -> float:
    return view.end.at_s if view.end is not None else view.run.started_at_s
