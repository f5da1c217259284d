"""What a run's GPUs are busy with: what controls do not already say."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_work_kind import ANSWERS, BYSTANDER_BYTES, Limits, judge, observe

from pfid.analysis.gpu_work_cases import NO_GPM, card, own_gemm
from pfid.domain.gpu import AbsentReason, PowerSource
from pfid.domain.outcome import Outcome
from pfid.domain.step import Phase
from pfid.domain.verdict import BOX, EntityKind
from pfid.spec.fakes import CONTROL_SUBJECT, FixedSteps, moving, run_world
from pfid.spec.fakes_gpus import CONTROL_GPU, CONTROL_HOLDER, CONTROL_UUID, gpu_state, gpus
from pfid.spec.ports.gpus import AchievedFlops, GpuHolder, SamplerFacts, SamplerProblem
from pfid.spec.world import World

LIMITS = Limits()
TRAINING = moving(since_progress_s=5.0)
STALLED = moving(since_progress_s=900.0)
H200 = card(reference=own_gemm())
V100_HUNG = card(45.0, 250.0, **NO_GPM)
IDLE = card(77.7, utilization=0.0, sm_activity=0.0, tensor_activity=0.0)


def said(*cards, moves=TRAINING, run=None, **more):
    world = World(
        subject=CONTROL_SUBJECT,
        run=(run or run_world()).run,
        steps=FixedSteps(moves=moves),
        gpus=gpus(*cards, **more),
    )
    return judge(observe(world), LIMITS)


def numbered(state, index):
    facts = dataclasses.replace(state.facts, index=index, uuid=f"GPU-{index}")
    return dataclasses.replace(state, facts=facts)


@pytest.mark.parametrize(
    ("cards", "moves", "reason"),
    [
        ((V100_HUNG,), TRAINING, "busy_at_low_power"),
        ((V100_HUNG,), STALLED, "hung_in_collective"),
        ((V100_HUNG,), None, "busy_at_low_power"),
        ((V100_HUNG,), moving(since_progress_s=900.0, phase=Phase.CHECKPOINT), "waits_by_phase"),
        ((IDLE,), STALLED, "gpu_starved"),
        ((IDLE,), None, "phase_unknown"),
        ((H200, H200), STALLED, "matmul_bound"),
        ((H200, IDLE), TRAINING, "some_gpus_idle"),
        ((IDLE, H200, IDLE), TRAINING, "some_gpus_idle"),
        ((H200, IDLE), moving(phase=Phase.CHECKPOINT), "no_clear_fault"),
        ((H200, IDLE), None, "phase_unknown"),
        ((V100_HUNG, IDLE), TRAINING, "busy_at_low_power"),
        ((H200, V100_HUNG), STALLED, "hung_in_collective"),
        ((IDLE, IDLE), TRAINING, "gpu_starved"),
    ],
)
def test_cards_and_progress_together(cards, moves, reason):
    assert said(*cards, moves=moves).reason == reason


def test_a_phase_excuses_waiting_but_not_for_ever():
    for phase in (p for p in Phase if p is not Phase.TRAIN):
        long = moving(since_progress_s=LIMITS.skip_s * 1.01, phase=phase)
        assert said(V100_HUNG, moves=long).reason == "hung_in_collective"
        assert said(IDLE, moves=long).outcome is Outcome.UNKNOWN
    start = moving(since_progress_s=LIMITS.start_s * 1.01, steps_seen=0)
    assert said(V100_HUNG, moves=start).reason == "hung_in_collective"


def test_a_run_that_has_evaluated_longer_before_may_do_so_again():
    """Three times its own longest gap, whatever the floor."""
    own = {Phase.EVAL: LIMITS.eval_s}
    again = moving(since_progress_s=LIMITS.eval_s * 2, phase=Phase.EVAL, longest_gap_s=own)
    assert said(V100_HUNG, moves=again).reason == "waits_by_phase"


@pytest.mark.parametrize("utilization", [0.0, 0.5, 1.0])
def test_a_card_that_is_held_back_is_so_however_busy_it_is(utilization):
    held = card(
        100.0,
        utilization=utilization,
        throttle=frozenset({"hw_power_brake"}),
        sm_activity=utilization / 2,
        tensor_activity=0.0,
    )
    assert said(held).reason == "throttled"


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.TRAIN])
def test_idleness_is_no_fault_outside_training(phase):
    assert said(IDLE, moves=moving(phase=phase)).outcome is Outcome.PASS


def test_a_card_that_is_held_back_explains_those_that_wait_for_it():
    hot = card(300.0, throttle=frozenset({"hw_thermal"}), reference=own_gemm())
    verdict = said(numbered(V100_HUNG, 0), numbered(hot, 5))
    assert verdict.reason == "throttled"
    assert "GPU 5" in verdict.summary
    assert "hw_thermal" in verdict.summary
    assert (verdict.entity.kind, verdict.entity.id) == (EntityKind.GPU, "GPU-5")


def test_a_sensor_that_lies_is_the_cards_fault_and_says_nothing_of_the_run():
    lying = card(sm_activity=0.0, tensor_activity=0.0)
    verdict = said(lying)
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "sensors_disagree")
    assert (verdict.entity.kind, verdict.entity.id) == (EntityKind.GPU, CONTROL_UUID)


def test_one_lying_sensor_does_not_hide_a_hang():
    lying = card(sm_activity=0.0, tensor_activity=0.0)
    verdict = said(numbered(lying, 0), numbered(V100_HUNG, 1), moves=STALLED)
    assert verdict.reason == "hung_in_collective"
    assert verdict.entity is None


def test_it_names_the_cards_it_means_and_how_many_there_are():
    verdict = said(*(numbered(s, i) for i, s in enumerate([H200, V100_HUNG, H200, V100_HUNG])))
    assert "GPU 1, 3" in verdict.summary
    assert verdict.figures["gpus"].value == 4
    assert verdict.figures["power"].value == pytest.approx(45.0)


def test_it_says_what_power_was_held_against():
    assert "its own dense GEMM" in said(H200).summary
    assert "nobody measured its own GEMM" in said(card()).summary


def test_it_says_what_would_make_tensor_activity_measurable():
    verdict = said(card(reference=own_gemm(), **NO_GPM))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "GPM" in verdict.summary


def test_a_run_that_reports_its_flops_is_judged_by_them_where_nothing_else_measures():
    silent = card(reference=own_gemm(), **NO_GPM)
    for flops, reason in ((4e14, "matmul_bound"), (4e13, "sm_busy_tensor_idle")):
        reports = AchievedFlops(flops_per_s=flops, window_s=60.0)
        assert said(silent, reports=reports).reason == reason


def test_reported_flops_without_a_reference_compare_with_nothing():
    reports = AchievedFlops(flops_per_s=4e13, window_s=60.0)
    assert said(card(**NO_GPM), reports=reports).reason == "tensor_activity_unknown"


def test_work_on_a_shared_card_is_nobodys():
    """Busy at low power may be the neighbour's; an idle card is idle for both."""
    neighbour = GpuHolder(pid=7, memory_bytes=BYSTANDER_BYTES, uid=9)
    beside = (CONTROL_HOLDER, neighbour)
    for state, reason in ((H200, "shared_gpu"), (V100_HUNG, "shared_gpu")):
        assert said(dataclasses.replace(state, holders=beside)).reason == reason


@pytest.mark.parametrize("problem", [SamplerProblem.HUNG, SamplerProblem.DRIVER_MISMATCH])
def test_a_driver_that_cannot_be_read_is_no_fault_of_the_run(problem):
    stale = SamplerFacts(problem=problem, since_success_s=300.0)
    assert said(V100_HUNG, moves=STALLED, how=stale).reason == "telemetry_stale"
    assert said(held=None, how=stale, counted=None).outcome is Outcome.UNKNOWN


def test_in_a_container_it_says_why_runs_are_not_matched_to_cards():
    apart = dataclasses.replace(V100_HUNG, foreign_pids=True)
    verdict = said(apart, held=None)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "in_a_container")
    assert "container" in verdict.summary
    assert said(V100_HUNG, held=None).reason == "holders_unknown"
    assert said(apart, moves=STALLED).reason == "hung_in_collective"


def test_mig_is_stated_once_and_never_judged():
    mig = dataclasses.replace(CONTROL_GPU, mig=True)
    absent = {"utilization": AbsentReason.NOT_SUPPORTED}
    state = card(295.0, utilization=None, absent=absent, state={"facts": mig})
    assert said(state).outcome is Outcome.NOT_APPLICABLE
    assert said(state, state).reason == "mig_shares_the_card"


def test_momentary_power_that_swings_across_a_limit_convicts_nobody():
    """An average of 270 W of 640 W looks low; readings that jump by 300 W do not say so."""
    swings = card(None, 640.0, power_source=PowerSource.INSTANT, **NO_GPM)
    jumps = tuple(
        dataclasses.replace(s, power_w=120.0 + 300.0 * (i % 2))
        for i, s in enumerate(swings.samples)
    )
    swings = dataclasses.replace(swings, samples=jumps)
    assert said(swings).reason == "tensor_activity_unknown"
    counted = tuple(dataclasses.replace(s, power_source=PowerSource.ENERGY) for s in jumps)
    assert said(dataclasses.replace(swings, samples=counted)).reason == "busy_at_low_power"


def test_a_run_must_show_the_fault_for_two_minutes_before_it_is_believed():
    """A window of a minute, seen three times over three quarters of another."""
    from pfid_plugins.watch.gpu_work_kind import pfid_checks

    (check,) = pfid_checks()
    assert check.limits.window_s + check.hysteresis.floor_s >= 100.0
    assert check.hysteresis.fire_m >= 3
    assert (check.hysteresis.fire_m - 1) * check.cadence_s <= check.hysteresis.floor_s


SHARE = st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]) | st.floats(0, 1)
cards = st.builds(
    card,
    watts=st.floats(0, 700) | st.none(),
    limit_w=st.sampled_from([200.0, 350.0, 700.0, None]),
    utilization=SHARE | st.none(),
    tensor_activity=SHARE | st.none(),
    sm_activity=SHARE | st.none(),
    throttle=st.sampled_from([None, frozenset(), frozenset({"hw_thermal"})]),
    reference=st.sampled_from([None, own_gemm(), own_gemm(190.0, 200.0)]),
)
progress = st.none() | st.builds(
    moving,
    since_progress_s=st.floats(0, 1e4),
    phase=st.sampled_from(Phase),
    steps_seen=st.integers(0, 3),
    longest_gap_s=st.dictionaries(st.sampled_from(Phase), st.floats(0, 1e3)),
)
SOURCES_OF = {
    "hung_in_collective": ("utilization", "power_w", "progress"),
    "busy_at_low_power": ("utilization", "power_w"),
    "sm_busy_tensor_idle": ("utilization", "power_w", "matrix work"),
    "gpu_starved": ("utilization", "power_w", "progress"),
}
"""Every FAIL about a run, and what must agree before it is said."""
FIELDS_OF = {"matrix work": ("tensor_activity", "sm_activity")}


def without(state, source):
    """The same card when one source tells nothing."""
    gone = dict.fromkeys(FIELDS_OF.get(source, (source,)))
    samples = tuple(dataclasses.replace(s, **gone) for s in state.samples)
    return dataclasses.replace(state, samples=samples)


def said_without(source, state, moves):
    if source == "progress":
        return said(state, moves=None).reason
    return said(without(state, source), moves=moves).reason


@given(states=st.lists(cards, min_size=1, max_size=4), moves=progress)
def test_whatever_the_cards_say_the_answer_is_a_declared_one(states, moves):
    verdict = said(*states, moves=moves)
    assert ANSWERS.reasons[verdict.reason] is verdict.outcome


OF_THE_CARD = {
    "throttled": card(300.0, throttle=frozenset({"sw_thermal"})),
    "sensors_disagree": card(sm_activity=0.0, tensor_activity=0.0),
}
"""What the card's own sensors say alone, and so of the card alone."""


def test_no_fail_of_a_run_is_left_out_of_what_must_agree():
    fails = {code for code, outcome in ANSWERS.reasons.items() if outcome is Outcome.FAIL}
    assert fails - OF_THE_CARD.keys() == set(SOURCES_OF)
    for reason, state in OF_THE_CARD.items():
        verdict = said(state)
        assert (verdict.reason, verdict.entity.kind) == (reason, EntityKind.GPU)
    assert all(len(sources) >= 2 for sources in SOURCES_OF.values())


FP32 = card(tensor_activity=0.05, reference=own_gemm())


@pytest.mark.parametrize(
    ("state", "moves", "reason", "source"),
    [
        pytest.param(state, moves, reason, source, id=f"{reason}-{source}")
        for state, moves, reason in (
            (V100_HUNG, STALLED, "hung_in_collective"),
            (V100_HUNG, TRAINING, "busy_at_low_power"),
            (FP32, TRAINING, "sm_busy_tensor_idle"),
            (IDLE, TRAINING, "gpu_starved"),
        )
        for source in SOURCES_OF[reason]
    ],
)
def test_no_source_alone_convicts_a_run(state, moves, reason, source):
    """With each of them the run fails; without any one of them it does not fail for that."""
    assert said(state, moves=moves).reason == reason
    left = said_without(source, state, moves)
    assert left != reason
    if source != "progress":
        assert ANSWERS.reasons[left] is not Outcome.FAIL


@given(state=cards, moves=progress)
def test_two_sources_stand_behind_every_fail_of_a_run(state, moves):
    reason = said(state, moves=moves).reason
    for source in SOURCES_OF.get(reason, ()):
        assert said_without(source, state, moves) != reason


@given(state=cards, moves=progress, watts=st.floats(0, 400))
def test_more_power_never_makes_it_starved(state, moves, watts):
    if any(s.power_w is None for s in state.samples):
        return
    more = dataclasses.replace(
        state,
        samples=tuple(dataclasses.replace(s, power_w=s.power_w + watts) for s in state.samples),
    )
    if said(more, moves=moves).reason == "gpu_starved":
        assert said(state, moves=moves).reason in {"gpu_starved", "sensors_disagree"}


@given(states=st.lists(cards, min_size=1, max_size=3), moves=progress, extra=cards)
def test_another_card_never_hides_a_fail_but_that_of_idleness(states, moves, extra):
    before = said(*states, moves=moves)
    if before.outcome is Outcome.FAIL and before.reason != "gpu_starved":
        assert said(*states, extra, moves=moves).outcome is Outcome.FAIL


def test_a_card_that_never_spoke_is_waited_for():
    assert said(gpu_state(())).reason == "window_too_short"
    assert said(gpu_state((), present=False)).reason == "gpu_not_present"


def test_a_verdict_about_the_run_names_no_entity_of_its_own():
    assert said(H200).entity is None
    assert said(H200).entity is not BOX
