"""How a run ended, in public clauses and figures."""

import pytest

from pfid.domain.run import EndKind, FirstDeath, RunEnd
from pfid.formats.run_end import clauses, figures


def death(**more):
    known = {"pid": 7, "comm": "python", "exit_code": None, "signal": None, "is_root": False}
    return FirstDeath(**{**known, "at_s": 1.0, **more})


def end(**more):
    return RunEnd(kind=EndKind.EXITED, exit_code=1, signal=None, at_s=2.0, **more)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (None, ""),
        (death(is_root=True, signal=9), ""),
        (death(signal=9), "python (pid 7) of its tree died first: signal 9"),
        (death(exit_code=3), "python (pid 7) of its tree died first: exit status 3"),
        (death(exit_code=0), "python (pid 7) of its tree died first: exit status 0"),
        (death(), "python (pid 7) of its tree died first: exit status unknown"),
    ],
)
def test_the_first_death_is_named_unless_it_was_the_root(first, said):
    assert clauses(end(first_death=first)) == (said, "")


@pytest.mark.parametrize(("held", "said"), [(True, True), (False, False), (None, False)])
def test_memory_is_said_to_be_held_only_if_it_is_known(held, said):
    assert bool(clauses(end(memory_held=held))[1]) is said


def test_a_living_run_has_no_end():
    assert clauses(None) == ("", "")
    assert all(value is None for value, _ in figures(None).values())


def test_figures_are_those_of_the_root_and_of_the_first_death():
    known = {n: v for n, (v, _) in figures(end(first_death=death(signal=9))).items()}
    assert known == {
        "exit_code": 1,
        "signal": None,
        "first_death_pid": 7,
        "first_death_exit_code": None,
        "first_death_signal": 9,
    }
