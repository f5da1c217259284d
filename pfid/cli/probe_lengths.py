"""``pfid probe lengths``: what padding costs a data set, and what bucketing would win."""

import re
from pathlib import Path
from typing import Any, Final

import click

from pfid.adapters.length_files import load_records, load_sources
from pfid.analysis.length_distribution import distribution_of
from pfid.analysis.length_orders import Order, bucket_sizes, compare
from pfid.analysis.length_records import Records
from pfid.analysis.length_values import Fields
from pfid.analysis.logit_chunks import DTYPE_BYTES, LogitChunks, size_chunks
from pfid.analysis.scaling import ScalingFit, Timing, fit, of_terms
from pfid.cli.finite import WholeRange
from pfid.cli.lengths_report import Lengths, lengths_json, print_lengths
from pfid.cli.output import emit_json, note
from pfid.cli.probe_options import FIELD, MAX_LENGTH
from pfid.formats.timing_points import TimingsError, parse_file

_TERMS: Final = re.compile(r"\s*([^,\s]+)\s*,\s*([^,\s]+)\s*")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """A size: ``2GiB``, ``512M`` or bytes."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise click.BadParameter(f"{value!r} is no size like 2GiB")
    return size


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--batch", type=WholeRange(min=1), required=True, metavar="N", help="Records a micro-batch."
)
@click.option(
    "--accumulation",
    type=WholeRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Micro-batches a step.",
)
@FIELD
@MAX_LENGTH
@click.option("--sources", metavar="FILE", help="Source of each record, where FILE names none.")
@click.option("--source-field", metavar="NAME", help="Field or column of the sources.")
@click.option("--sweep", is_flag=True, help="Try buckets from one micro-batch to everything.")
@click.option(
    "--now",
    type=click.Choice([Order.SHUFFLED.value, Order.AS_IS.value]),
    default=Order.SHUFFLED.value,
    show_default=True,
    help="How batches are formed today.",
)
@click.option(
    "--fit",
    "fit_text",
    metavar="A,B|FILE",
    help="Terms of the step's scaling fit, or what pfid probe fit or scaling --json printed.",
)
@click.option("--vocabulary", type=WholeRange(min=1), metavar="N", help="Columns of the loss head.")
@click.option(
    "--dtype",
    type=click.Choice(sorted(DTYPE_BYTES)),
    default="float32",
    show_default=True,
    help="Of the logits, as the loss takes them.",
)
@click.option(
    "--budget",
    callback=_bytes,
    metavar="SIZE",
    help="What one copy of the logits may take, as 2GiB.",
)
@click.option(
    "--seed",
    type=WholeRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Of shuffles.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: str, as_json: bool, **options: Any) -> None:
    """Say what padding costs a data set's micro-batches, and what bucketing would win.

    FILE holds the tokens of each record: text, JSON, JSON lines, .npy, parquet or Arrow; - is
    standard input. Where its records name their sources, or --sources does, diversity is shown.

    Exit codes: 0 fine, 2 usage, 3 a file cannot be read.
    """
    chosen = _fit(options["fit_text"])
    if options["budget"] is not None and options["vocabulary"] is None:
        raise click.UsageError("--budget needs --vocabulary")
    records = _records(file, options)
    batch = options["batch"]
    spread = distribution_of(records.lengths)
    found = Lengths(
        distribution=spread,
        batch=batch,
        accumulation=options["accumulation"],
        orders=tuple(
            compare(
                records,
                batch,
                options["accumulation"],
                buckets=bucket_sizes(len(records), batch, sweep=options["sweep"]),
                seed=options["seed"],
            )
        ),
        now=Order(options["now"]),
        fit=chosen,
        chunks=_chunks(min(batch, spread.n) * spread.longest, options),
    )
    if chosen is not None and not chosen.closes:
        note("the fit does not close, so no step time is predicted from it")
    emit_json(lengths_json(found)) if as_json else print_lengths(found)


def _records(file: str, options: dict[str, Any]) -> Records:
    if file == options["sources"] == "-":
        raise click.UsageError("only one of FILE and --sources can be standard input")
    fields = Fields(length=options["field"], source=options["source_field"])
    beside = options["sources"]
    if beside is None:
        return load_records(file, fields, longest=options["max_length"])
    named = load_sources(beside, fields)
    only = Fields(length=fields.length)
    return load_records(file, only, longest=options["max_length"], sources=named)


def _chunks(widest_tokens: int, options: dict[str, Any]) -> LogitChunks | None:
    if options["vocabulary"] is None:
        return None
    return size_chunks(widest_tokens, options["vocabulary"], options["dtype"], options["budget"])


def _fit(text: str | None) -> ScalingFit | None:
    """A fit by its two terms, or by the timings in what pfid printed."""
    if text is None:
        return None
    terms = _TERMS.fullmatch(text)
    if terms is not None and not Path(text).exists():
        try:
            return of_terms(float(terms[1]), float(terms[2]))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--fit") from error
    try:
        points = parse_file(Path(text).read_bytes())
    except OSError as error:
        raise TimingsError(f"{text}: cannot be read: {error.strerror}") from error
    except TimingsError as error:
        raise TimingsError(f"{text}: {error}") from error
    return fit([Timing(width=p.width, seconds=p.seconds) for p in points])
