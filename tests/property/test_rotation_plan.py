"""Every interrupted prefix of a rotation recovers, and no byte is ever lost."""

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.adapters.rotation import LogRotator, observe_log
from pfid.policy.rotation import PREPARED_PREFIX, plan_rotation, prepared_name, rotated_name

STAMPS = ("20261129T101112Z", "20261129T101113Z")
NAMES = ("train.log", "metrics.jsonl", "train")
text = st.binary(min_size=1, max_size=40)


@st.composite
def folders(draw):
    """Files by name: logs (absent, empty, full), earlier rotated ones, leftovers, strangers."""
    files = draw(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=40)))
    taken = [rotated_name(name, STAMPS[0], number) for name in NAMES for number in (0, 1)]
    files |= draw(st.dictionaries(st.sampled_from(taken), text))
    files |= draw(st.dictionaries(st.sampled_from(["other.log", "train.log.bak"]), text))
    return files


def plan(folder, names, run, stamp):
    logs = [observe_log(folder / name) for name in names]
    return plan_rotation(logs, stamp=stamp, run_id=run, first_line=f"# run {run}\n")


def contents(folder):
    return sorted(
        file.read_bytes()
        for file in folder.iterdir()
        if not file.name.startswith(PREPARED_PREFIX) and file.stat().st_size
    )


def without_first_lines(bodies):
    return [body for body in bodies if not body.startswith(b"# run ")]


@settings(max_examples=150, deadline=None)
@given(
    files=folders(),
    names=st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
    cuts=st.lists(st.integers(0, 6), max_size=3),
    same_second=st.booleans(),
)
def test_whatever_was_interrupted_the_next_launch_has_a_fresh_log_and_all_bytes(
    files, names, cuts, same_second
):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, body in files.items():
            (folder / name).write_bytes(body)
        before = contents(folder)
        for number, cut in enumerate(cuts):
            rotator = LogRotator()
            for step in plan(folder, names, f"cut{number}", STAMPS[0])[:cut]:
                rotator.carry_out_one(step)
            if rotator._descriptor is not None:
                os.close(rotator._descriptor)
            assert without_first_lines(contents(folder)) == without_first_lines(before)
        steps = plan(folder, names, "last", STAMPS[0] if same_second else STAMPS[1])
        descriptor = LogRotator().carry_out(steps)
        os.write(descriptor, b"text\n")
        os.close(descriptor)
        assert (folder / names[0]).read_bytes() == b"# run last\ntext\n"
        after = [body for body in contents(folder) if body != b"# run last\ntext\n"]
        assert without_first_lines(after) == without_first_lines(before)
        for name in names[1:]:
            assert not (folder / name).exists() or not (folder / name).read_bytes()
        first_logs_leftovers = f"{PREPARED_PREFIX}{names[0]}."
        assert not [
            file.name for file in folder.iterdir() if file.name.startswith(first_logs_leftovers)
        ]


@settings(max_examples=100, deadline=None)
@given(files=folders(), names=st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
def test_what_is_carried_out_can_be_taken_back_whole(files, names):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, body in files.items():
            (folder / name).write_bytes(body)
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        rotator = LogRotator()
        for step in plan(folder, names, "r", STAMPS[1]):
            rotator.carry_out_one(step)
        rotator.take_back()
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_the_prepared_name_is_hidden_and_names_its_run():
    assert prepared_name("train.log", "r1") == ".pfid-new.train.log.r1"
