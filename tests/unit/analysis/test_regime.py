"""A regime is named from measurements, and not at all where the curve does not close."""

import pytest

from pfid.analysis.regime import Regime, of_ratio, read_regime
from pfid.analysis.scaling import Timing, fit


def read(pairs):
    timings = [Timing(width=w, seconds=s) for w, s in pairs]
    return read_regime(timings, fit(timings))


@pytest.mark.parametrize(
    ("ratio", "regime"),
    [
        (1.0, Regime.LAUNCH_BOUND),
        (1.5, Regime.LAUNCH_BOUND),
        (1.51, Regime.MIXED),
        (3.39, Regime.MIXED),
        (3.4, Regime.LINEAR),
        (4.6, Regime.LINEAR),
        (4.61, Regime.MIXED),
        (11.9, Regime.MIXED),
        (12.0, Regime.QUADRATIC),
    ],
)
def test_each_band_begins_and_ends_where_the_design_says(ratio, regime):
    assert of_ratio(ratio) is regime


def test_linear_and_quadratic_curves_are_named_with_their_lever():
    linear = read([(w, 1e-3 * w + 1e-12 * w * w) for w in (512, 2_048, 8_192)])
    assert linear.regime is Regime.LINEAR
    assert "fewer tokens" in linear.lever
    quadratic = read([(w, 1e-5 * w + 1e-6 * w * w) for w in (512, 2_048, 8_192)])
    assert quadratic.regime is Regime.QUADRATIC
    assert "attention" in quadratic.lever


def test_the_playbooks_own_fit_is_mixed():
    reading = read([(w, 6.87e-4 * w + 8.85e-8 * w * w) for w in (2_048, 4_096, 8_192, 16_384)])
    assert reading.regime is Regime.MIXED
    assert (reading.observed, reading.fitted) == (Regime.MIXED, Regime.MIXED)
    assert [round(r.ratio, 1) for r in reading.ratios] == [6.5, 8.1, 6.5, 8.1]
    assert [r.fitted for r in reading.ratios] == [False, False, True, True]


def test_launch_bound_is_named_although_no_two_term_fit_can_close():
    reading = read([(128, 0.0101), (512, 0.0100), (2_048, 0.0103)])
    assert reading.regime is Regime.LAUNCH_BOUND
    assert "CUDA graphs" in reading.lever


@pytest.mark.parametrize(
    ("times", "regime"),
    [
        ((1.0, 0.8, 0.3), Regime.NONE),
        ((1.0, 0.8, 0.66), Regime.NONE),
        ((1.0, 0.9, 0.67), Regime.LAUNCH_BOUND),
        ((1.0, 1.51, 1.0), Regime.NONE),
        ((1.0, 0.66, 1.0), Regime.NONE),
        ((1.0, 1.49, 1.0), Regime.LAUNCH_BOUND),
    ],
)
def test_a_step_that_gets_faster_or_leaps_is_not_bound_by_launches(times, regime):
    reading = read(list(zip((512, 1_024, 2_048), times, strict=True)))
    assert reading.regime is regime
    assert ("CUDA graphs" in reading.lever) is (regime is Regime.LAUNCH_BOUND)


@pytest.mark.parametrize("last_s", [1.02, 4.0, 16.0])
def test_two_widths_are_too_few_for_any_regime(last_s):
    reading = read([(512, 1.00), (2_048, last_s)])
    assert reading.observed is of_ratio(last_s)
    assert reading.regime is Regime.NONE
    assert "measure more widths" in reading.lever


def test_a_curve_that_does_not_close_has_no_regime():
    reading = read([(128, 2.0), (256, 3.0), (512, 4.2), (1_024, 4.8), (2_048, 8.9), (4_096, 17.0)])
    assert reading.regime is Regime.NONE


def test_widths_that_are_not_fourfold_are_read_by_how_the_time_grows_between_them():
    reading = read([(w, 1e-3 * w) for w in (1_000, 3_000, 5_000)])
    assert reading.observed is Regime.LINEAR
    assert reading.ratios[0].wider == 5_000
    assert reading.ratios[0].ratio == pytest.approx(4)
    square = read([(w, 1e-6 * w * w) for w in (1_000, 3_000, 5_000)])
    assert square.ratios[0].ratio == pytest.approx(16)
    flat = read([(500, 0.0100), (1_000, 0.0101), (2_100, 0.0102)])
    assert flat.regime is Regime.LAUNCH_BOUND


def test_a_range_under_fourfold_shows_no_regime_by_itself():
    reading = read([(w, 1e-3 * w) for w in (1_000, 2_000, 3_000)])
    assert (reading.observed, reading.fitted, reading.regime) == (None, None, Regime.NONE)


def test_pairs_of_two_regimes_are_mixed():
    reading = read([(w, 1e-4 * w + 2.6e-8 * w * w) for w in (64, 256, 4_096, 16_384)])
    assert reading.observed is Regime.MIXED
