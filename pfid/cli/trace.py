"""``pfid trace``: where device time goes, out of profiler traces."""

import re
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from pfid.analysis.flag_taken import FLAGS
from pfid.analysis.kernel_launches import Expectation
from pfid.cli.exit_codes import Exit
from pfid.cli.finite import FiniteRange, WholeRange
from pfid.cli.nd_options import counted_from, nd_options
from pfid.cli.output import emit_json, error
from pfid.cli.trace_accounting import StepWork
from pfid.cli.trace_averages import UNSURE, report_of_averages
from pfid.cli.trace_diff import diff_report, print_diff
from pfid.cli.trace_reading import ReadTrace, TraceError, read_file
from pfid.cli.trace_report import Asked, report_of
from pfid.cli.trace_tables import print_ranks, print_report
from pfid.domain.outcome import Outcome
from pfid.formats.kernel_names.capability import parse_capability
from pfid.formats.linear_regex import PatternError, compile_bytes

_EXPECT: Final = re.compile(r"(.+)=(\d{1,12})( per step)?", re.DOTALL)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class _ReadByDefault(click.Group):
    """``pfid trace FILE`` is ``pfid trace read FILE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named or not args else ["read", *args])


@click.group(cls=_ReadByDefault)
def command() -> None:
    """Say where device time goes: FILE... are Kineto traces (.json, .json.gz, - for stdin).

    ``pfid trace FILE...`` is short for ``pfid trace read FILE...``.
    """


@command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@JSON
@click.option("--capability", metavar="X.Y", help="The device's, where the trace tells none.")
@click.option(
    "--wall", type=FiniteRange(min=0, min_open=True), help="Seconds of wall clock traced."
)
@click.option("--by", type=click.Choice(["step"]), help="Print the table by ProfilerStep# too.")
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="'PATTERN=N per step'",
    help="Launches of kernels that a pattern finds, in each step or (PATTERN=N) in all.",
)
@click.option(
    "--run",
    metavar="RUN",
    help="The run that was traced, by id, name or provenance.json: did its flags take? "
    "[default: the provenance.json beside the trace, if there is one]",
)
@click.option(
    "--flag",
    "flags",
    multiple=True,
    type=click.Choice(FLAGS),
    help="A flag that must be told to have taken; without it those of the run are judged and one "
    "that cannot be told is a note.",
)
@nd_options
@click.option(
    "--tokens", type=FiniteRange(min=1), metavar="N", help="Tokens of a step here, padding too."
)
@click.option("--width", type=WholeRange(min=1), metavar="N", help="Tokens of a row of it.")
@click.option(
    "--steps", type=WholeRange(min=1), metavar="N", help="Steps traced, where no rows tell."
)
def read(files: tuple[str, ...], as_json: bool, by: str | None, **given: Any) -> None:
    """Print kernels and classes of device time, one FILE a rank; tables of key_averages too.

    A text with several tables has a report for each.

    Exit codes: 0 fine, 1 an --expect is not met or a flag did not take, 2 usage, 3 a file has no
    device rows, cannot be read or not whole, a table's rows are not all kernels, or an --expect or
    --flag cannot be judged.
    """
    wall: float | None = given["wall"]
    asked = Asked(
        capability=_capability(given["capability"]),
        wall_ns=None if wall is None else max(1, round(wall * 1e9)),
        expectations=tuple(_expectation(text) for text in given["expected"]),
        run=given["run"],
        flags=given["flags"] or FLAGS,
        work=_work(given),
    )
    reports, unread = [], 0
    for name in files:
        try:
            reports += _reports(name, asked)
        except TraceError as problem:
            unread += 1
            error(str(problem))
    if as_json:
        emit_json(reports[0] if len(files) == len(reports) == 1 else {"traces": reports})
    else:
        for report in reports:
            print_report(report, by_step=by == "step")
        if len(reports) > 1:
            print_ranks(reports)
    sys.exit(_status(reports, unread, given["flags"]))


@command.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@JSON
def diff(first: str, second: str, as_json: bool) -> None:
    """Compare device time and launches of two traces, per step where both have steps.

    Exit codes: 0 fine, 2 usage, 3 a file cannot be read or not whole, or has no device rows.
    """
    read_both = [_trace(name) for name in (first, second)]
    report = diff_report(*read_both)
    emit_json(report) if as_json else print_diff(report)
    whole = all(one.table.used and not one.unread for one in read_both)
    sys.exit(Exit.OK if whole else Exit.UNKNOWN)


def _work(given: dict[str, Any]) -> StepWork:
    return StepWork(
        counted=counted_from(given),
        tokens=given["tokens"],
        width=given["width"],
        steps=given["steps"],
    )


def _trace(name: str) -> ReadTrace:
    found = read_file(name)
    if not isinstance(found, ReadTrace):
        raise TraceError(f"{name}: a table of averages cannot be compared; give the trace")
    return found


def _reports(name: str, asked: Asked) -> list[dict[str, Any]]:
    """What a trace says, or each table of a text."""
    found = read_file(name)
    if isinstance(found, ReadTrace):
        return [report_of(found, asked)]
    return [report_of_averages(table, asked) for table in (found, *found.others)]


def _capability(text: str | None) -> int | None:
    if text is None:
        return None
    capability = parse_capability(text)
    if capability is None:
        raise click.BadParameter(f"{text!r} is not like 8.0", param_hint="--capability")
    return capability


def _expectation(text: str) -> Expectation:
    match = _EXPECT.fullmatch(text)
    if match is None:
        raise click.BadParameter(
            f"{text!r} is not PATTERN=N or 'PATTERN=N per step'", param_hint="--expect"
        )
    try:
        pattern = compile_bytes(match[1].encode())
    except PatternError as problem:
        raise click.BadParameter(str(problem), param_hint="--expect") from problem
    return Expectation(
        pattern=match[1],
        matches=lambda name: pattern.search(name.encode("utf-8", "replace")) is not None,
        calls=int(match[2]),
        per_step=match[3] is not None,
    )


def _status(reports: list[dict[str, Any]], unread: int, flags: Sequence[str]) -> Exit:
    outcomes = {one["outcome"] for report in reports for one in report["expectations"]}
    judged = [flag for report in reports for flag in _flags(report)]
    outcomes |= {f["outcome"] for f in judged if flags or f["outcome"] == Outcome.FAIL.value}
    if Outcome.FAIL.value in outcomes:
        return Exit.FAILED
    blind = unread or any(not report["kernels"] for report in reports)
    blind = blind or any(note["code"] in UNSURE for report in reports for note in report["notes"])
    blind = blind or any(_in_part(report["reading"]) for report in reports)
    blind = blind or any(not _flags(report) for report in reports if flags)
    return Exit.UNKNOWN if blind or Outcome.UNKNOWN.value in outcomes else Exit.OK


def _in_part(reading: dict[str, Any] | None) -> bool:
    """Whether a trace was not read whole; a table has notes of its own."""
    parts = ("cut", "damaged", "rejected", "behind")
    return reading is not None and any(reading[part] for part in parts)


def _flags(report: dict[str, Any]) -> list[dict[str, Any]]:
    bound = (report["launches"] or {}).get("provenance")
    return bound["flags"] if bound else []
