"""``pfid steps``: step times out of logs, by segment, with what a reader must be told beside."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import chain
from typing import Any, Final

import click

from pfid.cli.exit_codes import Exit
from pfid.cli.log_files import BLOCK_BYTES, LogFile, open_log
from pfid.cli.output import emit_json, error, table
from pfid.cli.steps_inside import inside_report
from pfid.cli.steps_report import COLUMNS, LogReport, note_row, report_of, segment_row
from pfid.domain.errors import why
from pfid.formats.dialects.json_lines import FIELDS
from pfid.formats.linear_regex import PatternError
from pfid.formats.log_stream import LogParser
from pfid.formats.steps_file import is_step_file

TIMES: Final = (
    "name the key that does (--keys step=KEY seconds=KEY, or ms, elapsed, stamp), or a pattern "
    "(--regex NAME=PATTERN with a group seconds, ms, elapsed or stamp)"
)
MEMORY_POINTS: Final = 100_000
"""A forensic reading may remember long bars, to know whole copies of them."""


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--regex",
    "regexes",
    multiple=True,
    metavar="NAME=PATTERN",
    help="One more dialect: a pattern with a group 'step' and one of seconds, ms, elapsed, stamp.",
)
@click.option(
    "--keys",
    multiple=True,
    metavar="FIELD=KEY",
    help="Keys of JSON lines, e.g. step=n seconds=dt (step, elapsed, seconds, ms, stamp, loss).",
)
def command(
    logs: tuple[str, ...], as_json: bool, regexes: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    """Read step times out of LOGs (plain or .gz, - for stdin).

    Segments first (attempt, writer, resume), then per segment the figures by nearest rank, the
    first step beside. A step file, written inside the training, is known by its first line.

    Exit codes: 0 fine, 2 usage, 3 a LOG cannot be read, or no step in any of them is timed.
    """
    dialects, presets = _pairs(regexes, "--regex"), _presets(keys)
    try:
        LogParser(regex_dialects=dialects)
    except PatternError as problem:
        raise click.BadParameter(str(problem), param_hint="--regex") from problem
    reports, unread = [], 0
    for name in logs:
        parser = LogParser(regex_dialects=dialects, jsonl_keys=presets, memory_points=MEMORY_POINTS)
        try:
            reports.append(_read(name, parser))
        except (OSError, EOFError) as problem:
            unread += 1
            error(f"{name}: cannot be read ({why(problem)}); is it the right path, and readable?")
    _print_json(reports) if as_json else _print_tables(reports)
    sys.exit(_status(reports, unread))


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs


def _presets(keys: tuple[str, ...]) -> dict[str, dict[str, str]]:
    pairs = _pairs(keys, "--keys")
    unknown = sorted(set(pairs) - FIELDS)
    if unknown or (pairs and "step" not in pairs):
        wrong = f"no such field: {', '.join(unknown)}" if unknown else "step=KEY is needed"
        raise click.BadParameter(
            f"{wrong}; fields: {', '.join(sorted(FIELDS))}", param_hint="--keys"
        )
    return {"keys": pairs} if pairs else {}


def _read(name: str, parser: LogParser) -> LogReport:
    with closing(open_log(name)) as log:
        blocks = _blocks(log)
        head = next(blocks, b"")
        whole = chain([head], blocks)
        if is_step_file(head):
            return inside_report(name, whole)
        return report_of(name, parser, whole)


def _blocks(log: LogFile) -> Iterator[bytes]:
    """Yield the file in blocks; long ones move a bar on a terminal's stderr."""
    bar = click.progressbar(
        length=log.size_bytes or 0,
        label=f"reading {log.name}",
        file=sys.stderr,
        hidden=not log.long or not sys.stderr.isatty(),
    )
    with bar:
        at = 0
        while block := log.read(BLOCK_BYTES):
            yield block
            bar.update(log.position - at)
            at = log.position


def _print_json(reports: list[LogReport]) -> None:
    segments: list[Any] = [segment for report in reports for segment in report.segments]
    notes = [
        {"log": report.name, "code": note.code, "line": note.line, "text": note.text}
        for report in reports
        for note in report.notes
    ]
    emit_json({"segments": segments, "notes": notes})


def _print_tables(reports: list[LogReport]) -> None:
    for report in reports:
        title = f"{report.name}: seconds per optimizer step"
        if report.segments:
            table(COLUMNS, [segment_row(segment) for segment in report.segments], title=title)
        if report.notes:
            table(("line", "note", ""), [note_row(note) for note in report.notes])


def _status(reports: list[LogReport], unread: int) -> Exit:
    found = [report for report in reports if report.segments]
    if not found and reports:
        error("no step found; pfid knows the lines of tqdm, transformers, Lightning, torchtitan,")
        error("Megatron, DeepSpeed, nanoGPT, Composer; JSON lines and log dicts that carry a step;")
        error("for others give --regex NAME=PATTERN or --keys step=KEY, and for the logs of runs")
        error("[dialects.regex] in the configuration")
    untimed = [report for report in found if not any(map(_timed, report.segments))]
    for report in untimed:
        error(f"{report.name}: steps are counted, and no line says how long one took; {TIMES}")
    return Exit.OK if len(found) > len(untimed) and not unread else Exit.UNKNOWN


def _timed(segment: Mapping[str, Any]) -> bool:
    return bool(segment["steps"]) or segment["first_step_seconds"] is not None
