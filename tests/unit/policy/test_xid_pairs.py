"""Errors that a set of events and the kernel's log tell both."""

import pytest

from pfid.domain.gpu import XidEvent
from pfid.policy.xid_pairs import DOUBLE_S, one_of_both, paired

PLACES = {"GPU-a": "0000:0a:00.0", "GPU-b": "0000:0b:00.0"}


def by_set(code, uuid="GPU-a", pid=None, at_s=10.0):
    return XidEvent(uuid=uuid, code=code, at_s=at_s, pid=pid)


def by_log(code, uuid="GPU-a", pid=7, at_s=10.0):
    return XidEvent(uuid=f"PCI-{PLACES[uuid]}", code=code, at_s=at_s, pid=pid)


def told(events, before=()):
    return paired(events, before, lambda uuid: PLACES.get(uuid, ""))


def test_what_both_tell_counts_once_with_the_name_of_one_and_the_process_of_the_other():
    assert told([by_log(31), by_set(31)]) == ((by_set(31, pid=7),), ())


@pytest.mark.parametrize("other", [by_set(48), by_set(31, "GPU-b"), by_set(31, "")])
def test_another_error_is_not_its_double(other):
    assert told([by_log(31), other]) == ((other, by_log(31)), (by_log(31),))


def test_each_of_several_has_one_double_and_the_rest_is_told_as_well():
    events = [by_log(31, pid=1), by_log(31, pid=2), by_log(31, pid=3), by_set(31), by_set(31)]
    assert told(events)[0] == (by_set(31, pid=1), by_set(31, pid=2), by_log(31, pid=3))
    assert told([by_log(31), by_set(31), by_set(31)])[0] == (by_set(31, pid=7), by_set(31))


def test_what_has_its_process_already_takes_no_other_double():
    assert told([by_set(31, pid=1), by_log(31, pid=2)])[0] == (
        by_set(31, pid=1),
        by_log(31, pid=2),
    )


def test_the_double_of_what_the_log_told_the_last_time_is_not_told_again_however_late():
    _, alone = told([by_log(31), by_log(48)])
    assert told([by_set(31, at_s=70.0), by_set(31, at_s=70.0)], alone)[0] == (
        by_set(31, at_s=70.0),
    )
    kept = told([*alone, by_set(31)], alone)[0]
    assert kept == (by_set(31, pid=7), by_log(48)), "what was given back is not told twice"


def test_two_words_of_one_error_complete_each_other_in_either_order():
    both = by_set(31, pid=7)
    assert one_of_both(by_set(31), by_log(31)) == one_of_both(by_log(31), by_set(31)) == both
    late = by_log(31, at_s=10.5)
    assert one_of_both(by_set(31), late) == both, "from when it was first told"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (by_set(31), by_set(31)),
        (by_log(31), by_log(31)),
        (by_set(31), by_log(48)),
        (by_set(31, pid=1), by_log(31)),
        (by_set(31), by_log(31, at_s=10.1 + DOUBLE_S)),
    ],
)
def test_two_errors_stay_two(one, other):
    assert one_of_both(one, other) is None
