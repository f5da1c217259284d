"""How a tensor's change stands to what an adapter makes of it."""

import numpy as np
import pytest

from pfid.analysis.adapter_change import (
    Amount,
    Change,
    amount_of,
    idle_parts,
    low_rank,
    rows_of,
)
from pfid.analysis.adapter_parts import beside, by_length, length_shares, rows_replaced
from pfid.analysis.weight_sample import numbers, rounded

RNG = np.random.default_rng(3)
WHOLE = ((0, 48),)


def matrix(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def as_f32(values):
    return "F32", np.ascontiguousarray(values, np.float32).tobytes()


def as_bf16(values):
    return "BF16", rounded(np.ascontiguousarray(values, np.float32), "BF16")


@pytest.mark.parametrize("runs", [WHOLE, ((3, 9), (40, 8)), ((47, 1),)])
def test_a_product_is_what_the_factors_make_at_the_sampled_elements(runs):
    a, b = matrix(2, 8), matrix(6, 2)
    (change,) = low_rank(a, b, (6, 8), runs)
    whole = (b @ a).reshape(-1)
    assert change.added == pytest.approx(np.concatenate([whole[f : f + n] for f, n in runs]))
    (turned,) = low_rank(a, b, (8, 6), WHOLE)
    assert turned.added == pytest.approx((b @ a).T.reshape(-1))


def test_a_square_may_be_read_both_ways():
    a, b = matrix(2, 4), matrix(4, 2)
    plain, turned = low_rank(a, b, (4, 4), ((0, 16),))
    assert plain.added == pytest.approx((b @ a).reshape(-1))
    assert turned.added == pytest.approx((b @ a).T.reshape(-1))


def test_experts_lie_below_each_other_in_one_factor_and_beside_each_other_in_the_other():
    a, b = matrix(3 * 2, 4), matrix(5, 2 * 3)
    (change,) = low_rank(a, b, (3, 5, 4), ((0, 60),))
    made = np.einsum("ore,eri->eoi", b.reshape(5, 2, 3), a.reshape(3, 2, 4))
    assert change.added == pytest.approx(made.reshape(-1), rel=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [((2, 8), (6, 3), (6, 8)), ((2, 8), (6, 2), (5, 8)), ((2, 8), (6, 2), (48,)),
     ((5, 8), (6, 5), (3, 6, 8)), ((2, 8), (6, 2), (3, 6, 8))],
)  # fmt: skip
def test_factors_that_do_not_fit_make_nothing(a, b, shape):
    assert list(low_rank(matrix(*a), matrix(*b), shape, WHOLE)) == []


@pytest.mark.parametrize("stored", [as_f32, as_bf16])
@pytest.mark.parametrize(
    ("times", "amount"),
    [(1, Amount.RIGHT), (2, Amount.SCALED), (0.5, Amount.SCALED), (-1, Amount.SCALED)],
)
def test_the_factor_is_found_in_either_precision(stored, times, amount):
    base, added = matrix(4096), matrix(4096) * 0.2
    one = stored(base)
    two = stored(numbers(*one) + times * added)
    found = amount_of([Change(added, np.abs(added))], one, two)
    assert found.amount is amount
    assert found.factor == pytest.approx(times, rel=0.02)


def test_a_change_that_rounding_swallows_is_untold_and_another_one_is_another():
    base, added = matrix(4096) + 3, matrix(4096) * 1e-3
    change = Change(added, np.abs(added))
    one = as_bf16(base)
    assert amount_of([change], one, as_bf16(numbers(*one) + added)).amount is Amount.UNTOLD
    other = amount_of([change], as_f32(base), as_f32(base + matrix(4096)))
    assert other.amount is Amount.OTHER
    assert amount_of([], one, one).amount is Amount.UNTOLD


def test_what_was_rounded_before_it_was_stored_wide_is_told_by_its_own_precision():
    """Merged in bfloat16 and saved in float32."""
    base, added = matrix(4096), matrix(4096) * 0.2
    thin = numbers(*as_bf16(numbers(*as_bf16(base)) + added))
    found = amount_of([Change(added, np.abs(added))], as_f32(base), as_f32(thin))
    assert found.amount is Amount.RIGHT


def test_a_learned_length_scales_the_row_and_not_the_product_alone():
    base, a, b, lengths = matrix(6, 8), matrix(2, 8), matrix(6, 2), matrix(6) ** 2
    runs = ((2, 9), (47, 1))
    (change,) = low_rank(a, b, base.shape, runs)
    rows = rows_of(base.shape, runs)
    assert rows == [0] * 6 + [1] * 3 + [5]
    shares = length_shares(lengths, {row: base[row] for row in rows}, (a, b), 1.0)
    sampled = np.concatenate([base.reshape(-1)[f : f + n] for f, n in runs])
    made = by_length(change, sampled, shares, base.shape, runs)
    whole = base + b @ a
    whole *= (lengths / np.linalg.norm(whole, axis=1))[:, None]
    expected = np.concatenate([whole.reshape(-1)[f : f + n] for f, n in runs])
    assert sampled + made.added == pytest.approx(expected, rel=1e-4)


def test_a_bias_is_multiplied_as_its_product_and_a_row_trained_alone_is_replaced():
    assert list(beside(np.arange(5.0), 2.0, ((1, 2), (4, 1))).added) == [2, 4, 8]
    new = np.array([[9.0, 8.0]])
    made = rows_replaced(np.ones(3), new, (1,), (4, 2), ((1, 3),))
    assert list(made.added) == [0, 8, 7]


def test_experts_that_get_nothing_are_idle():
    added = np.zeros(24)
    added[9] = 1
    runs = ((0, 4), (8, 4), (16, 4))
    sampled = Change(np.concatenate([added[f : f + n] for f, n in runs]), np.zeros(12))
    assert idle_parts(sampled, (3, 2, 4), runs) == {0, 2}
    assert idle_parts(sampled, (6, 4), runs) == frozenset()
