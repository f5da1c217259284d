"""Laws of hysteresis, whatever the rule and the samples."""

from hypothesis import given
from hypothesis import strategies as st

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.policy.hysteresis import Settling, settle
from pfid.spec.check import Hysteresis

F, P, U, N = Outcome.FAIL, Outcome.PASS, Outcome.UNKNOWN, Outcome.NOT_APPLICABLE
HEALTH = {F: 0, U: 1, P: 2, N: 2}


@st.composite
def rules(draw):
    n = draw(st.integers(1, 5))
    return Hysteresis(
        fire_m=draw(st.integers(1, n)),
        fire_n=n,
        clear_k=draw(st.integers(1, 5)),
        floor_s=draw(st.sampled_from([0.0, 3.0, 12.0])),
        unknown_k=draw(st.integers(1, 4)),
    )


def timed(outcomes):
    gaps = st.lists(
        st.sampled_from([0.5, 1.0, 4.0]), min_size=len(outcomes), max_size=len(outcomes)
    )
    return gaps.map(lambda g: [(sum(g[: i + 1]), o) for i, o in enumerate(outcomes)])


histories = st.lists(st.sampled_from([F, P, U, N]), min_size=1, max_size=25).flatmap(timed)


def verdict(outcome):
    return Verdict(outcome=outcome, reason=ReasonCode(outcome.value), summary="")


def settled(history, rule):
    state = Settling()
    for at_s, outcome in history:
        state = settle(state, verdict(outcome), rule, at_s, at_s)
        yield state


def last(history, rule):
    *_, state = settled(history, rule)
    return state.settled.outcome


@given(histories, rules(), st.data())
def test_inserting_a_fail_never_makes_it_healthier(history, rule, data):
    at = data.draw(st.integers(0, len(history)))
    at_s = history[at - 1][0] if at else 0.0
    worse = [*history[:at], (at_s, F), *history[at:]]
    assert HEALTH[last(worse, rule)] <= HEALTH[last(history, rule)]


@given(histories, rules(), st.data())
def test_turning_a_pass_into_a_fail_never_makes_it_healthier(history, rule, data):
    at = data.draw(st.integers(0, len(history) - 1))
    if history[at][1] is not P:
        return
    worse = [*history[:at], (history[at][0], F), *history[at + 1 :]]
    assert HEALTH[last(worse, rule)] <= HEALTH[last(history, rule)]


@given(histories, rules())
def test_a_settled_fail_is_left_only_after_k_in_a_row_that_say_so(history, rule):
    streak, before = 0, None
    for (_, outcome), state in zip(history, settled(history, rule), strict=True):
        streak = {F: 0, U: streak}.get(outcome, streak + 1)
        if before is F and state.settled.outcome is not F:
            assert streak >= rule.clear_k
            assert outcome in (P, N)
        before = state.settled.outcome


@given(histories, rules())
def test_an_unknown_moves_no_count(history, rule):
    state = last_state = Settling()
    for at_s, outcome in history:
        last_state, state = state, settle(state, verdict(outcome), rule, at_s, at_s)
        if outcome is U:
            assert state.marks == last_state.marks
            assert state.failing_since_s == last_state.failing_since_s


@given(histories, rules())
def test_fail_settles_only_on_a_fail_with_m_of_n_and_the_floor(history, rule):
    before, definite = None, []
    for (at_s, outcome), state in zip(history, settled(history, rule), strict=True):
        if outcome is not U:
            definite.append((at_s, outcome))
        if state.settled.outcome is F and before is not F:
            fails = [t for t, o in definite[-rule.fire_n :] if o is F]
            assert outcome is F
            assert len(fails) >= rule.fire_m
            first = next(t for t, o in definite if o is F)
            assert at_s - first >= rule.floor_s
        before = state.settled.outcome


@given(rules(), st.integers(0, 20))
def test_enough_fails_in_a_row_always_fire_and_enough_passes_always_clear(rule, passes):
    history = [(float(i), P) for i in range(passes)]
    history += [(100.0 + 5.0 * i, F) for i in range(rule.fire_n + 4)]
    assert last(history, rule) is F
    history += [(500.0 + i, P) for i in range(rule.clear_k)]
    assert last(history, rule) is P


@given(histories, rules())
def test_without_a_pass_nothing_passes(history, rule):
    if all(o in (F, U) for _, o in history):
        assert last(history, rule) in (F, U)


@given(histories, rules())
def test_memory_is_bounded(history, rule):
    for state in settled(history, rule):
        assert len(state.marks) <= max(rule.fire_n, rule.clear_k)
        assert len(state.flips) <= 4


@given(histories, rules())
def test_every_change_of_outcome_is_announced_with_its_before(history, rule):
    shown = None
    for state in settled(history, rule):
        if state.changed:
            assert state.before is shown
            shown = state.settled.outcome
        assert shown is state.settled.outcome
