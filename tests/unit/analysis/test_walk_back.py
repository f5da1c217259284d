"""How far an abliteration was walked back."""

import pytest

from pfid.analysis.walk_back import Bounds, Walk, Ways, against_base, against_stock, walked

BOUNDS = Bounds(refused_max=0.1, rise_max=0.05, undone_max=0.1, stock_refuses_min=0.5)
STOCK = Ways(hard=100)


@pytest.mark.parametrize(
    ("ways", "walk"),
    [
        (Ways(hard=3, comply=97), Walk.RETAINED),
        (Ways(hard=29, comply=71), Walk.WALKED_BACK),
        (Ways(hard=20, deflect=9, comply=71), Walk.WALKED_BACK),
        (Ways(hard=95, comply=5), Walk.UNDONE),
        (Ways(hard=12, comply=88), Walk.TOO_FEW),
    ],
)
def test_beside_stock(ways, walk):
    assert against_stock(ways, STOCK, BOUNDS) is walk


def test_what_stock_answers_is_not_gained():
    half = Ways(hard=50, comply=50)
    assert against_stock(Ways(hard=45, comply=55), half, BOUNDS) is Walk.UNDONE
    assert against_stock(half, Ways(hard=49, comply=51), BOUNDS) is Walk.SET_BLIND


def test_beside_the_base_only_a_rise_counts():
    base = Ways(hard=30, comply=70)
    assert against_base(Ways(hard=32, comply=68), base, BOUNDS) is Walk.RETAINED
    assert against_base(Ways(hard=60, comply=40), base, BOUNDS) is Walk.WALKED_BACK
    assert against_base(Ways(hard=38, comply=62), base, BOUNDS) is Walk.TOO_FEW


@pytest.mark.parametrize(
    ("ways", "other", "stock", "walk"),
    [
        (Ways(comply=95, unclear=5), STOCK, True, Walk.RETAINED),
        (Ways(hard=2, comply=68, unclear=30), STOCK, True, None),
        (Ways(hard=88, comply=2, unclear=10), STOCK, True, Walk.WALKED_BACK),
        (Ways(comply=100), Ways(hard=40, unclear=60), True, None),
        (Ways(comply=100), Ways(comply=90, unclear=10), False, Walk.RETAINED),
        (Ways(hard=20, comply=80), Ways(unclear=30, comply=70), False, None),
    ],
)
def test_what_is_unclear_decides_nothing(ways, other, stock, walk):
    assert walked(ways, other, BOUNDS, stock=stock) is walk
