"""What a window of readings comes to."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis import gpu_window
from pfid.analysis.gpu_window import GAP_MAX_S, newest_window
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.config.load import loads
from pfid.domain.errors import ConfigError
from pfid.domain.gpu import AbsentReason, PowerSource
from pfid.spec.fakes_gpus import gpu_samples


def test_nothing_read_has_no_figures():
    window = newest_window((), 60.0)
    assert (window.seconds, window.utilization, window.power_w) == (0.0, None, None)


def test_only_the_newest_readings_count():
    samples = gpu_samples(120, power_w=lambda i: 600.0 if i >= 60 else 10.0)
    window = newest_window(samples, 60.0)
    assert window.power_w == 600.0
    assert window.seconds == 60.0


def test_what_was_read_before_a_clock_was_set_back_is_of_no_window():
    before = gpu_samples(120, power_w=lambda _: 10.0)
    after = gpu_samples(30, power_w=lambda _: 600.0)
    back_s = before[-1].at_s - after[0].at_s - 3_600.0
    moved = tuple(dataclasses.replace(s, at_s=s.at_s + back_s) for s in after)
    window = newest_window((*before, *moved), 60.0)
    assert (window.power_w, window.seconds) == (600.0, 30.0)


def test_an_answer_is_kept_for_the_same_samples_and_no_others():
    samples = gpu_samples(60, power_w=lambda _: 600.0)
    assert newest_window(samples, 60.0) is newest_window(samples, 60.0)
    others = tuple(dataclasses.replace(s, power_w=10.0) for s in samples)
    assert newest_window(others, 60.0).power_w == 10.0
    assert newest_window(samples, 60.0).power_w == 600.0
    assert newest_window(samples, 10.0).seconds == 10.0
    growing = list(samples[:30])
    assert newest_window(growing, 60.0).seconds == 30.0
    growing += samples[30:]
    assert newest_window(growing, 60.0).seconds == 60.0


def test_what_is_kept_is_bounded():
    for i in range(3 * gpu_window._KEPT_MAX):
        (one,) = gpu_samples(1)
        newest_window((dataclasses.replace(one, uuid=f"GPU-{i}"),), 60.0)
    assert len(gpu_window._kept) <= gpu_window._KEPT_MAX


def test_readings_are_weighted_by_the_time_they_stand_for():
    short, long = gpu_samples(2, power_w=lambda i: 100.0 if i else 400.0)
    window = newest_window((dataclasses.replace(short, window_s=3.0), long), 60.0)
    assert window.power_w == pytest.approx(325.0)


def test_a_reading_after_an_outage_does_not_stand_for_the_outage():
    (late,) = gpu_samples(1, window_s=50.0)
    assert newest_window((late,), 60.0).seconds == GAP_MAX_S


def test_utilisation_and_power_come_from_the_same_readings():
    """Power of the idle half must not be held against utilisation of the busy half."""
    samples = gpu_samples(
        60,
        utilization=lambda i: 1.0 if i >= 30 else None,
        power_w=lambda i: 600.0 if i >= 30 else 80.0,
    )
    window = newest_window(samples, 60.0)
    assert (window.utilization, window.power_w, window.seconds) == (1.0, 600.0, 30.0)


def test_the_mean_of_an_energy_counter_is_exact():
    noisy = {"power_w": lambda i: 100.0 + 300.0 * (i % 2)}
    energy = newest_window(gpu_samples(60, power_source=PowerSource.ENERGY, **noisy), 60.0)
    instant = newest_window(gpu_samples(60, power_source=PowerSource.INSTANT, **noisy), 60.0)
    assert energy.jitter_w == 0.0
    assert instant.jitter_w == pytest.approx(3 * 300 / 60**0.5, rel=0.01)


def test_a_counter_that_half_of_the_readings_lack_is_not_known():
    def tensor(i):
        return 0.8 if i % 3 == 0 else None

    assert newest_window(gpu_samples(60, tensor_activity=tensor), 60.0).tensor_activity is None


@pytest.mark.parametrize(("share", "named"), [(0.4, set()), (0.6, {"hw_thermal"})])
def test_a_throttle_reason_counts_when_it_held_half_of_the_time(share, named):
    def throttle(i):
        return frozenset({"hw_thermal"} if i < 60 * share else ())

    assert newest_window(gpu_samples(60, throttle=throttle), 60.0).throttle == named


def test_throttle_reasons_that_cannot_be_read_are_not_no_reasons():
    assert newest_window(gpu_samples(60, throttle=None), 60.0).throttle is None


def test_why_a_figure_is_missing_is_told():
    absent = {"utilization": AbsentReason.NO_PERMISSION}
    samples = gpu_samples(60, utilization=None, absent=absent)
    assert newest_window(samples, 60.0).absent == absent


def test_power_had_in_two_ways_has_no_one_source():
    def source(i):
        return PowerSource.ENERGY if i % 2 else PowerSource.INSTANT

    assert newest_window(gpu_samples(60, power_source=source), 60.0).power_source is None


shares = st.floats(0, 1) | st.none()
watts = st.floats(0, 1_000) | st.none()


@given(values=st.lists(st.tuples(shares, watts), min_size=1, max_size=80), seconds=st.floats(1, 90))
def test_a_mean_lies_between_the_readings_and_an_absent_one_is_never_zero(values, seconds):
    samples = gpu_samples(
        len(values), utilization=lambda i: values[i][0], power_w=lambda i: values[i][1]
    )
    window = newest_window(samples, seconds)
    for found, known in (
        (window.utilization, [u for u, _ in values if u is not None]),
        (window.power_w, [p for _, p in values if p is not None]),
    ):
        if found is None:
            continue
        assert min(known) - 1e-6 <= found <= max(known) + 1e-6
    assert window.seconds <= sum(u is not None and p is not None for u, p in values)


@pytest.mark.parametrize("interval_s", [0.1, 1.0, 7.0, GAP_MAX_S])
def test_readings_as_far_apart_as_may_be_configured_can_be_judged(interval_s):
    assert loads(f"[gpus]\ninterval_s = {interval_s}\n").gpus.interval_s == interval_s
    samples = tuple(
        dataclasses.replace(s, at_s=1000.0 + i * interval_s, window_s=interval_s + 0.02)
        for i, s in enumerate(gpu_samples(3000))
    )
    limits = WorkLimits()
    window = newest_window(samples, limits.window_s)
    assert window.seconds >= limits.covered * limits.window_s


def test_readings_farther_apart_than_one_stands_for_are_refused():
    with pytest.raises(ConfigError, match=r"gpus\.interval_s"):
        loads(f"[gpus]\ninterval_s = {GAP_MAX_S + 1}\n")
