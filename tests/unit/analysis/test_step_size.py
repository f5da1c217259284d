"""How long a step of a given size should take."""

import pytest

from pfid.analysis.step_size import expected_s, fit, size_of
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy

A, B = 6.87e-4, 8.85e-8


def event(**more):
    return StepEvent(index=1, seconds=1.0, clock=StepClock.REPORTED, **more)


def baseline(**more):
    sizes = {"sized_by": SizedBy.WIDTH, "min_size": 1_000.0, "max_size": 10_000.0}
    return Baseline(median_s=5.0, source=BaselineSource.EARLIER_RUNS, n=100, **{**sizes, **more})


FITTED = baseline(linear_s_per_width=A, quadratic_s_per_width2=B)


def test_the_playbook_fit_is_found_again():
    curve = fit([(w, A * w + B * w * w) for w in (2_048, 4_096, 8_192, 16_384)])
    assert curve.linear == pytest.approx(A)
    assert curve.quadratic == pytest.approx(B)


@pytest.mark.parametrize(
    ("points", "linear", "quadratic"),
    [
        ([(w, 2e-3 * w) for w in (1_000, 2_000, 4_000)], 2e-3, 0.0),
        ([(w, 3e-7 * w * w) for w in (1_000, 2_000, 4_000)], 0.0, 3e-7),
        ([(1_000, 1.0), (2_000, 1.9), (4_000, 3.6)], 9.3e-4, 0.0),  # B would be negative
        ([(1_000, 1.0), (2_000, 4.4), (4_000, 18.0)], 0.0, 1.07e-6),  # A would be negative
    ],
)
def test_neither_term_is_negative(points, linear, quadratic):
    curve = fit(points)
    assert curve.linear == pytest.approx(linear, rel=0.05, abs=1e-9)
    assert curve.quadratic == pytest.approx(quadratic, rel=0.05, abs=1e-12)


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(1_000, 1.0), (4_000, 4.0)],
        [(1_000, 1.0), (1_010, 1.0), (1_020, 1.0)],
        [(1_000, 1.0), (2_000, 0.0), (4_000, 4.0)],
        [(1_000, 9.0), (2_000, 1.0), (4_000, 9.0), (8_000, 1.0)],
    ],
    ids=["none", "two", "no spread", "no time", "does not close"],
)
def test_where_there_is_no_fit_none_is_given(points):
    assert fit(points) is None


@pytest.mark.parametrize("width", [1_000, 3_000, 10_000])
def test_within_its_sizes_the_fit_decides(width):
    assert expected_s(FITTED, event(width=width)) == pytest.approx(A * width + B * width**2)


def test_beyond_its_sizes_it_errs_towards_patience():
    assert expected_s(FITTED, event(width=20_000)) == pytest.approx(4 * (A * 1e4 + B * 1e8))
    assert expected_s(FITTED, event(width=10)) == pytest.approx(A * 1e3 + B * 1e6)


def test_a_single_width_lets_wider_steps_take_the_square():
    one = baseline(min_size=2_000.0, max_size=2_000.0)
    assert expected_s(one, event(width=4_000)) == 20.0
    assert expected_s(one, event(width=1_000)) == 5.0


@pytest.mark.parametrize(
    ("base", "seen"),
    [
        (baseline(sized_by=None), event(width=20_000)),
        (FITTED, event()),
        (FITTED, event(tokens=4_096)),
        (baseline(sized_by=SizedBy.TOKENS), event(width=20_000)),
        (FITTED, event(width=0)),
    ],
)
def test_without_the_size_it_was_fitted_to_the_median_decides(base, seen):
    assert expected_s(base, seen) == 5.0


def test_tokens_of_an_interval_are_shared_by_its_steps():
    assert size_of(event(tokens=1_000, interval_steps=10), SizedBy.TOKENS) == 100.0
