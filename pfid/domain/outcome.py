"""The four answers a check can give, and how several combine."""

from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    """What a check says. "Could not look" is UNKNOWN; "does not exist here" is NOT_APPLICABLE."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"

    def __bool__(self) -> bool:
        """Refuse truth testing: four answers do not fit into two.

        Raises:
            TypeError: always; compare with ``is``.
        """
        raise TypeError("an Outcome has four values; compare it with `is`")


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Combine: FAIL over UNKNOWN over PASS; nothing at all is UNKNOWN.

    NOT_APPLICABLE neither helps nor harms; if nothing else was said, nothing was looked at and
    the answer is NOT_APPLICABLE.
    """
    seen = set(outcomes)
    for outcome in (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS, Outcome.NOT_APPLICABLE):
        if outcome in seen:
            return outcome
    return Outcome.UNKNOWN
