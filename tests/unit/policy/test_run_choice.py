"""Which run is meant: an id, a name, or the beginning of exactly one id."""

import pytest

from pfid.domain.identity import ProcessIdentity
from pfid.domain.run import Run, RunSource
from pfid.policy.run_choice import RunChoiceError, choose


def run(run_id, name="n", started_at_s=0.0):
    return Run(
        run_id=run_id,
        name=name,
        identity=ProcessIdentity(machine_id="m", boot_id="b", pid=1, start_ticks=1),
        uid=0,
        username="u",
        source=RunSource.WRAPPER,
        started_at_s=started_at_s,
    )


RUNS = [run("train-1", "train", 1.0), run("train-12", "train", 2.0), run("other-7", "o", 3.0)]


@pytest.mark.parametrize(
    ("wanted", "run_id"),
    [
        ("train-1", "train-1"),
        ("train", "train-12"),
        ("train-12", "train-12"),
        ("oth", "other-7"),
        ("o", "other-7"),
    ],
)
def test_a_run_is_chosen(wanted, run_id):
    assert choose(wanted, RUNS).run_id == run_id


@pytest.mark.parametrize("wanted", ["tra", "t"])
def test_a_beginning_of_several_names_them(wanted):
    with pytest.raises(RunChoiceError, match="train-1, train-12"):
        choose(wanted, RUNS)


def test_nothing_near_points_to_the_list():
    with pytest.raises(RunChoiceError, match="status --all"):
        choose("zzzzzz", RUNS)


def test_something_near_is_offered():
    with pytest.raises(RunChoiceError, match="did you mean train"):
        choose("trian", RUNS)


@pytest.mark.parametrize("wanted", ["", "*", "\x1b[2J"])
def test_rubbish_is_refused(wanted):
    with pytest.raises(RunChoiceError):
        choose(wanted, RUNS)
