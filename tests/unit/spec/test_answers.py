"""What a check can say, written down once."""

import pytest

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX
from pfid.spec import Answers, World

ANSWERS = Answers({"good": (Outcome.PASS, "all is well"), "bad": (Outcome.FAIL, "it broke")})


def test_reasons_are_the_declared_codes_with_their_outcome():
    assert ANSWERS.reasons == {"good": Outcome.PASS, "bad": Outcome.FAIL}


def test_a_verdict_has_the_outcome_of_its_code():
    verdict = ANSWERS.say("bad", entity=BOX, evidence=("line",), label="slow")
    assert (verdict.outcome, verdict.reason, verdict.summary) == (Outcome.FAIL, "bad", "it broke")
    assert (verdict.entity, verdict.evidence, verdict.label) == (BOX, ("line",), "slow")


def test_details_follow_and_empty_ones_are_left_out():
    assert ANSWERS.say("bad", "", "here", "").summary == "it broke; here"


def test_a_figure_that_is_not_known_is_left_out_and_zero_is_not():
    figures = ANSWERS.say("good", figures={"a": (None, "s"), "b": (0.0, "s")}).figures
    assert list(figures) == ["b"]
    assert figures["b"].unit == "s"


def test_a_code_that_was_not_declared_is_refused():
    with pytest.raises(KeyError, match="else"):
        ANSWERS.say("something_else")


def test_a_control_expects_the_outcome_of_its_code():
    world = World()
    control = ANSWERS.control("broken", "bad", world)
    assert (control.name, control.expect, control.reason) == ("broken", Outcome.FAIL, "bad")
    assert control.world is world
