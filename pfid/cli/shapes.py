"""What commands print as JSON, made of domain objects (DESIGN, section 9).

Times RFC 3339 UTC, durations seconds, sizes bytes, shares 0-1; what is unknown is null.
"""

from collections.abc import Iterable
from typing import Any, Final

from pfid.cli.times import rfc3339
from pfid.cli.unread_steps import phase_known
from pfid.domain.gate import Gate
from pfid.domain.outcome import Outcome
from pfid.domain.run import FirstDeath, OperatorStop, RunEnd
from pfid.domain.snapshot import RunView, VerdictView
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.domain.transition import Transition

STEP_UNIT: Final = "seconds_per_optimizer_step"


def verdicts_json(verdicts: Iterable[VerdictView]) -> dict[str, Any]:
    """``verdicts`` and their ``summary``, as every command prints them."""
    shown = list(verdicts)
    summary = {o.value: sum(v.outcome is o for v in shown) for o in Outcome}
    return {"verdicts": [verdict_json(v) for v in shown], "summary": summary}


def verdict_json(verdict: VerdictView) -> dict[str, Any]:
    """One verdict."""
    return {
        "check": verdict.check,
        "stage": verdict.stage,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "entity": {"kind": verdict.entity.kind.value, "id": verdict.entity.id},
        "summary": verdict.summary,
        "figures": {
            name: {"value": figure.value, "unit": figure.unit}
            for name, figure in verdict.figures.items()
        },
        "severity": verdict.severity,
        "label": verdict.label,
        "since": rfc3339(verdict.since_s),
    }


def run_json(view: RunView) -> dict[str, Any]:
    """One run, as everybody may see it."""
    run = view.run
    return {
        "run_id": run.run_id,
        "name": run.name,
        "state": view.state.value,
        "user": run.username,
        "pid": run.identity.pid,
        "source": run.source.value,
        "attempt": run.attempt,
        "job_id": run.job_id,
        "rank": run.rank,
        "world_size": run.world_size,
        "started": rfc3339(run.started_at_s),
        "end": end_json(view.end),
        "last_progress": rfc3339(view.last_progress_at_s),
        "phase": view.phase.value if phase_known(view) else None,
        "steps": view.steps_total,
        "last_step": view.last_index,
        "step_seconds": _summary_json(view.summary, view),
        "baseline": _baseline_json(view.baseline),
        "slowdown": view.slowdown_ratio,
        "optimizers": list(view.optimizers),
        "files_left_out": view.files_left_out,
        "achieved": view.achieved,
        "resources": view.resources,
    }


def end_json(end: RunEnd | None) -> dict[str, Any] | None:
    """How a run ended."""
    if end is None:
        return None
    return {
        "kind": end.kind.value,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "at": rfc3339(end.at_s),
        "first_death": _death_json(end.first_death),
        "memory_held": end.memory_held,
    }


def stop_json(stop: OperatorStop | None) -> dict[str, Any] | None:
    """Who said the run should end."""
    if stop is None:
        return None
    return {"user": stop.username, "uid": stop.uid, "why": stop.why, "at": rfc3339(stop.at_s)}


def event_json(event_id: int, transition: Transition) -> dict[str, Any]:
    """One change of a settled verdict; ``before`` is null for the first ever."""
    verdict, before = transition.verdict, transition.before
    return {
        "id": event_id,
        "at": rfc3339(transition.at_s),
        "check": transition.check,
        "entity": {"kind": transition.entity.kind.value, "id": transition.entity.id},
        "before": None if before is None else before.value,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "summary": verdict.summary,
        "label": verdict.label,
        "origin": transition.origin.value,
    }


def gate_json(gate: Gate) -> dict[str, Any]:
    """The standing of one check."""
    return {
        "check": gate.check,
        "stage": gate.stage,
        "state": gate.state.value,
        "proven_to": gate.proven_to,
        "why": gate.why,
        "proven_at": rfc3339(gate.proven_at_s),
    }


def _summary_json(summary: StepSummary | None, view: RunView) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {
        "unit": STEP_UNIT,
        "clock": None if view.step_clock is None else view.step_clock.value,
        "n": summary.n,
        "first_step_seconds": summary.first_s,
        "min": summary.min_s,
        "p50": summary.p50_s,
        "p90": summary.p90_s,
        "p99": summary.p99_s,
        "max": summary.max_s,
        "rank_error": summary.rank_error,
        "interval_steps": summary.interval_steps,
        "other_steps": summary.other_steps,
    }


def _baseline_json(baseline: Baseline | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    return {"median": baseline.median_s, "source": baseline.source.value, "n": baseline.n}


def _death_json(death: FirstDeath | None) -> dict[str, Any] | None:
    if death is None:
        return None
    return {
        "pid": death.pid,
        "comm": death.comm,
        "exit_code": death.exit_code,
        "signal": death.signal,
        "at": rfc3339(death.at_s),
        "is_root": death.is_root,
    }
