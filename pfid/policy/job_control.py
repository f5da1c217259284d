"""What a launcher does when something happens to it or its child: decided, not done.

The child leads its own process group and has the terminal's foreground if the launcher had it,
so Ctrl-C and Ctrl-Z reach it from the kernel; everything sent to the launcher is passed on.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.domain.exit_status import ExitStatus

SIGHUP: Final = 1
SIGINT: Final = 2
SIGQUIT: Final = 3
SIGTERM: Final = 15
SIGCONT: Final = 18
SIGTSTP: Final = 20
SIGTTIN: Final = 21
SIGTTOU: Final = 22
SIGWINCH: Final = 28

_ASK_TO_END: Final = frozenset({SIGHUP, SIGINT, SIGQUIT, SIGTERM})
_TO_THE_GROUP: Final = frozenset({SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
"""What a terminal or shell would have sent to every process of the job."""
_WANT_TERMINAL: Final = frozenset({SIGTTIN, SIGTTOU})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalCame:
    """Somebody sent the launcher a signal."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStopped:
    """The child is stopped by this signal."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """The child has ended and is reaped."""

    status: ExitStatus


Event = SignalCame | ChildStopped | ChildEnded


class Act(Enum):
    """One thing to do, in order."""

    SIGNAL_CHILD = "pass the signal to the child alone"
    SIGNAL_GROUP = "pass the signal to the child's group"
    TAKE_TERMINAL = "take the foreground back from the child"
    LEND_TERMINAL = "give the child the foreground, if the launcher has it"
    SUSPEND = "stop with the whole job until the shell continues it"
    CONTINUE_GROUP = "continue the child's group"


def react(event: SignalCame | ChildStopped, *, terminal_is_ours: bool) -> tuple[Act, ...]:
    """Decide.

    Args:
        event: what happened.
        terminal_is_ours: whether the launcher, not the child, has the foreground now.
    """
    if isinstance(event, SignalCame):
        if event.number == SIGCONT:
            return (Act.LEND_TERMINAL, Act.CONTINUE_GROUP)
        return (Act.SIGNAL_GROUP if event.number in _TO_THE_GROUP else Act.SIGNAL_CHILD,)
    if event.number in _WANT_TERMINAL and terminal_is_ours:
        return (Act.LEND_TERMINAL, Act.CONTINUE_GROUP)
    if event.number in _WANT_TERMINAL | {SIGTSTP}:
        return (Act.TAKE_TERMINAL, Act.SUSPEND, Act.LEND_TERMINAL, Act.CONTINUE_GROUP)
    return ()  # SIGSTOP: whoever stopped the child will continue it


def asks_to_end(number: int) -> bool:
    """Whether whoever sends this signal wants the job to be over, not relaunched."""
    return number in _ASK_TO_END
