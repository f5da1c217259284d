"""How old a proof gets: looked at now and then, and made again before it is too old."""

from typing import Final

LOOK_S: Final = 600.0
"""From one look at the ages of proofs to the next."""
LOOKS_LEFT: Final = 1.5
"""Looks that a proof outlasts at least when it is made again: the next one may come late."""
WORN: Final = 0.9
"""Of its allowed age; then a proof is made again."""


def renewed_after_s(age_s: float) -> float:
    """Return the age, seconds, from which a proof that is good for ``age_s`` is made again.

    Nobody who judges by ``age_s`` ever sees an older proof while proving succeeds.
    """
    return max(0.0, min(WORN * age_s, age_s - LOOKS_LEFT * LOOK_S))
