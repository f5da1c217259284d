"""A spinning GPU just before and just after the moment from which its run hangs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pfid.analysis.gpu_work_cases import NO_GPM, WorkCase, card
from pfid.domain.step import Phase
from pfid.spec.fakes import moving


def hang_cases(window_s: float, hung_s: float, hung_gaps: float) -> Iterator[WorkCase]:
    """Both sides of both limits, for an A100 that waits in a collective.

    Args:
        window_s: seconds of readings that are judged together.
        hung_s: seconds without a step from which a spinning run hangs.
        hung_gaps: likewise, times its own longest gap.
    """
    a100 = card(70.0, 400.0, seconds=window_s, **NO_GPM)
    gap_s = 2 * hung_s
    for name, since_s, longest_s, reason in (
        ("not_hung_yet", hung_s * 0.99, 1.0, "busy_at_low_power"),
        ("just_hung", hung_s * 1.01, 1.0, "hung_in_collective"),
        ("longest_gap_not_over", gap_s * 0.99, gap_s / hung_gaps, "busy_at_low_power"),
        ("beyond_longest_gap", gap_s * 1.01, gap_s / hung_gaps, "hung_in_collective"),
    ):
        moves = moving(since_progress_s=since_s, longest_gap_s={Phase.TRAIN: longest_s})
        yield WorkCase(name=name, reason=reason, cards=(a100,), moves=moves)


def waiting_cases(window_s: float, floors_s: Mapping[Phase, float]) -> Iterator[WorkCase]:
    """Both sides of the time for which each phase excuses cards that wait or idle.

    Args:
        window_s: seconds of readings that are judged together.
        floors_s: by phase; that of COMPILE stands for the time before the first step.
    """
    spins = card(70.0, 400.0, seconds=window_s, **NO_GPM)
    idles = card(77.7, seconds=window_s, utilization=0.0, sm_activity=0.0, tensor_activity=0.0)
    for phase, name in _PHASES.items():
        start = phase is Phase.COMPILE
        known: dict[str, Any] = {"steps_seen": 0} if start else {"phase": phase}
        soon = moving(since_progress_s=floors_s[phase] * 0.99, **known)
        late = moving(since_progress_s=floors_s[phase] * 1.01, **known)
        yield WorkCase(name=f"spins_{name}", reason="waits_by_phase", cards=(spins,), moves=soon)
        yield WorkCase(name=f"hung_{name}", reason="hung_in_collective", cards=(spins,), moves=late)
    reason = "phase_lasts_too_long"
    yield WorkCase(name="idles_on_and_on", reason=reason, cards=(idles,), moves=late)


_PHASES: Final = {
    Phase.COMPILE: "before_step_one",
    Phase.EVAL: "in_evaluation",
    Phase.SAVE: "in_a_checkpoint",
    Phase.RESUME_SKIP: "skipping_data",
}
