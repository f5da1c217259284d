"""A run that does not work on its GPU: at fault, hung, or excused by what it does."""

from types import SimpleNamespace

import pytest

from pfid.analysis.gpu_waiting import idles, spins
from pfid.analysis.phase_waits import PhaseWaits
from pfid.domain.step import Phase

LIMITS = PhaseWaits()


def run(phase=Phase.TRAIN, since_s=1.0, **more):
    known = {"suspended": False, "stepped": True, "longest_s": 0.0, **more}
    return SimpleNamespace(phase=phase, since_s=since_s, **known)


@pytest.mark.parametrize(
    ("waits", "idle", "spin"),
    [
        (run(), "gpu_starved", "busy_at_low_power"),
        (run(since_s=LIMITS.hung_s), "gpu_starved", "hung_in_collective"),
        (run(since_s=300.0, longest_s=101.0), "gpu_starved", "busy_at_low_power"),
        (run(stepped=False), "waits_by_phase", "waits_by_phase"),
        (
            run(stepped=False, since_s=LIMITS.start_s + 1),
            "phase_lasts_too_long",
            "hung_in_collective",
        ),
        (run(Phase.EVAL, LIMITS.eval_s), "waits_by_phase", "waits_by_phase"),
        (run(Phase.EVAL, LIMITS.eval_s + 1), "phase_lasts_too_long", "hung_in_collective"),
        (run(None), "phase_unknown", "busy_at_low_power"),
        (run(None, 1e6), "phase_unknown", "busy_at_low_power"),
        (run(since_s=1e6, suspended=True), "waits_by_phase", "waits_by_phase"),
    ],
)
def test_what_it_is_follows_from_what_the_run_claims_to_do(waits, idle, spin):
    assert (idles(waits, LIMITS), spins(waits, LIMITS)) == (idle, spin)
