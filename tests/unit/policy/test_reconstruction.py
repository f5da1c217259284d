import pytest

from pfid.policy.reconstruction import Claim, Evidence, Place, requested, resolved, survived

STEPS = {"n": 1444, "first": 45.79, "min": 11.84, "p50": 19.75, "p99": 30.52, "max": 30.9}


def place(value, *, certain=True, evidence=Evidence.SOURCE, why="below a condition"):
    return Place(
        where="a.py:1", value=value, certain=certain, why="" if certain else why, evidence=evidence
    )


def test_one_constant_everywhere_is_certain():
    claim = requested("attn_implementation", [place("flex"), place("flex")])
    assert (claim.value, claim.certain, claim.evidence) == ("flex", True, Evidence.SOURCE)
    assert claim.claim is Claim.REQUESTED
    assert len(claim.where) == 2


def test_different_values_are_all_told_and_none_is_certain():
    claim = requested("a", [place("flex"), place("sdpa"), place("flex")])
    assert (claim.value, claim.certain) == (["flex", "sdpa"], False)
    assert "different" in claim.why


def test_one_place_that_may_have_been_otherwise_takes_the_certainty():
    claim = requested("a", [place("flex"), place("flex", certain=False)])
    assert (claim.value, claim.certain, claim.why) == ("flex", False, "below a condition")


def test_a_configuration_file_speaks_only_where_the_source_does_not():
    file = place("sdpa", certain=False, evidence=Evidence.CONFIG_FILE)
    assert requested("a", [file, place("flex")]).value == "flex"
    alone = requested("a", [file])
    assert (alone.value, alone.certain, alone.evidence) == ("sdpa", False, Evidence.CONFIG_FILE)
    assert requested("a", []) is None


def test_what_an_empty_model_settles_on_outranks_its_configuration():
    asked, config = {"attn_implementation": "flex"}, {"attn_implementation": "flex"}
    (claim,) = resolved(asked, config, {"attn_implementation": "eager"}, "t 5", "")
    assert (claim.value, claim.certain, claim.contradicts) == ("eager", True, True)
    assert claim.why == "flex was requested"


def test_without_a_model_the_configuration_only_repeats_the_request():
    asked, config = {"attn_implementation": "flex"}, {"attn_implementation": "flex"}
    (claim,) = resolved(asked, config, None, "t 5", "ImportError: no flash")
    assert (claim.value, claim.certain, claim.contradicts) == ("flex", False, False)
    assert "no flash" in claim.why


def test_every_sub_config_is_a_claim_of_its_own():
    claims = resolved(
        {"attn_implementation": "flex"}, {}, {"attn_implementation": "flex",
        "attn_implementation.vision_config": "sdpa", "experts_implementation": None}, "t", "",
    )  # fmt: skip
    assert [(c.field, c.contradicts) for c in claims] == [
        ("attn_implementation", False),
        ("attn_implementation.vision_config", True),
        ("experts_implementation", False),
    ]


def test_a_sub_config_that_was_asked_for_itself_is_held_against_that():
    asked = {"attn_implementation": "flex", "attn_implementation.vision_config": "sdpa"}
    claims = resolved(asked, dict.fromkeys(asked, "sdpa"), None, "t", "")
    assert [c.contradicts for c in claims] == [True, False]


@pytest.mark.parametrize(
    ("p50", "expected", "value"),
    [(19.75, 20.0, True), (59.9, 20.0, True), (60.0, 20.0, False), (400.0, 20.0, False)],
)
def test_step_times_tell_whether_it_stayed_compiled(p50, expected, value):
    claim = survived("a", {**STEPS, "p50": p50}, ("log",), expected)
    assert (claim.value, claim.certain, claim.contradicts) == (value, True, value is False)


def test_without_an_expectation_or_a_distribution_nothing_is_judged():
    blind = survived("a", STEPS, ("log",), None)
    assert (blind.value, blind.certain, blind.contradicts) == (None, False, False)
    few = survived("a", {**STEPS, "n": 4}, ("log",), 20.0)
    assert (few.value, few.why) == (None, "4 steps are no distribution")
