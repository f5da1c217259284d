"""The gate: what is sound is proven, and every way of cheating it ends unproven, named."""

import dataclasses

import pytest

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end
from pfid.domain.gate import GateState
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind, Verdict
from pfid.policy import control_drive, proof, sabotage
from pfid.policy.control_drive import Shown
from pfid.policy.evaluate import Attempt
from pfid.spec.check import Check, Hysteresis, Stage
from pfid.spec.control import Control
from pfid.spec.fakes import CONTROL_SUBJECT, FixedClock, FixedSteps, moving
from pfid.spec.limits import limit, reported
from pfid.spec.world import World

OTHER = Entity(EntityKind.RUN, "another")
PAGE = Page(synthetic=True)


def tell(outcome, reason, **more):
    return Verdict(outcome=outcome, reason=ReasonCode(reason), summary="s", **more)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    quiet_s: float = limit(60.0, unit="s", factor=1.1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    quiet_s: float | None
    growing: bool | None
    now_s: float = reported()


def observe(world):
    progress = world.steps.progress()
    return Seen(
        quiet_s=None if progress is None else progress.since_progress_s,
        growing=None if progress is None else progress.log_growing,
        now_s=world.clock.now_s(),
    )


def judge(seen, limits):
    if seen.quiet_s is None:
        return tell(Outcome.UNKNOWN, "no_progress_seen")
    if seen.quiet_s > limits.quiet_s and not seen.growing:
        return tell(Outcome.FAIL, "quiet")
    return tell(Outcome.PASS, "moving")


def world(quiet_s, *, growing=False, subject=CONTROL_SUBJECT):
    moves = None if quiet_s is None else moving(since_progress_s=quiet_s, log_growing=growing)
    return World(subject=subject, clock=FixedClock(), steps=FixedSteps(moves=moves))


def controls(limits):
    edge = limits.quiet_s
    return (
        Control(name="at", world=world(edge), expect=Outcome.PASS, reason="moving"),
        Control(name="over", world=world(edge + 1), expect=Outcome.FAIL, reason="quiet"),
        Control(
            name="writes",
            world=world(edge + 1, growing=True),
            expect=Outcome.PASS,
            reason="moving",
        ),
        Control(name="blind", world=world(None), expect=Outcome.UNKNOWN, reason="no_progress_seen"),
    )


def make(**more):
    return Check(
        **{
            "name": "quiet",
            "stage": Stage.WATCH,
            "observe": observe,
            "judge": judge,
            "reasons": {
                "quiet": Outcome.FAIL,
                "moving": Outcome.PASS,
                "no_progress_seen": Outcome.UNKNOWN,
            },
            "controls": controls,
            "limits": Limits(),
            "reads": ("clock", "steps"),
            "runbook": "Fails when quiet.",
            **more,
        }
    )


def prove(check, end=None, monotonic_s=lambda: 0.0):
    return proof.prove(check, far_end=end or far_end(PAGE.render), monotonic_s=monotonic_s)


def test_a_sound_check_is_proven_by_controls_legs_and_sabotage():
    gate = prove(make())
    assert gate.why == ""
    assert gate.state is GateState.PROVEN
    assert (gate.proven_to.controls, gate.proven_to.sabotage) == (True, True)
    assert [c.name for c in gate.controls][-1] == "over: good, bad, good"
    assert [s.mutant for s in gate.sabotage] == [
        "judge:always_fail:quiet",
        "judge:always_pass:moving",
        "judge:always_unknown:no_progress_seen",
        "observe:quiet_s",
        "observe:growing",
        "limit:quiet_s:up",
        "limit:quiet_s:down",
    ]
    assert all(s.caught for s in gate.sabotage)


@pytest.mark.parametrize(
    "rule",
    [
        Hysteresis(fire_m=3, fire_n=5, clear_k=4, floor_s=90.0, unknown_k=3),
        Hysteresis(fire_m=1, fire_n=9, clear_k=9),
    ],
)
def test_a_slow_hysteresis_is_waited_for_on_the_fake_clock(rule):
    assert prove(make(hysteresis=rule)).state is GateState.PROVEN


@pytest.mark.parametrize("stage", list(Stage))
def test_every_stage_has_a_far_end(stage):
    assert prove(make(stage=stage)).why == ""


def test_no_control_is_evaluated_only_to_see_what_it_costs():
    """Alone, twice for each FAIL that walks there and back, and once to be sabotaged."""
    looks = []
    check = make(observe=lambda seen: (looks.append(1), observe(seen))[1])
    assert prove(check).state is GateState.PROVEN
    n, fails = len(controls(Limits())), 1
    assert len(looks) == 2 * n + 2 * fails


def test_a_check_about_the_box_is_read_back_without_a_run():
    def boxed(limits):
        return tuple(
            dataclasses.replace(c, world=dataclasses.replace(c.world, subject=BOX))
            for c in controls(limits)
        )

    assert prove(make(controls=boxed)).why == ""


def stuck_reader(_):
    return Seen(quiet_s=61.0, growing=False, now_s=0.0)


def flipped(seen, limits):
    if seen.quiet_s is None:
        return tell(Outcome.UNKNOWN, "no_progress_seen")
    if seen.quiet_s < limits.quiet_s and not seen.growing:
        return tell(Outcome.FAIL, "quiet")
    return tell(Outcome.PASS, "moving")


def without_none(seen, limits):
    if (seen.quiet_s or 0.0) > limits.quiet_s and not seen.growing:
        return tell(Outcome.FAIL, "quiet")
    return tell(Outcome.PASS, "moving")


def crashing_none(seen, limits):
    if seen.quiet_s > limits.quiet_s and not seen.growing:
        return tell(Outcome.FAIL, "quiet")
    return tell(Outcome.PASS, "moving")


def limit_times_100(seen, limits):
    return judge(seen, Limits(quiet_s=limits.quiet_s * 100))


def other_entity(seen, limits):
    return dataclasses.replace(judge(seen, limits), entity=OTHER)


def undeclared(seen, limits):
    verdict = judge(seen, limits)
    if verdict.outcome is Outcome.FAIL:
        return tell(Outcome.FAIL, "silent")
    return verdict


def reads_a_port_nobody_set_up(world):
    world.log.facts()
    return observe(world)


def latched():
    """Cannot return to PASS: remembers that it failed once."""
    failed = []

    def judge_and_remember(seen, limits):
        verdict = judge(seen, limits)
        if verdict.outcome is Outcome.FAIL:
            failed.append(True)
        if failed and verdict.outcome is Outcome.PASS and len(failed) > 1:
            return tell(Outcome.FAIL, "quiet")
        return verdict

    return judge_and_remember


BAD = {
    "a reader stuck at a constant": ({"observe": stuck_reader}, "control 'at'"),
    "a flipped comparison": ({"judge": flipped}, "control 'over'"),
    "a dropped None branch": ({"judge": without_none}, "control 'blind'"),
    "the right outcome by exception": ({"judge": crashing_none}, "control 'blind': invalid"),
    "a limit times 100": ({"judge": limit_times_100}, "control 'over'"),
    "another entity": ({"judge": other_entity}, "about run another"),
    "a reason not declared": ({"judge": undeclared}, "control 'over': invalid"),
    "a port no control set up": ({"observe": reads_a_port_nobody_set_up}, "world.log.facts"),
    "a check that cannot return to PASS": ({"judge": latched()}, "leg 3"),
    "a hysteresis that cannot fire": ({"hysteresis": Hysteresis(floor_s=1e9)}, "does not let fail"),
}


@pytest.mark.parametrize(("bad", "named"), BAD.values(), ids=BAD.keys())
def test_a_bad_check_ends_unproven_and_says_where(bad, named):
    gate = prove(make(**bad))
    assert gate.state is GateState.UNPROVEN
    assert named in gate.why
    assert gate.proven_to.controls is False


def test_a_control_with_the_wrong_reason_does_not_pass():
    """Two FAIL reasons, one of them given for the other's world."""
    reasons = {**make().reasons, "dead": Outcome.FAIL}

    def with_dead(limits):
        dead = Control(
            name="dead", world=world(limits.quiet_s * 9), expect=Outcome.FAIL, reason="dead"
        )
        return (*controls(limits), dead)

    gate = prove(make(reasons=reasons, controls=with_dead))
    assert gate.state is GateState.UNPROVEN
    assert "control 'dead': expected fail, got fail quiet" in gate.why


def test_controls_that_survive_sabotage_prove_nothing():
    """The limit is never tried from below: only a control far away shows FAIL."""

    def far_away(limits):
        return tuple(
            dataclasses.replace(c, world=world(limits.quiet_s * 50)) if c.name == "over" else c
            for c in controls(limits)
        )

    gate = prove(make(controls=far_away))
    assert gate.state is GateState.UNPROVEN
    assert gate.why == "sabotage limit:quiet_s:up: no control noticed"
    assert (gate.proven_to.controls, gate.proven_to.sabotage) == (True, False)


def test_a_field_no_control_exercises_is_named():
    def without_growth(limits):
        return tuple(c for c in controls(limits) if c.name != "writes")

    gate = prove(make(controls=without_growth))
    assert gate.why == "sabotage observe:growing: no control noticed"


def test_a_crash_is_not_noticing():
    """Frozen at its healthy value the field makes judge raise: nothing was shown to decide."""

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Pair:
        quiet_s: float | None
        twin_s: float | None

    def observe_pair(world):
        seen = observe(world)
        return Pair(quiet_s=seen.quiet_s, twin_s=seen.quiet_s)

    def judge_pair(seen, limits):
        if seen.quiet_s != seen.twin_s:
            raise ValueError("twins differ")
        return judge(Seen(quiet_s=seen.quiet_s, growing=False, now_s=0.0), limits)

    def without_growth(limits):
        return tuple(c for c in controls(limits) if c.name != "writes")

    gate = prove(make(observe=observe_pair, judge=judge_pair, controls=without_growth))
    assert gate.why == "sabotage observe:quiet_s, observe:twin_s: no control noticed"


@pytest.mark.parametrize(
    ("observation", "named"),
    [
        (lambda _: 61.0, "float: it must be a frozen dataclass"),
        (lambda _: Seen, "type: it must be a frozen dataclass"),
    ],
)
def test_an_observation_that_cannot_be_sabotaged_is_refused(observation, named):
    reasons = {v: k for k, v in make().reasons.items()}

    def by_heart(_seen, _limits):
        outcome = next(answers)
        return tell(outcome, reasons[outcome])

    script = [Outcome.PASS, Outcome.FAIL, Outcome.PASS, Outcome.UNKNOWN]
    answers = iter([*script, Outcome.FAIL, Outcome.PASS])
    gate = prove(make(observe=observation, judge=by_heart))
    assert gate.state is GateState.UNPROVEN
    assert named in gate.why


def test_an_observation_of_which_nothing_decides_is_refused():
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class AllReported:
        quiet_s: float | None = reported()

    gate = prove(
        make(
            observe=lambda w: AllReported(quiet_s=observe(w).quiet_s),
            judge=lambda s, lim: judge(Seen(quiet_s=s.quiet_s, growing=False, now_s=0.0), lim),
            controls=lambda lim: tuple(c for c in controls(lim) if c.name != "writes"),
        )
    )
    assert "nothing decides" in gate.why


def test_a_control_over_the_checks_deadline_is_invalid():
    ticks = iter([0.0, 0.1, 5.0, 9.0, *([10.0] * 100)])
    gate = prove(make(), monotonic_s=lambda: next(ticks))
    assert gate.state is GateState.UNPROVEN
    assert "control 'over': invalid: took 4.0 s, over the check's deadline of 2 s" in gate.why


def test_a_fail_whose_subject_has_no_pass_cannot_show_its_way_back():
    def elsewhere(limits):
        lost = Control(
            name="lost",
            world=world(limits.quiet_s + 1, subject=OTHER),
            expect=Outcome.FAIL,
            reason="quiet",
        )
        return (*controls(limits), lost)

    assert "no PASS control has the same subject" in prove(make(controls=elsewhere)).why


def test_controls_that_cannot_be_built_any_more_are_named():
    built = []

    def once(limits):
        if built:
            raise ValueError("no second time")
        built.append(True)
        return controls(limits)

    gate = prove(make(controls=once))
    assert gate.state is GateState.UNPROVEN
    assert "controls cannot be built: ValueError: no second time" in gate.why


# The far end: a verdict that never reaches the page is not a verdict.


def loses_the_page(*_):
    return None


def says_always(outcome):
    def end(*_):
        return Shown(outcome=outcome, reasons=("quiet",) if outcome is Outcome.FAIL else ())

    return end


def forgets_the_reason(check, settling, entity, wall_s):
    shown = far_end(PAGE.render)(check, settling, entity, wall_s)
    return shown and dataclasses.replace(shown, reasons=())


def breaks(*_):
    raise RuntimeError("no page today")


@pytest.mark.parametrize(
    ("end", "named"),
    [
        (loses_the_page, "never reached the page"),
        (says_always(Outcome.PASS), "control 'over': invalid: the page says pass"),
        (says_always(Outcome.FAIL), "control 'at': invalid: the page says fail"),
        (forgets_the_reason, "the page names the reasons ()"),
        (breaks, "no page today"),
    ],
)
def test_a_verdict_lost_on_the_way_to_the_page_is_no_proof(end, named):
    gate = prove(make(), end)
    assert gate.state is GateState.UNPROVEN
    assert named in gate.why


def test_a_page_that_never_lets_go_of_a_fail_breaks_the_third_leg():
    real = far_end(PAGE.render)
    failed = []

    def sticky(check, settling, entity, wall_s):
        shown = real(check, settling, entity, wall_s)
        if shown.outcome is Outcome.FAIL:
            failed.append(entity)
        return Shown(outcome=Outcome.FAIL, reasons=("quiet",)) if len(failed) > 1 else shown

    gate = prove(make(), sticky)
    assert "over: good, bad, good" in gate.why
    assert "leg 3: the page says fail" in gate.why


# Each guard of the gate, taken away: the planted fault must then slip through, which shows that it
# is this guard that holds it.


def test_without_the_comparison_of_reasons_the_wrong_reason_passes(monkeypatch):
    def lax(control, got):
        return not got.error and got.verdict.outcome is control.expect

    def two_reasons(limits):
        dead = Control(name="dead", world=world(99.0), expect=Outcome.FAIL, reason="dead")
        return (*controls(limits), dead)

    bad = make(reasons={**make().reasons, "dead": Outcome.FAIL}, controls=two_reasons)
    monkeypatch.setattr(control_drive, "as_declared", lax)
    assert all(c.ok for c in prove(bad).controls)
    monkeypatch.undo()
    assert not all(c.ok for c in prove(bad).controls)


def test_without_the_comparison_of_entities_another_entity_passes(monkeypatch):
    bad = make(judge=other_entity)
    monkeypatch.setattr(
        control_drive,
        "as_declared",
        lambda c, got: not got.error and got.verdict.outcome is c.expect,
    )
    monkeypatch.setattr(control_drive, "_wrong_entity", lambda *_: "")
    assert all(c.ok for c in prove(bad).controls)
    monkeypatch.undo()
    assert prove(bad).state is GateState.UNPROVEN


def test_without_the_refusal_of_errors_a_crash_passes_as_unknown(monkeypatch):
    bad = make(judge=crashing_none)
    real = control_drive.attempt

    def forgiving(check, world):
        got = real(check, world)
        if not got.error:
            return got
        blind = tell(Outcome.UNKNOWN, "no_progress_seen", entity=world.subject)
        return Attempt(verdict=blind)

    monkeypatch.setattr(control_drive, "attempt", forgiving)
    assert all(c.ok for c in prove(bad).controls)
    monkeypatch.undo()
    assert prove(bad).state is GateState.UNPROVEN


def test_without_the_three_legs_a_latch_passes(monkeypatch):
    monkeypatch.setattr(
        control_drive, "_three_legs", lambda *_: dataclasses.replace(prove(make()).controls[0])
    )
    assert prove(make(judge=latched())).state is GateState.PROVEN
    monkeypatch.undo()
    assert prove(make(judge=latched())).state is GateState.UNPROVEN


@pytest.mark.parametrize(
    ("guard", "mutant"),
    [("_shifted_limits", "limit:"), ("_frozen_fields", "observe:"), ("_constants", "judge:")],
)
def test_without_a_kind_of_sabotage_its_survivors_would_count_as_proven(monkeypatch, guard, mutant):
    def weak(limits):
        far = [c for c in controls(limits) if c.name != "writes"]
        return tuple(
            dataclasses.replace(c, world=world(limits.quiet_s * 50)) if c.name == "over" else c
            for c in far
        )

    named = [s.mutant for s in prove(make(controls=weak)).sabotage]
    assert any(m.startswith(mutant) for m in named)
    monkeypatch.setattr(sabotage, guard, lambda *_: iter(()))
    assert not any(s.mutant.startswith(mutant) for s in prove(make(controls=weak)).sabotage)


def test_without_limits_and_fields_sabotaged_weak_controls_would_be_proven(monkeypatch):
    def weak(limits):
        far = [c for c in controls(limits) if c.name != "writes"]
        return tuple(
            dataclasses.replace(c, world=world(limits.quiet_s * 50)) if c.name == "over" else c
            for c in far
        )

    assert prove(make(controls=weak)).state is GateState.UNPROVEN
    monkeypatch.setattr(sabotage, "_shifted_limits", lambda *_: iter(()))
    monkeypatch.setattr(sabotage, "_frozen_fields", lambda *_: iter(()))
    assert prove(make(controls=weak)).state is GateState.PROVEN


def test_constants_catch_a_gate_whose_comparison_says_yes_to_everything(monkeypatch):
    """Sabotage also watches the gate itself: with a blind comparison every mutant survives."""
    monkeypatch.setattr(sabotage, "as_declared", lambda *_: True)
    monkeypatch.setattr(control_drive, "as_declared", lambda *_: True)
    gate = prove(make())
    assert gate.state is GateState.UNPROVEN
    assert not any(s.caught for s in gate.sabotage)


def test_without_a_far_end_a_verdict_lost_on_the_way_would_count(monkeypatch):
    monkeypatch.setattr(control_drive, "_misread", lambda *_: "")
    assert prove(make(), loses_the_page).state is GateState.PROVEN
    monkeypatch.undo()
    assert prove(make(), loses_the_page).state is GateState.UNPROVEN


def test_nothing_tried_is_nothing_proven(monkeypatch):
    monkeypatch.setattr(proof, "sabotage", lambda *_: ())
    gate = prove(make())
    assert gate.state is GateState.UNPROVEN
    assert gate.why == "sabotage was not tried"
    monkeypatch.setattr(proof, "drive_controls", lambda *_: ())
    assert prove(make()).state is GateState.UNPROVEN
