"""Bytes a second of each user's logs."""

import pytest

from pfid.policy.rations import REMEMBERED_MAX, ROOT, Rations


def test_whoever_read_more_than_allowed_waits_until_it_is_paid_off():
    rations = Rations(100)
    assert rations.wait_s(7, 10.0) == 0.0
    rations.took(7, 350, 10.0)
    assert rations.wait_s(7, 10.0) == pytest.approx(2.51)
    assert rations.wait_s(8, 10.0) == 0.0
    assert rations.wait_s(7, 12.4) > 0.0
    assert rations.wait_s(7, 12.6) == 0.0


def test_no_more_than_a_second_is_saved_up():
    rations = Rations(100)
    rations.took(7, 1, 0.0)
    rations.took(7, 101, 1000.0)
    assert rations.wait_s(7, 1000.0) > 0.0


@pytest.mark.parametrize(("per_s", "uid"), [(0, 7), (100, ROOT)], ids=["no limit", "root"])
def test_some_never_wait(per_s, uid):
    rations = Rations(per_s)
    rations.took(uid, 10**12, 0.0)
    assert rations.wait_s(uid, 0.0) == 0.0


def test_only_those_who_owe_are_remembered():
    rations = Rations(100)
    rations.took(1, 10**9, 0.0)
    for uid in range(2, 3 * REMEMBERED_MAX):
        rations.took(uid, 1, float(uid))
    assert len(rations._accounts) <= REMEMBERED_MAX
    assert rations.wait_s(1, 3.0 * REMEMBERED_MAX) > 0.0
