"""The ledger of claims: what was said with a figure, by what it is known, and what fell since."""

import datetime as dt
import math
import re
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, field

from pfid.config.toml_file import load_file, loads_table

MAX_BYTES: Final = 8 * 1024 * 1024
Said = Annotated[str, Meta(min_length=1, pattern=r"\S")]
"""Words; blanks are none."""
Figure = float | Annotated[list[float], Meta(min_length=2, max_length=2)]
"""A number, or both ends of a range."""
Kind = Literal["measured", "derived", "consensus"]
Status = Literal["measured", "derived", "superseded", "negative"]


DIGEST: Final = "@sha256:"
DESCRIBED: Final = re.compile(rf"\A(?P<file>.*\S.*){DIGEST}(?P<sha256>[0-9a-f]{{64}})\Z")


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Source(_Table, frozen=True, kw_only=True):
    """How a claim is known.

    Attributes:
        kind: what people or models agree on is ``consensus`` and never counts as measured.
        by: the instrument, derivation or people.
        file: artefact it was read from.
        sha256: of that artefact as it was then.
    """

    kind: Kind
    by: Said
    file: str = ""
    sha256: Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")] = ""


class Allowed(_Table, frozen=True, kw_only=True):
    """A place where a superseded figure may stand.

    Attributes:
        path: a file, or a pattern of files.
        reason: why; without one there is no exception.
    """

    path: Said
    reason: Said


class Claim(_Table, frozen=True, kw_only=True):
    """One claim.

    Attributes:
        key: what it is about; only one live claim has it.
        text: the claim in words.
        figure: its number, or both ends of a range; None for a claim without one.
        unit: of the figure.
        date: when it was made.
        source: how it is known.
        describes: the run or artefact that it is about, in words; ``FILE@sha256:DIGEST`` is held
            to, the file named from the folder of the ledger.
        expires: from when on a derived claim does not stand without a measurement.
        status: ``negative`` is a measured dead end: not to be chased again.
        superseded_by: key of the claim that took its place.
        falls: what fell with it.
        survives: what did not.
        allow: where its figure may still stand.
    """

    key: Said
    text: Said
    figure: Figure | None = None
    unit: str = ""
    date: dt.date
    source: Source
    describes: str = ""
    expires: dt.date | None = None
    status: Status
    superseded_by: str = ""
    falls: list[str] = field(default_factory=list)
    survives: list[str] = field(default_factory=list)
    allow: list[Allowed] = field(default_factory=list)

    @property
    def live(self) -> bool:
        """Whether it still stands."""
        return self.status != "superseded"

    @property
    def described(self) -> tuple[str, str] | None:
        """File and digest of the artefact that it is about; None where it names no digest."""
        found = DESCRIBED.match(self.describes)
        return (found["file"], found["sha256"]) if found is not None else None

    @property
    def ends(self) -> tuple[float, ...]:
        """Its figure: none, one number, or both ends."""
        if self.figure is None:
            return ()
        return tuple(self.figure) if isinstance(self.figure, list) else (self.figure,)


class Ledger(_Table, frozen=True, kw_only=True):
    """All claims, the superseded ones among them."""

    claims: list[Claim] = field(default_factory=list)

    def of(self, key: str) -> list[Claim]:
        """Every claim of one key, in the order of the file."""
        return [claim for claim in self.claims if claim.key == key]


def load_claims(path: Path) -> Ledger:
    """Read a ledger.

    Raises:
        ConfigError: with every problem found, or saying why it cannot be read.
    """
    return load_file(path, loads_claims, "ledger", max_bytes=MAX_BYTES, name=path.name)


def loads_claims(text: str) -> Ledger:
    """Read the text of a ledger.

    Raises:
        ConfigError: with every problem found.
    """
    return loads_table(Ledger, text, _contradictions)


def _contradictions(ledger: Ledger) -> list[str]:
    """What no reader could make sense of; what a judge weighs is not here."""
    found = []
    for at, claim in enumerate(ledger.claims):
        where = f"claims[{at}] {claim.key}"
        if claim.status == "superseded" and not claim.superseded_by and not claim.falls:
            found.append(f"{where}: superseded by what? name superseded_by, or what falls")
        if claim.status != "superseded" and claim.superseded_by:
            found.append(f"{where}: names superseded_by and has status {claim.status}")
        if DIGEST in claim.describes and claim.described is None:
            found.append(f"{where}: describes is not like FILE@sha256:64 hexadecimal digits")
        if not all(math.isfinite(end) for end in claim.ends):
            found.append(f"{where}: the figure is not a number that can be looked for")
        if claim.ends and claim.ends[0] > claim.ends[-1]:
            found.append(f"{where}: the range ends before it begins")
    return found
