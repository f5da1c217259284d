"""A worker's life: deadlines end it, TERM before KILL, back-off between, one orphan at most."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.policy import worker_life
from pfid.policy.worker_life import EndCause, Life, LifeAction, LifePhase, LifeRules

RULES = LifeRules(
    start_deadline_s=20.0,
    deadline_s=10.0,
    term_grace_s=2.0,
    kill_grace_s=5.0,
    backoff_first_s=1.0,
    backoff_max_s=8.0,
    stable_after_s=60.0,
    jitter_share=0.5,
)


def running(now_s: float = 0.0) -> Life:
    life, action = worker_life.tick(worker_life.new_life(now_s), RULES, now_s)
    assert action is LifeAction.SPAWN
    return worker_life.heard(worker_life.spawned(life, RULES, now_s), RULES, now_s)


def killing(*, orphan: bool = False) -> Life:
    life, _ = worker_life.tick(replace(running(), orphan=orphan), RULES, 10.0)
    life, action = worker_life.tick(life, RULES, 12.0)
    assert action is LifeAction.KILL
    return life


def test_the_first_start_is_due_at_once_and_asked_for_once():
    life, action = worker_life.tick(worker_life.new_life(5.0), RULES, 5.0)
    assert action is LifeAction.SPAWN
    assert worker_life.tick(life, RULES, 500.0) == (life, None)


def test_a_worker_heard_in_time_lives_on():
    life = worker_life.heard(running(), RULES, 9.9)
    assert worker_life.tick(life, RULES, 19.8) == (life, None)


def test_silence_past_the_deadline_brings_term_then_kill_after_the_grace():
    life, action = worker_life.tick(running(), RULES, 10.0)
    assert (life.phase, action) == (LifePhase.TERMINATING, LifeAction.TERMINATE)
    assert life.cause is EndCause.TIMED_OUT
    assert worker_life.tick(life, RULES, 11.9) == (life, None)
    life, action = worker_life.tick(life, RULES, 12.0)
    assert (life.phase, action) == (LifePhase.KILLING, LifeAction.KILL)


def test_a_start_has_a_deadline_of_its_own():
    life = worker_life.spawned(worker_life.new_life(0.0), RULES, 0.0)
    assert worker_life.tick(life, RULES, 19.9)[1] is None
    assert worker_life.tick(life, RULES, 20.0)[1] is LifeAction.TERMINATE


def test_a_late_word_does_not_save_a_condemned_worker():
    life, _ = worker_life.tick(running(), RULES, 10.0)
    assert worker_life.heard(life, RULES, 11.0) == life


def test_one_that_survives_kill_is_left_behind_and_another_is_started():
    life, action = worker_life.tick(killing(), RULES, 17.0)
    assert action is LifeAction.ABANDON
    assert life.orphan
    assert worker_life.tick(life, RULES, 17.0)[1] is LifeAction.SPAWN


def test_beside_an_orphan_a_second_stuck_worker_is_waited_for():
    life, action = worker_life.tick(killing(orphan=True), RULES, 17.0)
    assert (life.phase, action) == (LifePhase.STUCK, None)
    assert worker_life.tick(life, RULES, 10_000.0) == (life, None)


def test_the_end_of_the_orphan_frees_its_place_for_the_stuck_one():
    stuck, _ = worker_life.tick(killing(orphan=True), RULES, 17.0)
    life, action = worker_life.tick(worker_life.orphan_gone(stuck, 30.0), RULES, 30.0)
    assert action is LifeAction.ABANDON
    assert life.orphan


def test_the_end_of_the_stuck_one_lets_the_next_be_started():
    stuck, _ = worker_life.tick(killing(orphan=True), RULES, 17.0)
    life = worker_life.ended(stuck, RULES, 30.0, 0.0)
    assert life.phase is LifePhase.WAITING
    assert life.orphan
    assert worker_life.tick(life, RULES, life.due_s or 0.0)[1] is LifeAction.SPAWN


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.0), (1, 0.0), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (99, 8.0)]
)
def test_back_off_doubles_up_to_its_limit(failures: int, seconds: float):
    assert worker_life.backoff_s(failures, RULES, 0.0) == seconds


def test_jitter_only_lengthens_the_back_off():
    assert worker_life.backoff_s(3, RULES, 1.0) == 3.0


def test_an_early_end_counts_and_a_late_one_forgets():
    crashed = replace(running(), failures=3)
    assert worker_life.ended(crashed, RULES, 59.9, 0.0).failures == 4
    assert worker_life.ended(crashed, RULES, 60.0, 0.0).failures == 1


def test_an_end_nobody_asked_for_is_a_crash():
    assert worker_life.ended(running(), RULES, 1.0, 0.0).cause is EndCause.CRASHED


def test_the_cause_of_an_end_that_was_forced_is_kept():
    life, _ = worker_life.condemned(running(), RULES, 1.0, EndCause.MALFORMED)
    assert worker_life.ended(life, RULES, 1.1, 0.0).cause is EndCause.MALFORMED


def test_a_failed_start_backs_off_like_a_crash():
    life = worker_life.new_life(0.0)
    for failures in (1, 2, 3):
        life = worker_life.spawn_failed(life, RULES, life.due_s or 0.0, 0.0)
        assert (life.failures, life.cause) == (failures, EndCause.SPAWN_FAILED)
    assert life.due_s == 0.0 + 0.0 + 1.0 + 2.0


def test_stopping_ends_the_worker_and_starts_no_other():
    life, action = worker_life.stop(running(), RULES, 1.0)
    assert action is LifeAction.TERMINATE
    life = worker_life.ended(life, RULES, 1.1, 0.0)
    assert (life.phase, life.cause, life.due_s) == (LifePhase.STOPPED, EndCause.STOPPED, None)


def test_stopping_between_two_lives_is_at_once():
    waiting = worker_life.ended(running(), RULES, 1.0, 0.0)
    assert worker_life.stop(waiting, RULES, 1.0)[0].phase is LifePhase.STOPPED


def test_stopping_leaves_a_stuck_worker_behind_even_beside_an_orphan():
    stopping, _ = worker_life.stop(killing(orphan=True), RULES, 13.0)
    life, action = worker_life.tick(stopping, RULES, 17.0)
    assert (life.phase, action) == (LifePhase.STOPPED, LifeAction.ABANDON)
    stuck, _ = worker_life.tick(killing(orphan=True), RULES, 17.0)
    assert worker_life.stop(stuck, RULES, 18.0)[0].phase is LifePhase.STOPPED


SIGNALS = st.lists(
    st.tuples(
        st.sampled_from(["tick", "heard", "ended", "orphan_gone", "malformed"]),
        st.floats(min_value=0.0, max_value=30.0),
    ),
    max_size=60,
)


@given(SIGNALS)
def test_whatever_happens_there_is_one_process_and_one_orphan_at_most(signals):
    """A process is started only when none runs, and abandoned only beside no orphan."""
    life, now_s, processes, orphans = worker_life.new_life(0.0), 0.0, 0, 0
    for name, pause_s in signals:
        now_s += pause_s
        action = None
        if name == "tick":
            life, action = worker_life.tick(life, RULES, now_s)
        elif name == "heard":
            life = worker_life.heard(life, RULES, now_s)
        elif name == "malformed":
            life, action = worker_life.condemned(life, RULES, now_s, EndCause.MALFORMED)
        elif name == "ended" and processes:
            life, processes = worker_life.ended(life, RULES, now_s, 0.0), processes - 1
        elif name == "orphan_gone" and orphans:
            life, orphans = worker_life.orphan_gone(life, now_s), orphans - 1
        if action is LifeAction.SPAWN:
            life, processes = worker_life.spawned(life, RULES, now_s), processes + 1
        elif action is LifeAction.ABANDON:
            processes, orphans = processes - 1, orphans + 1
        assert processes in (0, 1)
        assert orphans in (0, 1)
        assert life.orphan is bool(orphans)
        assert life.due_s is not None or life.phase is LifePhase.STUCK
