"""A spinning GPU just before and just after the moment from which its run hangs."""

from collections.abc import Iterator

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
