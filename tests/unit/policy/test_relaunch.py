"""Only a failure that nobody asked for is launched again."""

import pytest

from pfid.domain.exit_status import ExitStatus
from pfid.policy.relaunch import backoff_s, relaunches

FAILED = ExitStatus(exit_code=1)


def asked(status=FAILED, *, left=1, ended=False, stopped=False):
    return relaunches(status, restarts_left=left, asked_to_end=ended, stopped_by_operator=stopped)


@pytest.mark.parametrize("status", [FAILED, ExitStatus(signal=9), ExitStatus(signal=15)])
def test_a_failure_is(status):
    assert asked(status)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"status": ExitStatus(exit_code=0)},
        {"status": ExitStatus(signal=2)},
        {"left": 0},
        {"ended": True},
        {"stopped": True},
    ],
)
def test_nothing_else_is(otherwise):
    assert not asked(**otherwise)


def test_the_pause_doubles_up_to_a_minute():
    assert [backoff_s(attempt) for attempt in (1, 2, 3, 7, 8, 1000)] == [1, 2, 4, 60, 60, 60]


@pytest.mark.parametrize(
    ("status", "code"),
    [(ExitStatus(exit_code=0), 0), (ExitStatus(exit_code=77), 77), (ExitStatus(signal=9), 137)],
)
def test_a_status_is_shown_as_a_shell_shows_it(status, code):
    assert status.shell_code == code
