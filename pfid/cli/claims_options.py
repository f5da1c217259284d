"""What the commands of ``pfid claims`` are told, and the claim that comes of it."""

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from pfid.bootstrap.claims.checking import artefact
from pfid.bootstrap.manifest_drift import sha256_of
from pfid.config.claims import DESCRIBED, DIGEST, Claim, Figure, Kind, Source, Status
from pfid.domain.errors import PfidError

_KINDS: Final[tuple[Kind, ...]] = ("measured", "derived", "consensus")
LEDGER: Final = click.option(
    "--ledger",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("claims.toml"),
    show_default=True,
    help="The ledger.",
)
JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class ArtefactError(PfidError):
    """An artefact cannot be read, so nothing can be bound to it."""


def day(_: click.Context, __: click.Parameter, value: str | None) -> dt.date | None:
    """Read ``2026-11-30``."""
    try:
        return None if value is None else dt.date.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not like 2026-11-30") from error


def figure(_: click.Context, __: click.Parameter, value: str | None) -> Figure | None:
    """Read ``4.3`` or ``9.49..14.07``."""
    if value is None:
        return None
    try:
        ends = [float(end) for end in value.split("..")]
    except ValueError:
        ends = []
    good = len(ends) in (1, 2) and all(math.isfinite(end) for end in ends)
    if not good or ends[0] > ends[-1]:
        raise click.BadParameter(f"{value!r} is not like 4.3 or 9.49..14.07")
    return ends if len(ends) > 1 else ends[0]


def words(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an option that says nothing."""
    for text in value if isinstance(value, tuple) else (value,):
        if text is not None and not text.strip():
            raise click.BadParameter(f"{parameter.opts[0]} needs words")
    return value


def _said(name: str, text: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(name, callback=words, metavar="TEXT", help=text, **more)


_OF_A_CLAIM: Final = (
    _said("--text", "The claim in words."),
    click.option(
        "--figure", callback=figure, metavar="N|LOW..HIGH", help="Its number, or a range."
    ),
    _said("--unit", "Of the figure: s, h, %, GiB, tok/s, x, or a word of your own."),
    _said("--measured", "It was measured: by what."),
    _said("--derived", "It was derived: how. Needs --expires."),
    _said("--consensus", "People or models agree on it: who. Needs --expires; measures nothing."),
    click.option(
        "--artefact",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="What it was read from; its digest is kept, and a change of it is a FAIL.",
    ),
    _said(
        "--describes",
        "The run or artefact that it is about. A file's digest is kept, and a change of it is a "
        "FAIL; FILE@sha256:DIGEST binds to an earlier one.",
    ),
    click.option(
        "--expires", callback=day, metavar="DATE", help="From when on it does not stand unmeasured."
    ),
    click.option("--negative", is_flag=True, help="A measured dead end: not to be chased again."),
    click.option("--date", callback=day, metavar="DATE", help="When it was made. [default: today]"),
)
FIELDS: Final = (
    "text",
    "figure",
    "unit",
    *_KINDS,
    "artefact",
    "describes",
    "expires",
    "negative",
    "date",
)


def of_a_claim(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that make a claim."""
    for option in reversed(_OF_A_CLAIM):
        command = option(command)
    return command


def claim_of(key: str, given: dict[str, Any], ledger: Path) -> Claim:
    """Make the claim that was told.

    Raises:
        click.UsageError: if it is not one.
        ArtefactError: if what it was read from cannot be read.
    """
    kinds = [kind for kind in _KINDS if given[kind] is not None]
    if given["text"] is None:
        raise click.UsageError("a claim needs --text")
    if len(kinds) != 1:
        raise click.UsageError("say how it is known: one of --measured, --derived, --consensus")
    kind = kinds[0]
    if kind != "measured" and given["negative"]:
        raise click.UsageError("only what was measured is a dead end: --negative with --measured")
    if kind != "measured" and given["expires"] is None:
        raise click.UsageError(f"--{kind} needs --expires: it is no measurement")
    if given["unit"] is not None and given["figure"] is None:
        raise click.UsageError("--unit is of a --figure")
    status: Status = "measured" if kind == "measured" else "derived"
    return Claim(
        key=key,
        text=given["text"],
        figure=given["figure"],
        unit=given["unit"] or "",
        date=given["date"] or today(),
        source=_source(kind, given[kind], given["artefact"], ledger),
        describes=_describes(given["describes"] or "", ledger),
        expires=given["expires"],
        status="negative" if given["negative"] else status,
    )


def today() -> dt.date:
    """The day in UTC, which is the same for everybody who looks."""
    return dt.datetime.now(dt.UTC).date()


def _describes(told: str, ledger: Path) -> str:
    """Bind it to the content where it names a file; else it is words."""
    if DIGEST in told and DESCRIBED.match(told) is None:
        raise click.UsageError("--describes is not like FILE@sha256:64 hexadecimal digits")
    path = Path(told)
    if not told or not path.is_file():
        return told
    name, digest = _bound(path, ledger)
    return f"{name}@sha256:{digest}"


def _source(kind: Kind, by: str, path: Path | None, ledger: Path) -> Source:
    if path is None:
        return Source(kind=kind, by=by)
    name, digest = _bound(path, ledger)
    return Source(kind=kind, by=by, file=name, sha256=digest)


def _bound(path: Path, ledger: Path) -> tuple[str, str]:
    """Its name from the ledger, and its digest.

    Raises:
        ArtefactError: if it cannot be read.
    """
    folder = ledger.absolute().parent
    place = path.absolute()
    name = str(place.relative_to(folder) if place.is_relative_to(folder) else place)
    digest = sha256_of(artefact(folder, name))
    if digest is None:
        raise ArtefactError(f"{path} cannot be read: nothing can be bound to it")
    return name, digest
