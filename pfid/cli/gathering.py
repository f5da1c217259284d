"""What `status`, `show` and `events` share: whom to ask, and what to say when nobody answers."""

import os
import time
from typing import Final

from pfid.bootstrap.sources import Gathered, gather
from pfid.cli.output import Exit, error, note
from pfid.cli.own_name import called
from pfid.policy.run_choice import RunChoiceError

RECENT_S: Final = 86_400.0
"""Without ``--all`` runs are shown that live or ended within the last day."""


def ended_after_s(*, everything: bool) -> float:
    """Wall time before which an end is history."""
    return 0.0 if everything else time.time() - RECENT_S


def gathered(*, everything: bool, said: set[str] | None = None) -> Gathered:
    """Ask everybody, and say on stderr who should have answered and did not.

    Args:
        everything: also what ended over a day ago.
        said: problems that were said before and are not said again; grows.
    """
    found = gather(
        os.environ, now_s=time.time(), ended_after_s=ended_after_s(everything=everything)
    )
    known = set() if said is None else said
    for problem in (*found.problems, *_unwritten(found)):
        if problem not in known:
            note(problem)
            known.add(problem)
    return found


def _unwritten(found: Gathered) -> list[str]:
    """Who watches on and cannot keep what it sees: nothing is amiss with the runs for that."""
    return [
        f"what {source.place} sees is not kept: {source.snapshot.health.store_problem}"
        for source in found.sources
        if source.snapshot.health.store_problem
    ]


def nobody(found: Gathered) -> None:
    """Say that there is nothing to look at, and what to do about it.

    Where there is a run whose engine is not up yet, :func:`gathered` has said so.
    """
    if not found.unanswered:
        note(
            "no daemon answers and this user has no runs; start one with "
            f"`{called()} run -- COMMAND`"
        )


def not_chosen(found: Gathered, wanted: str, problem: RunChoiceError) -> Exit:
    """Say why no run is meant, and return what to exit with.

    A run whose engine is not up yet is none of those that can be chosen;
    :func:`gathered` has said what is known of it.
    """
    if any(each.is_meant(wanted) for each in found.unanswered):
        return Exit.UNKNOWN
    error(str(problem))
    return Exit.USAGE
