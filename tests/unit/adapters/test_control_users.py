"""What one user may take up on the control socket, over all connections together."""

import pytest

from pfid.adapters.control_users import Allowance, Users

USER, OTHER, ROOT = 1000, 1001, 0


@pytest.fixture
def users():
    return Users(
        Allowance(
            connections=2,
            connections_in_all=4,
            requests_per_s=1.0,
            requests_burst=2.0,
            request_bytes=100,
            reply_bytes=100,
        )
    )


def test_connections_are_bounded_for_each_user_and_in_all(users):
    for _ in range(2):
        assert users.admits(USER)
        users.joined(USER)
    assert not users.admits(USER)
    assert users.admits(OTHER)
    for _ in range(2):
        users.joined(OTHER)
    assert not users.admits(ROOT), "four are the most there may be"


def test_a_place_is_free_again_once_its_holder_left(users):
    for conn in (1, 2):
        users.joined(USER)
        users.holds(USER, conn, request_bytes=0, reply_bytes=0)
    users.left(USER, 1)
    assert users.admits(USER)


def test_root_is_not_counted(users):
    for conn in range(3):
        assert users.admits(ROOT)
        users.joined(ROOT)
        users.holds(ROOT, conn, request_bytes=1000, reply_bytes=1000)
    assert not users.sends_too_much(ROOT)
    assert not users.reads_too_little(ROOT)
    assert all(users.within_rate(ROOT, 0.0) for _ in range(100))


@pytest.mark.parametrize(
    ("kind", "question"),
    [("request_bytes", "sends_too_much"), ("reply_bytes", "reads_too_little")],
)
def test_bytes_are_summed_over_all_connections_of_a_user(users, kind, question):
    def hold(uid, conn, n):
        users.holds(uid, conn, **{"request_bytes": 0, "reply_bytes": 0, kind: n})

    over = getattr(users, question)
    users.joined(USER)
    users.joined(USER)
    hold(USER, 1, 50)
    hold(USER, 2, 50)
    assert not over(USER)
    hold(USER, 2, 51)
    assert over(USER)
    assert not over(OTHER)
    hold(USER, 1, 0)
    assert not over(USER)
    hold(USER, 1, 60)
    users.left(USER, 2)
    assert not over(USER)
    users.left(USER, 1)
    assert not over(USER)


def test_requests_a_second_are_bounded_and_grow_back(users):
    assert [users.within_rate(USER, 10.0) for _ in range(3)] == [True, True, False]
    assert users.within_rate(OTHER, 10.0)
    assert users.within_rate(USER, 11.0)
