"""How a run ended, from everything that was seen around its end."""

import pytest

from pfid.domain.run import EndKind, OperatorStop
from pfid.policy.ending import (
    FAILED_WITHIN_S,
    KILLED_WITHIN_S,
    SCHEDULER_WITHIN_S,
    Death,
    classify,
    first_death,
    telling,
)
from pfid.spec.ports.log import Marker, MarkerSeen

STOP = OperatorStop(uid=0, username="root", why="", at_s=90.0)


def root(code=None, signal=None, oom=None, at_s=100.0):
    return Death(
        pid=1, comm="train", exit_code=code, signal=signal, at_s=at_s, is_root=True, oom_kills=oom
    )


def child(code=None, signal=None, oom=None, at_s=99.0, pid=2):
    return Death(pid=pid, comm="worker", exit_code=code, signal=signal, at_s=at_s, oom_kills=oom)


@pytest.mark.parametrize(
    ("death", "more", "kind"),
    [
        (root(code=0), {}, EndKind.EXITED),
        (root(code=3), {}, EndKind.EXITED),
        (root(signal=9), {}, EndKind.SIGNALED),
        (root(signal=9, oom=1), {}, EndKind.OOM_KILLED),
        (root(signal=9, oom=0), {}, EndKind.SIGNALED),
        (root(signal=15, oom=1), {}, EndKind.SIGNALED),
        (root(signal=15), {"stop": STOP}, EndKind.OPERATOR_STOP),
        (root(signal=15), {"markers": {Marker.SCHEDULER_TIME_LIMIT}}, EndKind.SCHEDULER_LIMIT),
        (root(code=143), {"markers": {Marker.SCHEDULER_TIME_LIMIT}}, EndKind.SCHEDULER_LIMIT),
        (root(signal=15), {"markers": {Marker.SCHEDULER_CANCELLED}}, EndKind.SCHEDULER_CANCEL),
        (root(code=1), {"markers": {Marker.SCHEDULER_TIME_LIMIT}}, EndKind.EXITED),
        (root(code=0), {"markers": {Marker.SCHEDULER_TIME_LIMIT}}, EndKind.EXITED),
        (root(signal=11), {"markers": {Marker.SCHEDULER_TIME_LIMIT}}, EndKind.SIGNALED),
        (root(), {}, EndKind.UNKNOWN_STATUS),
        (root(), {"unseen": EndKind.UNOBSERVED}, EndKind.UNOBSERVED),
        (root(code=7), {"unseen": EndKind.UNOBSERVED}, EndKind.EXITED),
        (root(code=7), {"unseen": EndKind.HOST_LOST}, EndKind.HOST_LOST),
        (root(code=1), {"others": [child(signal=9, oom=1)]}, EndKind.OOM_KILLED),
        (root(code=0), {"others": [child(signal=9, oom=1)]}, EndKind.EXITED),
    ],
)
def test_the_kind_of_an_end(death, more, kind):
    assert classify(death, **more).kind is kind


def test_the_first_death_that_can_have_caused_the_end_is_named():
    killed = child(signal=9, at_s=98.0)
    assert first_death(root(code=1), (child(code=1, at_s=99.0), killed)) is killed


@pytest.mark.parametrize(
    "other",
    [
        child(code=0),
        child(signal=15),
        child(code=1, at_s=100.0 - FAILED_WITHIN_S - 1),
        child(signal=9, at_s=100.0 - KILLED_WITHIN_S - 1),
        child(signal=9, at_s=101.0),
        child(),
    ],
    ids=["clean", "asked to", "failed long ago", "killed long ago", "later", "unknown"],
)
def test_a_death_that_cannot_have_caused_the_end_is_not_named(other):
    dead = root(code=1)
    assert first_death(dead, (other,)) is dead


@pytest.mark.parametrize(
    "other",
    [child(code=1, at_s=100.0 - FAILED_WITHIN_S), child(signal=6, at_s=100.0 - KILLED_WITHIN_S)],
)
def test_just_within_its_time_a_death_is_named(other):
    assert first_death(root(code=1), (other,)) is other


def test_nobody_brought_down_a_root_that_exits_with_0():
    dead = root(code=0)
    assert first_death(dead, (child(signal=9),)) is dead


def test_an_end_nobody_saw_names_no_first_death():
    assert classify(root(), unseen=EndKind.UNOBSERVED).first_death is None


@pytest.mark.parametrize(
    ("count", "last_at_s", "kind"),
    [
        (1, 100.0 - SCHEDULER_WITHIN_S, EndKind.SCHEDULER_LIMIT),
        (1, 100.0 - SCHEDULER_WITHIN_S - 1, EndKind.OOM_KILLED),
        (1, None, EndKind.SCHEDULER_LIMIT),
        (0, 99.0, EndKind.OOM_KILLED),
    ],
    ids=["just before", "an older log was shown at the start", "time not known", "only quoted"],
)
def test_what_a_scheduler_said_excuses_a_kill_only_shortly_after(count, last_at_s, kind):
    said = MarkerSeen(count=count, first_line=1, first_at_s=1.0, last_at_s=last_at_s, quoted=1)
    markers = telling({Marker.SCHEDULER_TIME_LIMIT: said}, ended_at_s=100.0)
    assert classify(root(signal=9, oom=1), markers=markers).kind is kind
