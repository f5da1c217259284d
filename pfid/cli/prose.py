"""Words for people: folded between words on a terminal, whole into a pipe, and sanitised."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, Final

import click

from pfid.formats.untrusted import printable

LINE_MAX_CHARS: Final = 2_000
LEAST_COLUMNS: Final = 20
"""On less than this a terminal folds better than we do."""


def say(text: str = "", *, begin: str = "", indent: str | None = None) -> None:
    """Print one paragraph on stdout.

    Args:
        text: of it; line breaks in it are escaped like everything that moves a cursor.
        begin: stands before its first line.
        indent: before its other lines; as wide as ``begin`` when left out.
    """
    click.echo(folded(text, sys.stdout, begin=begin, indent=indent))


def fits(lines: Iterable[str], stream: Any) -> bool:
    """Whether ``stream`` takes lines as they are."""
    columns = shutil.get_terminal_size().columns
    return not stream.isatty() or all(len(line) <= columns for line in lines)


def folded(text: str, stream: Any, *, begin: str = "", indent: str | None = None) -> str:
    """The paragraph as ``stream`` wants it; words that are too long (paths) stay whole."""
    safe = begin + printable(text, LINE_MAX_CHARS)
    columns = shutil.get_terminal_size().columns
    if not stream.isatty() or columns < LEAST_COLUMNS or len(safe) <= columns:
        return safe
    return textwrap.fill(
        safe,
        columns,
        subsequent_indent=" " * len(begin) if indent is None else indent,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
