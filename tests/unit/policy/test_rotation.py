"""The rotation plan: what it does, what it refuses, and in which order."""

import pytest

from pfid.domain.errors import LaunchError
from pfid.policy.rotation import (
    Adopt,
    Discard,
    LogKind,
    LogSeen,
    Move,
    Prepare,
    Publish,
    belongs_beside,
    plan_rotation,
    prepared_name,
    rotated_name,
)

STAMP = "20261129T101112Z"


def seen(kind, name="train.log", neighbours=()):
    return LogSeen(folder="/w", name=name, kind=kind, neighbours=frozenset(neighbours))


def plan(*logs, first_line="# first\n"):
    return plan_rotation(logs, stamp=STAMP, run_id="r1", first_line=first_line)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.log", "train.20261129T101112Z.log"),
        ("metrics.jsonl", "metrics.20261129T101112Z.jsonl"),
        ("train", "train.20261129T101112Z"),
        ("a.b.log", "a.b.20261129T101112Z.log"),
        (".log", ".log.20261129T101112Z"),
        ("..log", "..log.20261129T101112Z"),
        ("train.", "train.20261129T101112Z."),
    ],
)
def test_the_rotated_name_keeps_stem_and_suffix(name, expected):
    assert rotated_name(name, STAMP) == expected


def test_a_log_with_text_steps_aside_after_the_new_file_is_written():
    assert plan(seen(LogKind.CONTENT)) == (
        Prepare(path="/w/.pfid-new.train.log.r1", text="# first\n"),
        Move(source="/w/train.log", target=f"/w/train.{STAMP}.log"),
        Publish(source="/w/.pfid-new.train.log.r1", target="/w/train.log"),
    )


def test_a_taken_name_is_never_reused():
    taken = {f"train.{STAMP}.log", f"train.{STAMP}-1.log"}
    (_, move, _) = plan(seen(LogKind.CONTENT, neighbours=taken))
    assert move.target == f"/w/train.{STAMP}-2.log"


def test_an_absent_log_is_only_made():
    assert [type(step) for step in plan(seen(LogKind.ABSENT))] == [Prepare, Publish]


def test_an_empty_log_is_adopted_because_others_may_follow_it():
    assert plan(seen(LogKind.EMPTY)) == (Adopt(path="/w/train.log", text="# first\n"),)


def test_further_logs_step_aside_and_are_not_made():
    steps = plan(
        seen(LogKind.ABSENT),
        seen(LogKind.CONTENT, "m.jsonl"),
        seen(LogKind.EMPTY, "e.jsonl"),
        seen(LogKind.ABSENT, "n.jsonl"),
    )
    assert [type(step) for step in steps] == [Prepare, Move, Publish]
    assert steps[1].source == "/w/m.jsonl"


def test_without_a_first_line_nothing_is_made():
    assert plan(seen(LogKind.CONTENT), first_line=None) == (
        Move(source="/w/train.log", target=f"/w/train.{STAMP}.log"),
    )
    assert plan(seen(LogKind.EMPTY), first_line=None) == ()


def test_what_an_interrupted_launch_prepared_is_discarded():
    left = prepared_name("train.log", "r0")
    steps = plan(seen(LogKind.ABSENT, neighbours={left, "train.log.bak"}))
    assert steps[0] == Discard(path=f"/w/{left}")
    assert sum(isinstance(step, Discard) for step in steps) == 1


@pytest.mark.parametrize("kind", [LogKind.SYMLINK, LogKind.DIRECTORY, LogKind.SPECIAL])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_log_is_refused_with_its_path_before_anything_is_touched(kind, place):
    logs = [seen(LogKind.CONTENT), seen(LogKind.CONTENT, "b.log")]
    logs[place] = seen(kind, "odd.log")
    with pytest.raises(LaunchError, match=r"/w/odd\.log is .*nothing was touched"):
        plan(*logs)


@pytest.mark.parametrize(
    ("neighbour", "matters"),
    [
        (f"train.{STAMP}.log", True),
        (".pfid-new.train.log.r0", True),
        (".pfid-new.other.log.r0", False),
        ("trainer.log", False),
    ],
)
def test_only_files_of_this_log_matter(neighbour, matters):
    assert belongs_beside("train.log", neighbour) is matters


def test_a_log_in_the_root_folder_has_a_sane_path():
    assert LogSeen(folder="/", name="a.log", kind=LogKind.ABSENT).path == "/a.log"
