"""What a command prints: one JSON object or tables on stdout, everything else on stderr.

Text that came from a run (names, users, log lines) is untrusted. JSON leaves as pure ASCII, so
that neither a terminal nor a pipe with another encoding can be hurt by it; tables and notes are
sanitised by :func:`pfid.formats.untrusted.printable`, words among them folded at a terminal's edge.
"""

import json
import math
import sys
from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec

from pfid.cli.exit_codes import Exit
from pfid.cli.prose import folded, say
from pfid.cli.table import Cell, facts, heading, table

SCHEMA: Final = 1
_OURS: Final = "pfid: "

__all__ = [
    "SCHEMA",
    "Cell",
    "Exit",
    "emit_json",
    "emit_json_line",
    "error",
    "facts",
    "heading",
    "note",
    "say",
    "table",
]


def emit_json(obj: Mapping[str, Any]) -> None:
    """Print one object with ``"schema": 1`` in front and nothing else.

    Takes dataclasses, structs and enums as they are. NaN and infinity become null: a number that
    is not one has no place in JSON.
    """
    click.echo(json.dumps(_versioned(obj), indent=2, allow_nan=False))


def emit_json_line(obj: Mapping[str, Any]) -> None:
    """Print one object on one line, for commands that follow something (JSON lines)."""
    click.echo(json.dumps(_versioned(obj), separators=(",", ":"), allow_nan=False))


def note(text: str) -> None:
    """Say something in passing, on stderr."""
    click.echo(folded(text, sys.stderr), err=True)


def error(text: str) -> None:
    """Say what went wrong, on stderr; one line of ``text`` a line of output."""
    for line in text.splitlines() or [""]:
        click.echo(folded(line, sys.stderr, begin=_OURS), err=True)


def _versioned(obj: Mapping[str, Any]) -> Any:
    return _finite({"schema": SCHEMA, **msgspec.to_builtins(dict(obj), str_keys=True)})


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
