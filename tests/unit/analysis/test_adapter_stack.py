"""What adapters on single experts make of a stack."""

import numpy as np
import pytest

from pfid.analysis.adapter_stack import Part, stacked

RNG = np.random.default_rng(11)
OUT, IN, RANK, MATRICES = 6, 4, 2, 3


def part(matrix, half=0, halves=1, scale=1.0):
    a = RNG.standard_normal((RANK, IN)).astype(np.float32)
    b = RNG.standard_normal((OUT, RANK)).astype(np.float32)
    return Part(a=a, b=b, scale=scale, matrix=matrix, half=half, halves=halves)


def product(one):
    return one.scale * (one.b.astype(np.float64) @ one.a.astype(np.float64))


@pytest.mark.parametrize("runs", [((0, 72),), ((3, 9), (30, 20)), ((71, 1),), ()])
@pytest.mark.parametrize("turned", [False, True])
def test_each_product_stands_in_its_matrix_as_it_is_or_turned(turned, runs):
    parts = [part(0), part(2, scale=0.5)]
    whole = np.zeros((MATRICES, IN, OUT) if turned else (MATRICES, OUT, IN))
    for one in parts:
        whole[one.matrix] = product(one).T if turned else product(one)
    (change,) = stacked(parts, whole.shape, runs)
    flat = whole.reshape(-1)
    wanted = np.concatenate([np.empty(0), *(flat[first : first + n] for first, n in runs)])
    assert change.added == pytest.approx(wanted)
    assert np.all(change.terms >= np.abs(change.added) - 1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_gate_and_up_stand_after_each_other_or_in_turn(turned):
    gate, up = part(1, 0, 2), part(1, 1, 2)
    shape = (MATRICES, IN, 2 * OUT) if turned else (MATRICES, 2 * OUT, IN)
    after, in_turn = stacked([gate, up], shape, ((0, 144),))
    for change, places in (
        (after, (slice(OUT), slice(OUT, None))),
        (in_turn, (slice(0, None, 2), slice(1, None, 2))),
    ):
        whole = np.zeros((MATRICES, 2 * OUT, IN))
        for one, place in zip((gate, up), places, strict=True):
            whole[1, place] = product(one)
        whole = np.swapaxes(whole, 1, 2) if turned else whole
        assert change.added == pytest.approx(whole.reshape(-1))


def test_up_alone_leaves_the_gate_as_it_is():
    (after, _) = stacked([part(0, 1, 2)], (1, 2 * OUT, IN), ((0, 48),))
    assert not after.added[: OUT * IN].any()
    assert after.added[OUT * IN :].all()


@pytest.mark.parametrize(
    ("parts", "shape"),
    [
        ([], (3, OUT, IN)),
        ([part(3)], (3, OUT, IN)),
        ([part(0)], (3, OUT, IN + 1)),
        ([part(0)], (OUT, IN)),
        ([part(0)], ()),
        ([part(0), part(1, 0, 2)], (3, OUT, IN)),
        ([Part(a=np.ones((0, 4)), b=np.ones((6, 0)), scale=1.0, matrix=0)], (3, 6, 4)),
        ([Part(a=np.ones((2, 4)), b=np.ones((6, 3)), scale=1.0, matrix=0)], (3, 6, 4)),
        ([Part(a=np.ones(4), b=np.ones(6), scale=1.0, matrix=0)], (3, 6, 4)),
    ],
    ids=range(9),
)
def test_what_does_not_fit_makes_nothing(parts, shape):
    assert list(stacked(parts, shape, ((0, 2),))) == []
