"""A run of which no step could be read: what that is called, and what its owner can do."""

from typing import Final

from pfid.domain.snapshot import RunView
from pfid.domain.step import Phase

PATIENCE_S: Final = 60.0
"""A start takes its time, and says nothing."""
UNREAD: Final = (
    "no step of it was read so far; if its log tells steps, `pfid steps LOG` says what is read of "
    "them, and a pattern of your own goes under [dialects.regex] of the configuration"
)


def phase_known(view: RunView) -> bool:
    """Before its first step a run is only taken to compile."""
    return view.steps_total > 0 or view.phase is not Phase.COMPILE


def unread(view: RunView, now_s: float) -> bool:
    """Whether it has had time enough to show a step, and showed none."""
    until_s = now_s if view.end is None else view.end.at_s
    return view.steps_total == 0 and until_s - view.run.started_at_s >= PATIENCE_S
