"""What an adapter makes of a tensor by other parts than a product of two factors.

Source of the arithmetic: PEFT's modules saved whole, its biases beside a product, its trainable
tokens and the learned lengths of DoRA.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pfid.analysis.adapter_change import Change, Runs, rows_of
from pfid.analysis.weight_sample import Array


def replaced(before: Array, new: Array) -> Change:
    """A tensor that was trained and saved whole stands in the place of the base's."""
    return Change(new.astype(np.float64) - before, np.zeros(before.size))


def beside(added: Array, scale: float, runs: Runs) -> Change:
    """A bias beside the second factor is multiplied as the product is."""
    flat = added.astype(np.float64).reshape(-1) * scale
    chosen = np.concatenate([np.empty(0), *(flat[first : first + n] for first, n in runs)])
    return Change(chosen, np.abs(chosen))


def rows_replaced(
    before: Array, new: Array, rows: Sequence[int], shape: Sequence[int], runs: Runs
) -> Change:
    """Rows of an embedding that were trained alone stand in the place of the base's.

    Args:
        before: the sampled elements of the base.
        new: the rows, in the order of ``rows``.
        rows: which they are.
        shape: of the embedding.
        runs: sampled elements, as (first, count).
    """
    at = {row: n for n, row in enumerate(rows)}
    added = np.zeros(before.size)
    elements = (n for first, count in runs for n in range(first, first + count))
    for place, element in enumerate(elements):
        row, column = divmod(element, shape[1])
        if row in at:
            added[place] = float(new[at[row], column]) - before[place]
    return Change(added, np.zeros(before.size))


def length_shares(
    lengths: Array, rows: Mapping[int, Array], factors: tuple[Array, Array], scale: float
) -> Mapping[int, float]:
    """Of rows of a linear layer, the learned length as a share of that of base and product.

    Args:
        lengths: learned, one a row.
        rows: of the base, whole.
        factors: rank x in and out x rank.
        scale: of the product.
    """
    a, b = factors
    shares = {}
    for row, values in rows.items():
        whole = values + scale * (b[row].astype(np.float64) @ a)
        shares[row] = float(lengths[row]) / (float(np.linalg.norm(whole)) or 1.0)
    return shares


def by_length(
    change: Change, before: Array, shares: Mapping[int, float], shape: Sequence[int], runs: Runs
) -> Change:
    """DoRA: each row of base and product together is brought to a length that was learned.

    Args:
        change: by the factors alone.
        before: the sampled elements of the base.
        shares: see :func:`length_shares`.
        shape: of the tensor.
        runs: sampled elements, as (first, count).
    """
    each = np.array([shares[row] for row in rows_of(shape, runs)])
    return Change(each * (before + change.added) - before, np.abs(each) * change.terms)
