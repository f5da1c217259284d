"""Several snapshots as one report: each run once, verdicts that count, an honest denominator."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pfid.domain.gate import Gate
from pfid.domain.names import RunId
from pfid.domain.outcome import worst
from pfid.domain.snapshot import RunView, Snapshot, VerdictView
from pfid.domain.verdict import Entity, EntityKind
from pfid.policy.standing import believed, gate_states


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxReport:
    """What is shown of a box.

    Attributes:
        runs: living first, then the ended, the newest first.
        verdicts: believed ones about those runs and the box, the worst first.
        gates: of all sources.
    """

    runs: tuple[RunView, ...]
    verdicts: tuple[VerdictView, ...]
    gates: tuple[Gate, ...]


_WORST_FIRST = ("fail", "unknown", "pass", "not_applicable")


def report(snapshots: Sequence[Snapshot], *, ended_after_s: float) -> BoxReport:
    """Put snapshots together; where two know the same run the earlier in the list is asked.

    Runs that ended before ``ended_after_s`` (wall time) and what was said of them are left out.
    """
    gates = tuple(gate for snapshot in snapshots for gate in snapshot.gates)
    states = gate_states(gates)
    runs: dict[RunId, RunView] = {}
    verdicts: dict[tuple[str, Entity], VerdictView] = {}
    for snapshot in snapshots:
        new = {v.run.run_id: v for v in _shown(snapshot.runs, ended_after_s)}
        new = {run_id: view for run_id, view in new.items() if run_id not in runs}
        for verdict in snapshot.verdicts:
            if not verdict.synthetic and _about(verdict, new):
                _keep_worst(verdicts, believed(verdict, states))
        runs |= new
    return BoxReport(
        runs=tuple(sorted(runs.values(), key=_living_then_newest)),
        verdicts=tuple(sorted(verdicts.values(), key=_worst_first)),
        gates=gates,
    )


def _keep_worst(kept: dict[tuple[str, Entity], VerdictView], verdict: VerdictView) -> None:
    """Several engines speak about the one box; the worst of them is shown."""
    key = (verdict.check, verdict.entity)
    earlier = kept.get(key)
    if earlier is None or worst((earlier.outcome, verdict.outcome)) is not earlier.outcome:
        kept[key] = verdict


def _shown(views: Iterable[RunView], ended_after_s: float) -> Iterable[RunView]:
    for view in views:
        ended_s = view.end.at_s if view.end is not None else view.run.started_at_s
        if not view.synthetic and (not view.state.ended or ended_s >= ended_after_s):
            yield view


def _about(verdict: VerdictView, runs: dict[RunId, RunView]) -> bool:
    return verdict.entity.kind is not EntityKind.RUN or RunId(verdict.entity.id) in runs


def _living_then_newest(view: RunView) -> tuple[bool, float, str]:
    return view.state.ended, -view.run.started_at_s, view.run.run_id


def _worst_first(verdict: VerdictView) -> tuple[int, str, str]:
    return _WORST_FIRST.index(verdict.outcome.value), verdict.entity.id, verdict.check
