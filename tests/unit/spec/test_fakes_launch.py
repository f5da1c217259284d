import pytest

from pfid.domain.errors import PortError, PortNotSetUpError
from pfid.spec import World
from pfid.spec.fakes_launch import FixedGit, answering, repository
from pfid.spec.ports.git import GitProblem
from pfid.spec.ports.python import PythonProblem
from pfid.wire.worlds import world_data, world_from


def test_a_repository_travels_to_another_process():
    world = World(git=FixedGit(looked=repository(dirty=True).looked, files=("a",)))
    there = world_from(world_data(world, ("git",)))
    assert there.git.facts() == world.git.facts()
    assert there.git.tracked() == ("a",)


def test_an_interpreter_does_not_and_says_so():
    there = world_from(world_data(World(python=answering()), ("python",)))
    with pytest.raises(PortError, match="pfid's own checks only"):
        there.python.ask("distributions")


def test_an_interpreter_answers_what_it_was_given_and_nothing_else():
    python = answering(distributions={"a": 1}, signature=PythonProblem.HUNG)
    assert python.ask("distributions").said == {"a": 1}
    assert python.ask("signature").problem is PythonProblem.HUNG
    with pytest.raises(PortNotSetUpError, match="no answer to 'other'"):
        python.ask("other")


def test_a_repository_is_clean_unless_told_otherwise():
    assert repository().facts().dirty is False
    assert repository(problem=GitProblem.BARE).facts().problem is GitProblem.BARE
