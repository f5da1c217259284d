"""Is the drill that counts the newest one of whoever will watch?"""

import time
from dataclasses import replace

import pytest

from pfid.adapters.drill_record import DrillRecord
from pfid.bootstrap.preflight.watchdog import _of_daemon, _of_engine
from pfid.bootstrap.specimen import specimen_snapshot
from pfid.domain.gate import ProvenTo


def record(age_s, *, through_daemon=True, **results):
    known = results or {"run_gone": True}
    return DrillRecord(at_s=time.time() - age_s, through_daemon=through_daemon, results=known)


def snapshot(*, live_age_s=None, started_age_s=3_600.0, failed=False):
    base = specimen_snapshot()
    legs = {} if live_age_s is None else {"live": time.time() - live_age_s}
    gates = tuple(replace(g, proven_to=ProvenTo(live=not failed)) for g in base.gates)
    health = replace(
        base.health, started_at_s=time.time() - started_age_s, selftest_last_success_s=legs
    )
    return replace(base, health=health, gates=gates)


@pytest.mark.parametrize(
    ("seen", "kept", "age_s"),
    [
        ({"live_age_s": 60.0}, None, 60.0),
        ({}, {}, 120.0),
        ({"live_age_s": 600.0}, {}, 120.0),
        ({}, None, None),
        ({}, {"through_daemon": False}, None),
        ({"started_age_s": 60.0}, {}, None),
    ],
)
def test_a_daemon_is_as_tested_as_it_was_itself(seen, kept, age_s):
    found = _of_daemon(snapshot(**seen), None if kept is None else record(120.0, **kept))
    assert found.who == "daemon"
    assert found.age_s == (None if age_s is None else pytest.approx(age_s, abs=30))


def test_what_did_not_fire_is_named_by_either_record():
    assert _of_daemon(snapshot(live_age_s=1.0, failed=True), None).failed == ("run_gone",)
    kept = record(1.0, run_stalled=False, run_gone=True)
    assert _of_daemon(snapshot(), kept).failed == ("run_stalled",)


def test_an_engine_of_the_runs_own_is_the_same_program_as_any_that_was_driven():
    assert _of_engine(None).age_s is None
    assert _of_engine(record(60.0, through_daemon=False)).age_s == pytest.approx(60.0, abs=30)
