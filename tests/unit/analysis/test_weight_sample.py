"""Samples hang on the shape alone, lie within the tensor, and round as torch does."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.weight_sample import BLOCK, BLOCKS, blocks, by_part, is_zero, numbers, rounded

SHAPES = st.lists(st.integers(0, 5000), min_size=0, max_size=4).map(tuple)


@given(SHAPES)
def test_runs_lie_within_the_tensor_apart_and_ascending(shape):
    runs = blocks(shape)
    ends = [0]
    for first, count in runs:
        assert count > 0
        assert first >= ends[-1]
        ends.append(first + count)
    assert ends[-1] <= prod(shape)
    assert bool(runs) == bool(prod(shape))


@given(st.integers(1, 1 << 40))
def test_both_ends_are_looked_at_and_little_between(size):
    runs = blocks((size,))
    assert runs[0][0] == 0
    assert sum(runs[-1]) == size
    assert sum(count for _, count in runs) == min(size, BLOCK * BLOCKS)


def test_every_one_of_stacked_matrices_is_looked_at():
    shape = (128, 64, 96)
    assert set(by_part(shape, blocks(shape))) == set(range(128))


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["BF16", "F16"])
def test_rounding_is_torchs_own_bit_by_bit(dtype):
    import torch

    bits = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint64)
    edges = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00000001, 0x3F808000, 0x3F818000]
    raw = np.concatenate([bits, np.array(edges, np.uint64)]).astype(np.uint32)
    values = raw.view(np.float32)
    told = torch.from_numpy(values.copy())
    cast = told.to({"BF16": torch.bfloat16, "F16": torch.float16}[dtype])
    theirs = cast.view(torch.int16).numpy().view(np.uint16)
    ours = np.frombuffer(rounded(values, dtype), np.uint16)
    known = ~np.isnan(values)
    assert np.array_equal(ours[known], theirs[known])
    back = cast.to(torch.float32).numpy()
    assert np.array_equal(numbers(dtype, ours.tobytes())[known], back[known])


def test_every_nan_is_one_nan():
    nans = np.array([0x7FC00001, 0xFFC12345, 0x7F800001], np.uint32).view(np.float32)
    for dtype in ("BF16", "F16"):
        assert len(set(np.frombuffer(rounded(nans, dtype), np.uint16))) == 1


def test_zero_of_either_sign_is_zero():
    assert is_zero("F32", np.array([0.0, -0.0], np.float32).tobytes())
    assert not is_zero("F32", np.array([0.0, 1e-45], np.float32).tobytes())
    assert is_zero("U8", bytes(4))
    assert not is_zero("U8", b"\0\1")


def test_a_run_through_several_matrices_is_told_by_matrix():
    found = by_part((3, 2, 2), ((2, 4), (9, 3)))
    assert {part: list(at) for part, at in found.items()} == {0: [0, 1], 1: [2, 3], 2: [4, 5, 6]}
    assert list(by_part((4, 4), ((2, 4),))) == [0]
    assert by_part((0, 4, 4), ()) == {}
