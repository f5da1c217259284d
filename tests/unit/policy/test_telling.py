"""Only a real failure that begins or ends is told, and a channel in trouble is left in peace."""

import pytest

from pfid.domain.outcome import Outcome
from pfid.domain.transition import Origin, Transition
from pfid.domain.verdict import BOX, Verdict
from pfid.policy.telling import given_up, notice, wait_s, worth_telling

FAIL, PASS, UNKNOWN = Outcome.FAIL, Outcome.PASS, Outcome.UNKNOWN


def change(before, after, origin=Origin.REAL):
    verdict = Verdict(outcome=after, reason="r", summary="s", evidence=("private",))
    return Transition(
        check="c", entity=BOX, before=before, verdict=verdict, at_s=1.0, origin=origin
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, FAIL, True),
        (PASS, FAIL, True),
        (UNKNOWN, FAIL, True),
        (FAIL, PASS, True),
        (FAIL, UNKNOWN, True),
        (FAIL, FAIL, False),
        (PASS, UNKNOWN, False),
        (None, PASS, False),
    ],
)
def test_a_failure_is_told_when_it_begins_and_when_it_ends(before, after, told):
    assert worth_telling(change(before, after)) is told


def test_what_a_self_test_made_is_not_told():
    assert not worth_telling(change(PASS, FAIL, Origin.SELFTEST))


def test_waits_double_to_five_minutes():
    assert [wait_s(n) for n in (1, 2, 3, 9, 10, 10_000)] == [1, 2, 4, 256, 300, 300]


def test_news_of_a_day_ago_is_none():
    assert not given_up(0.0, 86_400.0)
    assert given_up(0.0, 86_401.0)


def test_a_notice_holds_nothing_private():
    assert "private" not in repr(notice(7, "box", change(None, FAIL)))
