"""A chunk of the loss head is the largest whose logits the budget holds."""

import pytest

from pfid.analysis.logit_chunks import size_chunks

GIB = 1 << 30


def test_a_wide_micro_batch_over_a_large_vocabulary_is_chunked():
    found = size_chunks(2 * 16_384, 262_144, "float32", 2 * GIB)
    assert found.bytes_per_token == 1 << 20
    assert found.peak_bytes == 32 * GIB
    assert (found.fits, found.chunk_tokens, found.chunks) == (False, 2_048, 16)


@pytest.mark.parametrize(
    ("budget", "fits", "tokens", "chunks"),
    [
        (1_000 * 400, True, 1_000, 1),
        (1_000 * 400 - 1, False, 896, 2),
        (127 * 400, False, 127, 8),
        (399, False, 0, None),
    ],
)
def test_either_side_of_what_fits(budget, fits, tokens, chunks):
    found = size_chunks(1_000, 100, "float32", budget)
    assert (found.fits, found.chunk_tokens, found.chunks) == (fits, tokens, chunks)


def test_without_a_budget_only_the_peak_is_told():
    found = size_chunks(10, 100, "bfloat16", None)
    assert (found.peak_bytes, found.fits, found.chunk_tokens, found.chunks) == (
        2_000,
        None,
        None,
        None,
    )
