"""A step is predicted from the shapes that are run, not from the worst that can be built."""

import numpy as np
import pytest

from pfid.analysis.length_records import records_of
from pfid.analysis.padding import padding_cost
from pfid.analysis.scaling import Timing, fit, of_terms
from pfid.analysis.shape_weighting import disagreement, weigh

A, B = 6.87e-4, 8.85e-8


def shapes(widths):
    return padding_cost(records_of(np.array(widths)), 1)


def curve(*widths):
    return fit([Timing(width=w, seconds=A * w + B * w * w) for w in widths])


def test_the_square_is_weighed_by_its_own_mean():
    found = weigh(curve(512, 2_048, 8_192), shapes([1_000, 7_000]))
    assert found.expected_s == pytest.approx(A * 4_000 + B * (1e6 + 49e6) / 2)
    assert found.expected_s > A * 4_000 + B * 4_000**2
    assert found.quadratic_share == pytest.approx(B * 25e6 / found.expected_s)
    assert found.worst_share == pytest.approx(B * 7_000 / (A + B * 7_000))
    assert found.overstatement == pytest.approx(found.worst_share / found.quadratic_share)


def test_all_of_one_width_is_overstated_by_nothing():
    assert weigh(curve(512, 2_048, 8_192), shapes([4_000] * 3)).overstatement == pytest.approx(1)


def test_a_fit_that_does_not_close_predicts_nothing():
    assert weigh(curve(512, 2_048), shapes([1_000])) is None


@pytest.mark.parametrize(
    ("widths", "beyond"),
    [([256], False), ([255], True), ([16_384], False), ([1_000] * 9 + [16_385], True)],
)
def test_shapes_far_outside_those_timed_are_said(widths, beyond):
    assert weigh(curve(512, 2_048, 8_192), shapes(widths)).extrapolated is beyond


def test_terms_that_somebody_states_are_weighed_without_knowing_their_range():
    found = weigh(of_terms(A, 0.0), shapes([1_000]))
    assert (found.extrapolated, found.overstatement, found.quadratic_share) == (None, None, 0)
    for a, b in ((-1.0, 1.0), (0.0, 0.0), (float("nan"), 1.0), (1.0, float("inf"))):
        with pytest.raises(ValueError, match="not negative"):
            of_terms(a, b)


def test_disagreement_has_a_sign():
    assert disagreement(11.0, 10.0) == pytest.approx(0.1)
    assert disagreement(9.0, 10.0) == pytest.approx(-0.1)
