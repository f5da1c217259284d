"""What lengths cost, as one object and as the playbook's table (DESIGN, section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.length_distribution import LengthDistribution
from pfid.analysis.length_orders import Order, OrderCost
from pfid.analysis.logit_chunks import LogitChunks
from pfid.analysis.scaling import ScalingFit
from pfid.analysis.shape_weighting import weigh
from pfid.cli.fit_report import share_text
from pfid.cli.output import Cell, facts, table

WORTH_WASTE: Final = 0.02
"""Padding that bucketing must save before it is recommended."""
SAMPLER: Final = "pfid.trainer.PairedBucketSampler"
NAMES: Final = {Order.AS_IS: "as is", Order.SHUFFLED: "shuffled", Order.SORTED: "full sort"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Everything that was worked out.

    Attributes:
        distribution: of the records.
        batch: records a micro-batch.
        accumulation: micro-batches a step.
        orders: in the order of the table.
        now: how the trainer forms its batches today.
        fit: of the step's time, None without one.
        chunks: of the loss head, None without a vocabulary.
    """

    distribution: LengthDistribution
    batch: int
    accumulation: int
    orders: tuple[OrderCost, ...]
    now: Order
    fit: ScalingFit | None
    chunks: LogitChunks | None

    def seconds(self, one: OrderCost) -> float | None:
        """Predicted mean seconds of an optimizer step in this order."""
        weighted = None if self.fit is None else weigh(self.fit, one.cost)
        return None if weighted is None else weighted.expected_s * self.accumulation

    def of(self, order: Order) -> OrderCost:
        """The cost of an order that there is one of."""
        return next(one for one in self.orders if one.order is order)


def lengths_json(found: Lengths) -> dict[str, Any]:
    """Return everything that can be told."""
    spread = found.distribution
    return {
        "n": spread.n,
        "min": spread.shortest,
        "max": spread.longest,
        "at_max": spread.at_longest,
        "percentiles": {str(p): value for p, value in spread.percentiles.items()},
        "mean": spread.mean,
        "mean_of_squares": spread.mean_of_squares,
        "ratio": spread.ratio,
        "batch": found.batch,
        "accumulation": found.accumulation,
        "now": found.now.value,
        "orders": [_order_json(found, one) for one in found.orders],
        "logits": found.chunks,
        "recommendation": recommend(found),
    }


def recommend(found: Lengths) -> dict[str, Any]:
    """What to do, and what it is worth."""
    now, best = found.of(found.now), found.of(Order.SORTED)
    before, after = found.seconds(now), found.seconds(best)
    saved = _tokens_saved(now, best)
    worth = found.batch > 1 and saved >= WORTH_WASTE
    gain = None if before is None or after is None else 1 - after / before
    return {
        "change": worth,
        "order": best.order.value if worth else found.now.value,
        "bucket": best.bucket if worth else None,
        "tokens_saved": saved,
        "step_seconds_now": before,
        "step_seconds_then": after,
        "predicted_gain": gain,
        "text": _advice(found, now, best, gain) if worth else _keep(found),
    }


def print_lengths(found: Lengths) -> None:
    """Print it for people."""
    advice = recommend(found)
    facts(_facts(found))
    table(
        (
            "bucket",
            "padding waste",
            "zero-pad micro-batches",
            "roots/window",
            "full-width",
            "E[w]",
            "E[w^2]/E[w]^2",
            "step s",
        ),
        [_row(found, one) for one in found.orders],
    )
    facts([("recommendation", Cell(advice["text"], "bold"))])


def _tokens_saved(now: OrderCost, best: OrderCost) -> float:
    """Share of the positions computed now that are not computed then; the tokens are the same."""
    return 1 - (1 - now.cost.waste) / (1 - best.cost.waste)


def _advice(found: Lengths, now: OrderCost, best: OrderCost, gain: float | None) -> str:
    seconds = "" if gain is None else f", and {gain:.1%} of the predicted step time"
    roots = ""
    if best.roots is not None and now.roots is not None:
        roots = f"; sources a window {now.roots:.2f} -> {best.roots:.2f}"
    return (
        f"bucket to pair, shuffle to mix: {SAMPLER}(lengths, {found.batch}) leaves "
        f"{best.cost.waste:.1%} padding of {now.cost.waste:.1%} and saves "
        f"{_tokens_saved(now, best):.1%} of the positions{seconds}; full-width micro-batches "
        f"{now.cost.worst_batches} -> {best.cost.worst_batches}, peak memory the same{roots}"
    )


def _keep(found: Lengths) -> str:
    if found.batch == 1:
        return "a micro-batch of one record has no padding: there is nothing to bucket"
    waste = found.of(found.now).cost.waste
    return f"nothing to win: padding is {waste:.1%} of the positions"


def _facts(found: Lengths) -> list[tuple[str, str | Cell]]:
    spread, chunks = found.distribution, found.chunks
    ranks = ", ".join(f"p{p} {value:,}" for p, value in spread.percentiles.items())
    rows: list[tuple[str, str | Cell]] = [
        ("records", f"{spread.n:,}"),
        ("tokens", f"min {spread.shortest:,}, {ranks}, max {spread.longest:,}"),
        ("E[n]", f"{spread.mean:,.1f}"),
        ("E[n^2]", f"{spread.mean_of_squares:,.0f}, {spread.ratio:.2f} times E[n]^2"),
        ("micro-batch", f"{found.batch} records, {found.accumulation} a step"),
    ]
    if spread.at_longest > 1:
        rows.append(("as long as the longest", f"{spread.at_longest:,} records"))
    shuffle = found.of(Order.SHUFFLED)
    if shuffle.waste_spread is not None:
        rows.append(
            ("shuffles", f"{shuffle.seeds}, waste differs by {shuffle.waste_spread:.2%} (sd)")
        )
    if chunks is not None:
        rows.append(("logits of the widest", _chunk_text(chunks)))
    return rows


def _chunk_text(chunks: LogitChunks) -> str:
    size = f"{gib(chunks.peak_bytes)} in one copy"
    if chunks.fits is None:
        return size
    if chunks.fits:
        return f"{size}: within the budget, no chunks needed"
    if not chunks.chunk_tokens:
        return f"{size}: not even one token's logits ({chunks.bytes_per_token:,} bytes) fit"
    return f"{size}: over the budget; chunks of {chunks.chunk_tokens:,} tokens, {chunks.chunks}"


def gib(size_bytes: int) -> str:
    """A size in the unit that fits it."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= size:
            return f"{size_bytes / size:.2f} {unit}"
    return f"{size_bytes} bytes"


def _row(found: Lengths, one: OrderCost) -> Sequence[str | Cell]:
    seconds = found.seconds(one)
    name = NAMES.get(one.order, "")
    bucket = f"{one.bucket:,}" if one.bucket is not None else ""
    label = f"{bucket} ({name})" if bucket and name else bucket or name
    if one.order is found.now:
        label += " (now)"
    return (
        label,
        share_text(one.cost.waste),
        share_text(one.cost.zero_pad_share),
        "-" if one.roots is None else f"{one.roots:.2f}",
        f"{one.cost.worst_batches:,}",
        f"{one.cost.mean_width:,.1f}",
        f"{one.cost.square_ratio:.2f}",
        "-" if seconds is None else f"{seconds:.4g}",
    )


def _order_json(found: Lengths, one: OrderCost) -> dict[str, Any]:
    return {
        "order": one.order.value,
        "bucket": one.bucket,
        "padding_waste": one.cost.waste,
        "padding_waste_sd": one.waste_spread,
        "zero_pad_share": one.cost.zero_pad_share,
        "roots_per_window": one.roots,
        "worst_batches": one.cost.worst_batches,
        "batches": one.cost.batches,
        "mean_width": one.cost.mean_width,
        "mean_square_width": one.cost.mean_square_width,
        "square_ratio": one.cost.square_ratio,
        "max_width": one.cost.max_width,
        "seeds": one.seeds,
        "step_seconds": found.seconds(one),
    }
