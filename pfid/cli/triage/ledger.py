"""Which ledger of claims a triage goes by: the one that is named, or the project's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.analysis.levers import Negative
from pfid.config.claims import load_claims
from pfid.config.triage import TriageSpec

LEDGER: Final = "claims.toml"
"""As `pfid claims` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Negatives:
    """What was measured to be of no use.

    Attributes:
        file: the ledger that says so; None where there is none.
        claims: those of it.
    """

    file: Path | None = None
    claims: tuple[Negative, ...] = ()


def read_negatives(spec: TriageSpec, folder: Path) -> Negatives:
    """Read the ledger.

    Args:
        spec: may name one.
        folder: of the spec.

    Raises:
        ConfigError: if it cannot be used: nothing may be recommended then.
    """
    if spec.claims is not None:
        file: Path | None = folder / spec.claims.file
    else:
        file = next((one for one in _places(folder) if one.is_file()), None)
    if file is None:
        return Negatives()
    ledger = load_claims(file)
    return Negatives(
        file=file,
        claims=tuple(
            Negative(key=claim.key, text=claim.text)
            for claim in ledger.claims
            if claim.status == "negative"
        ),
    )


def _places(folder: Path) -> Iterator[Path]:
    """Where a project keeps it: beside the spec, in a folder above within its repository, here."""
    above = [folder, *folder.parents]
    root = next((n for n, one in enumerate(above) if (one / ".git").exists()), 0)
    for one in above[: root + 1]:
        yield one / LEDGER
    yield Path.cwd() / LEDGER
