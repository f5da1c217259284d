"""What adapters on single experts make of the stacked tensor that their base keeps them in.

Files differ in how a matrix lies in its stack: as it is or turned, and with gate and up one after
the other or line by line in turn (gpt-oss). Every way that fits all of the factors is offered; the
numbers of what was merged tell which it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pfid.analysis.adapter_change import Change, Runs, segments
from pfid.analysis.weight_sample import Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """A low-rank product that is added to a part of a stack.

    Attributes:
        a: rank x in.
        b: out x rank.
        scale: of their product.
        matrix: which of the stack's.
        half: which part of that matrix, where several are one (gate and up).
        halves: how many parts that has.
    """

    a: Array
    b: Array
    scale: float
    matrix: int
    half: int = 0
    halves: int = 1

    def line(self, *, in_turn: bool) -> Array:
        """Along the stacked dimension: which output of the product each place is, -1 for none."""
        out = self.b.shape[0]
        places = np.full(out * self.halves, -1)
        own = slice(self.half, None, self.halves)
        own = own if in_turn else slice(self.half * out, (self.half + 1) * out)
        places[own] = np.arange(out)
        return places

    @property
    def is_product(self) -> bool:
        """Whether the factors can be multiplied."""
        return self.a.ndim == 2 == self.b.ndim and self.a.shape[0] == self.b.shape[1] > 0


def stacked(parts: Sequence[Part], shape: Sequence[int], runs: Runs) -> Iterator[Change]:
    """What all parts together add to the sampled elements, once for each way they fit the stack.

    Args:
        parts: of one stack.
        shape: of the stack: matrices x rows x columns.
        runs: sampled elements, as (first, count).
    """
    if len(shape) != 3 or not parts:
        return
    if not all(part.is_product and part.matrix < shape[0] for part in parts):
        return
    turns = (False, True) if any(part.halves > 1 for part in parts) else (False,)
    for turned, in_turn in product((False, True), turns):
        lines = [part.line(in_turn=in_turn) for part in parts]
        rows, columns = (shape[2], shape[1]) if turned else (shape[1], shape[2])
        fit = [(len(n), part.a.shape[1]) for n, part in zip(lines, parts, strict=True)]
        if set(fit) == {(rows, columns)}:
            yield _sum(parts, lines, (shape, runs), turned=turned)


def _sum(
    parts: Sequence[Part],
    lines: Sequence[Array],
    within: tuple[Sequence[int], Runs],
    *,
    turned: bool,
) -> Change:
    added, terms = [np.empty(0)], [np.empty(0)]
    of: dict[int, list[tuple[Part, Array]]] = {}
    for part, line in zip(parts, lines, strict=True):
        of.setdefault(part.matrix, []).append((part, line))
    for matrix, row, columns in segments(*within):
        width = columns.stop - columns.start
        come, size = np.zeros(width), np.zeros(width)
        for part, line in of.get(matrix, ()):
            own = line[columns] if turned else np.full(width, line[row])
            out = part.b[own].astype(np.float64) * (own >= 0)[:, None] * part.scale
            into = part.a[:, [row]] if turned else part.a[:, columns]
            products = out * into.T.astype(np.float64)
            come += products.sum(axis=1)
            size += np.abs(products).sum(axis=1)
        added.append(come)
        terms.append(size)
    return Change(np.concatenate(added), np.concatenate(terms))
