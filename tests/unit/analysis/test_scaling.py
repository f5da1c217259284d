"""The scaling fit gives the playbook's shares, and refuses to read a curve that does not close."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.scaling import Closure, Timing, best_of, fit

A, B = 6.87e-4, 8.85e-8
WIDTHS = (2_048, 4_096, 8_192, 16_384)


def curve(widths=WIDTHS, a=A, b=B, c=0.0):
    return [Timing(width=w, seconds=a * w + b * w * w + c) for w in widths]


@pytest.mark.parametrize(("width", "share"), [(2_048, 0.209), (8_192, 0.513), (16_384, 0.678)])
def test_the_worked_example_has_the_published_shares(width, share):
    # playbook section 8; its A and B are printed to three digits, hence a tenth of a percent
    assert fit(curve()).quadratic_share(width) == pytest.approx(share, abs=0.001)


def test_three_exact_points_give_the_terms_back():
    found = fit(curve(WIDTHS[1:]))
    assert found.closure is Closure.CLOSES
    assert found.a_s_per_token == pytest.approx(A)
    assert found.b_s_per_token2 == pytest.approx(B)
    assert found.c_s is None
    assert max(abs(r.relative) for r in found.residuals) < 1e-9


def test_two_widths_are_undetermined_however_often_they_were_timed():
    found = fit(curve(WIDTHS[:2]) * 5)
    assert found.closure is Closure.UNDETERMINED
    assert found.a_s_per_token is None
    assert found.quadratic_share(2_048) is None
    assert found.seconds(2_048) is None


def test_a_fixed_cost_is_named_and_no_share_is_read():
    found = fit(curve((128, 512, 2_048, 8_192), c=0.5))
    assert found.closure is Closure.CONSTANT_TERM
    assert found.c_s == pytest.approx(0.5)
    assert found.quadratic_share(8_192) is None


def test_a_negative_quadratic_term_never_yields_a_negative_share():
    seconds = (1.0, 1.9, 3.5)  # grows slower than its width
    timings = [Timing(width=1_024 * 2**i, seconds=s) for i, s in enumerate(seconds)]
    found = fit(timings)
    assert found.b_s_per_token2 < 0
    assert found.closure is Closure.NEGATIVE_TERM
    assert found.quadratic_share(4_096) is None


@pytest.mark.parametrize(("bump", "closure"), [(1.012, Closure.CLOSES), (1.05, Closure.RESIDUALS)])
def test_residuals_on_either_side_of_the_limit(bump, closure):
    timings = curve(WIDTHS[:3])
    timings[1] = Timing(width=4_096, seconds=timings[1].seconds * bump)
    found = fit(timings)
    assert found.closure is closure
    assert (max(abs(r.relative) for r in found.residuals) <= 0.01) is (closure is Closure.CLOSES)


def test_repeats_give_the_share_an_error_that_covers_the_noise():
    noisy = [
        Timing(width=t.width, seconds=t.seconds * (1 + jitter))
        for t in curve()
        for jitter in (0.0, 0.002, 0.004)
    ]
    found = fit(noisy)
    error = found.share_error(8_192)
    assert 0 < error < 0.02
    assert abs(found.quadratic_share(8_192) - 0.5135) < 3 * error
    assert fit(curve(WIDTHS[:3])).share_error(8_192) == pytest.approx(0, abs=1e-9)


def test_the_best_timing_of_each_width_counts():
    timings = [
        Timing(width=2, seconds=3.0),
        Timing(width=1, seconds=2.0),
        Timing(width=2, seconds=1),
    ]
    assert [(t.width, t.seconds) for t in best_of(timings)] == [(1, 2.0), (2, 1)]


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_timing_that_cannot_be_is_refused(seconds):
    with pytest.raises(ValueError, match="seconds > 0"):
        Timing(width=8, seconds=seconds)


@given(
    a=st.floats(1e-6, 1e-2),
    b=st.floats(1e-11, 1e-6),
    scale=st.floats(1e-3, 1e6),
)
def test_the_share_does_not_depend_on_the_unit_of_time(a, b, scale):
    share = fit(curve(a=a, b=b)).quadratic_share(4_096)
    scaled = fit(curve(a=a * scale, b=b * scale)).quadratic_share(4_096)
    assert share == pytest.approx(scaled, rel=1e-6)
    assert 0 <= share <= 1


@pytest.mark.parametrize(("again", "noise"), [(0.151, False), (0.24, True)])
def test_repeats_that_differ_by_more_than_is_unexplained_show_no_fixed_cost(again, noise):
    points = [(512, 0.15), (512, again), (1024, 0.25), (2048, 0.45), (4096, 0.85)]
    found = fit([Timing(width=w, seconds=s) for w, s in points])
    assert not found.closes
    assert found.noise == (512, pytest.approx(again / 0.15 - 1))
    assert found.is_noise is noise


def test_no_noise_is_seen_where_nothing_was_repeated_and_none_matters_where_a_fit_closes():
    line = [Timing(width=w, seconds=1e-4 * w) for w in (512, 1024, 2048)]
    assert fit(line).noise is None
    loud = fit([*line, Timing(width=512, seconds=1.0)])
    assert (loud.closes, loud.is_noise) == (True, False)
    two = fit([line[0], line[1], Timing(width=512, seconds=1.0)])
    assert (two.closure, two.is_noise) == (Closure.UNDETERMINED, False)
