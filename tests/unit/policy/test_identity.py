"""A record blocks only while the very process it captured lives."""

from dataclasses import replace

import pytest

from pfid.domain.identity import ProcessIdentity
from pfid.policy.identity import Here, Seen, Standing, standing

HERE = Here(machine_id="m", boot_id="b", pid_namespace=1, own_pid=999)
RECORDED = ProcessIdentity(machine_id="m", boot_id="b", pid=42, start_ticks=100, pid_namespace=1)
ALIVE = Seen(start_ticks=100)


def test_the_captured_process_itself_blocks():
    assert standing(RECORDED, HERE, ALIVE) is Standing.ALIVE
    assert Standing.ALIVE.blocks


@pytest.mark.parametrize(
    ("recorded", "seen", "expected"),
    [
        (RECORDED, None, Standing.ENDED),
        (RECORDED, Seen(start_ticks=100, dead=True), Standing.ZOMBIE),
        (RECORDED, Seen(start_ticks=101), Standing.REUSED),
        (RECORDED, Seen(start_ticks=101, dead=True), Standing.REUSED),
        (replace(RECORDED, boot_id="b0"), ALIVE, Standing.OTHER_BOOT),
        (replace(RECORDED, machine_id="m0"), ALIVE, Standing.OTHER_MACHINE),
        (replace(RECORDED, pid_namespace=2), ALIVE, Standing.OTHER_NAMESPACE),
        (replace(RECORDED, pid=999), ALIVE, Standing.OWN_PID),
        (replace(RECORDED, start_ticks=None), Seen(start_ticks=1, dead=True), Standing.ZOMBIE),
    ],
)
def test_a_stale_record_never_blocks_and_says_why(recorded, seen, expected):
    found = standing(recorded, HERE, seen)
    assert found is expected
    assert not found.blocks


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [(replace(RECORDED, start_ticks=None), ALIVE), (RECORDED, Seen(start_ticks=None))],
)
def test_an_unknown_start_is_its_own_answer_not_reuse(recorded, seen):
    found = standing(recorded, HERE, seen)
    assert found is Standing.UNKNOWN
    assert found.blocks


@pytest.mark.parametrize(("then", "now"), [(None, 1), (1, None), (None, None)])
def test_an_unreadable_namespace_does_not_make_a_living_run_stale(then, now):
    recorded = replace(RECORDED, pid_namespace=then)
    assert standing(recorded, replace(HERE, pid_namespace=now), ALIVE) is Standing.ALIVE
