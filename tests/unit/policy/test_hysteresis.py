"""From raw verdicts to the settled one."""

import dataclasses

import msgspec
import pytest

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind, Figure, Verdict
from pfid.policy.hysteresis import Mark, Settling, settle
from pfid.spec.check import Hysteresis

F, P, U, N = Outcome.FAIL, Outcome.PASS, Outcome.UNKNOWN, Outcome.NOT_APPLICABLE
LETTERS = {"F": F, "P": P, "U": U, "N": N}


def raw(outcome, reason="", **more):
    return Verdict(
        outcome=outcome, reason=ReasonCode(reason or outcome.value), summary="s", entity=BOX, **more
    )


def run(letters, rule=Hysteresis(), every_s=1.0, state=Settling()):  # noqa: B008 - frozen
    seen = []
    for i, letter in enumerate(letters):
        now_s = every_s * (i + 1)
        state = settle(state, raw(LETTERS[letter]), rule, now_s, 1_000.0 + now_s)
        seen.append(state)
    return seen


def outcomes(letters, rule=Hysteresis(), every_s=1.0):  # noqa: B008 - frozen
    short = {v: k for k, v in LETTERS.items()}
    return "".join(short[s.settled.outcome] for s in run(letters, rule, every_s))


def test_a_missing_sample_changes_the_count_of_missing_ones_and_nothing_else():
    state = Settling(
        settled=raw(F),
        changed=True,
        before=P,
        since_s=5.0,
        marks=(Mark(outcome=F, reason="fail"),),
        failing_since_s=7.0,
        unknowns=1,
        flips=(6.0, 7.0),
    )
    assert all(getattr(state, f.name) != f.default for f in dataclasses.fields(Settling))
    after = settle(state, raw(U), Hysteresis(unknown_k=9), 8.0, 1_008.0)
    assert after == dataclasses.replace(state, changed=False, before=F, unknowns=2)


@pytest.mark.parametrize(
    ("letters", "rule", "expected"),
    [
        ("PFP", Hysteresis(), "PFP"),
        ("PFPFF", Hysteresis(fire_m=2, fire_n=3), "PPPFF"),
        ("PFPPF", Hysteresis(fire_m=2, fire_n=3), "PPPPP"),
        ("FPPPP", Hysteresis(clear_k=3), "FFFPP"),
        ("FPPFPPP", Hysteresis(clear_k=3), "FFFFFFP"),
        ("FNN", Hysteresis(clear_k=2), "FFN"),
        ("PUUU", Hysteresis(unknown_k=3), "PPPU"),
        ("PUPUPU", Hysteresis(unknown_k=2), "PPPPPP"),
        ("U", Hysteresis(unknown_k=5), "U"),
        ("UP", Hysteresis(clear_k=3), "UP"),
        ("FUUU", Hysteresis(), "FFFF"),
        ("FPUP", Hysteresis(clear_k=2), "FFFP"),
        ("FPUFP", Hysteresis(clear_k=2), "FFFFF"),
        ("FFF", Hysteresis(fire_m=3, fire_n=3), "UUF"),
        ("UFFF", Hysteresis(fire_m=3, fire_n=3), "UUUF"),
        ("FUFUF", Hysteresis(fire_m=3, fire_n=3, unknown_k=9), "UUUUF"),
    ],
)
def test_the_count_decides(letters, rule, expected):
    assert outcomes(letters, rule) == expected


def test_failures_must_span_the_floor_on_the_monotonic_clock():
    rule = Hysteresis(fire_m=2, fire_n=2, floor_s=30.0)
    assert outcomes("PFFFFFF", rule, every_s=6.0) == "PPPPPPF"


def test_an_episode_that_ended_does_not_lend_its_time_to_the_next():
    rule = Hysteresis(fire_m=1, fire_n=1, floor_s=30.0)
    assert outcomes("PFPPPPPPPF", rule, every_s=10.0) == "P" * 10


def test_a_clock_that_begins_anew_does_not_fire_early():
    rule = Hysteresis(floor_s=30.0)
    state = settle(Settling(), raw(P), rule, 5_000.0, 1.0)
    state = settle(state, raw(F), rule, 5_001.0, 2.0)
    state = settle(state, raw(F), rule, 10.0, 3.0)
    assert state.settled.outcome is P
    assert settle(state, raw(F), rule, 40.0, 4.0).settled.outcome is F


def test_a_failure_that_is_being_confirmed_is_no_pass():
    state = run("F", Hysteresis(fire_m=2, fire_n=2))[-1]
    assert (state.settled.outcome, state.settled.reason) == (U, "settling")


def test_a_failure_nobody_can_see_any_more_stays_and_says_so():
    seen = run("FUPFU", Hysteresis(clear_k=2))
    assert [s.settled.label for s in seen] == ["", "unseen", "", "", "unseen"]


def test_changed_asks_for_one_event_each():
    seen = run("PPFFUPP", Hysteresis(clear_k=2))
    assert [s.changed for s in seen] == [True, False, True, False, False, False, True]
    assert [s.before for s in seen] == [None, P, P, F, F, F, F]


def test_since_is_the_wall_time_of_the_outcome_not_of_the_last_sample():
    assert [s.since_s for s in run("PPFF")] == [1001.0, 1001.0, 1003.0, 1003.0]


def test_another_reason_takes_over_after_the_same_count():
    rule = Hysteresis(fire_m=2, fire_n=3)
    state = Settling()
    reasons = []
    for i, reason in enumerate(["slow", "slow", "stalled", "slow", "stalled", "stalled"]):
        state = settle(state, raw(F, reason), rule, float(i), float(i))
        reasons.append(state.settled.reason)
    assert reasons == ["settling", "slow", "slow", "slow", "stalled", "stalled"]


def test_figures_follow_the_newest_sample():
    state = Settling()
    for value in (1.0, 2.0):
        v = raw(F, figures={"age": Figure(value, "s")})
        state = settle(state, v, Hysteresis(), value, value)
    assert state.settled.figures["age"].value == 2.0
    assert not state.changed


def test_flapping_is_a_label_and_hides_nothing():
    seen = run("PFPFPFP")
    assert [s.changed for s in seen] == [True] * 7
    assert [s.settled.label for s in seen] == ["", "", "", "", "flapping", "flapping", "flapping"]
    assert seen[1].settled.outcome is F


def test_the_label_goes_when_it_has_been_quiet_long_enough():
    state = run("PFPFP")[-1]
    assert state.settled.label == "flapping"
    state = settle(state, raw(P), Hysteresis(), 5_000.0, 5_000.0)
    assert state.settled.label == ""


def test_labels_of_the_check_itself_are_kept():
    v = Verdict(outcome=F, reason=ReasonCode("fail"), summary="s", label="slow")
    state = run("PFPFP")[-1]
    assert settle(state, v, Hysteresis(), 6.0, 6.0).settled.label == "slow,flapping"


def test_the_state_is_plain_data_and_comes_back_equal():
    v = raw(F, figures={"age": Figure(1.5, "s")}, evidence=("line",))
    v = Verdict(
        outcome=v.outcome,
        reason=v.reason,
        summary=v.summary,
        figures=v.figures,
        entity=Entity(EntityKind.RUN, "r-1"),
    )
    state = settle(run("PFPF")[-1], v, Hysteresis(), 9.0, 9.0)
    assert msgspec.convert(msgspec.to_builtins(state), Settling) == state
