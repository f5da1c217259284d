"""What the commands' exit statuses mean (DESIGN, section 9)."""

import signal
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from pfid.domain.outcome import Outcome

INTERRUPTED: Final = 128 + signal.SIGINT
"""Ctrl-C, as of any program: no answer, and not one of those below."""


class Exit(IntEnum):
    """Exit status of every command but ``pfid run``, which answers with its child's."""

    OK = 0
    FAILED = 1
    """A check failed."""
    USAGE = 2
    """The command line or the configuration cannot be used, a file of it cannot be written."""
    UNKNOWN = 3
    """Could not look: something required is UNKNOWN, and nothing failed."""


EXITS: Final[Mapping[Outcome, Exit]] = {
    Outcome.PASS: Exit.OK,
    Outcome.FAIL: Exit.FAILED,
    Outcome.UNKNOWN: Exit.UNKNOWN,
    Outcome.NOT_APPLICABLE: Exit.OK,
}
"""What an outcome is exited with: the same for every command that judges."""
