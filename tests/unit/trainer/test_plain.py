"""A plain loop whose batches go through ``reported``: a step each time it comes back."""

import pytest

from pfid.trainer.callbacks.plain import reported


class Reporter:
    """Keeps what it is told, in order."""

    def __init__(self):
        self.told = []

    def begin(self):
        self.told.append("begin")

    def report(self, **said):
        self.told.append(said)

    def give_up(self, error):
        self.told.append(type(error))


def told(batches, **asked):
    reporter = Reporter()
    worked_on = []
    for batch in reported(batches, reporter, **asked):
        worked_on.append(batch)
        reporter.told.append("work")
    assert worked_on == list(batches)
    return reporter.told


def test_a_step_begins_with_its_batch_and_is_over_when_the_loop_comes_back():
    assert told("ab") == ["begin", "work", {}, "begin", "work", {}]
    assert told("") == []


@pytest.mark.parametrize(
    ("batches", "steps"), [(4, 2), (5, 3), (1, 1)], ids=["even", "remainder", "one"]
)
def test_micro_batches_of_a_step_are_one_and_a_remainder_is_a_step(batches, steps):
    seen = told(range(batches), accumulation=2)
    assert seen.count({}) == steps
    assert seen[-1] == {}
    assert {} not in seen[: 2 * min(batches, 2)]


def test_what_is_measured_adds_up_over_a_step_and_the_widest_counts():
    batches = [(8, 4, 2), (6, 3, 3), (2, 1, 1)]

    def measure(batch):
        return {"tokens": batch[0], "real_tokens": batch[1], "width": batch[2], "loss": batch[0]}

    seen = told(batches, accumulation=2, measure=measure)
    assert [said for said in seen if isinstance(said, dict)] == [
        {"tokens": 14, "real_tokens": 7, "width": 3, "loss": 6},
        {"tokens": 2, "real_tokens": 1, "width": 1, "loss": 2},
    ]


def test_what_cannot_be_measured_is_told_once_and_ends_no_loop(capsys):
    batches = [{"x": 5}, None, {"x": 3}, {"x": 4}, None, None]
    seen = told(batches, accumulation=2, measure=lambda batch: {"tokens": batch["x"], 7: 1})
    assert [said["tokens"] for said in seen if isinstance(said, dict)] == [None, 7, None]
    assert capsys.readouterr().err.count("pfid:") == 1


def test_a_number_whose_own_code_fails_ends_no_loop_either(capsys):
    class Broken(int):
        def __int__(self):
            raise RuntimeError

    assert told("ab", measure=lambda _: {"tokens": Broken(7)})[2]["tokens"] is None
    assert capsys.readouterr().err.count("pfid:") == 1


@pytest.mark.parametrize("accumulation", [0, -1, None, 1.5, "2"])
def test_no_number_of_micro_batches_ends_the_reports_and_not_the_loop(accumulation):
    assert told("ab", accumulation=accumulation)[0] is ValueError
