"""What `status`, `show` and `events` share: whom to ask, and what to say when nobody answers."""

import os
import time
from typing import Final

from pfid.bootstrap.sources import Gathered, gather
from pfid.cli.output import Exit, note
from pfid.domain.outcome import Outcome

RECENT_S: Final = 86_400.0
"""Without ``--all`` runs are shown that live or ended within the last day."""
EXITS: Final = {
    Outcome.PASS: Exit.OK,
    Outcome.FAIL: Exit.FAILED,
    Outcome.UNKNOWN: Exit.UNKNOWN,
    Outcome.NOT_APPLICABLE: Exit.OK,
}


def ended_after_s(*, everything: bool) -> float:
    """Wall time before which an end is history."""
    return 0.0 if everything else time.time() - RECENT_S


def gathered(*, everything: bool) -> Gathered:
    """Ask everybody, and say on stderr who should have answered and did not."""
    found = gather(
        os.environ, now_s=time.time(), ended_after_s=ended_after_s(everything=everything)
    )
    for problem in found.problems:
        note(problem)
    return found


def nobody() -> None:
    """Say that there is nothing to look at, and what to do about it."""
    note("no daemon answers and this user has no runs; start one with `pfid run -- COMMAND`")
