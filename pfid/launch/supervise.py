"""Waiting for the child, passing on what is meant for it."""

from dataclasses import dataclass

from pfid.domain.exit_status import ExitStatus
from pfid.launch.ports import Children
from pfid.policy.job_control import (
    SIGCONT,
    Act,
    ChildEnded,
    ChildStopped,
    SignalCame,
    asks_to_end,
    react,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """How it ended, and whether somebody asked the launcher to end it."""

    status: ExitStatus
    asked_to_end: bool


def supervise(children: Children, pid: int, pidfd: int) -> Supervised:
    """Wait until the child ends; the terminal is the launcher's again then."""
    asked = False
    while True:
        event = children.wait(pid)
        if isinstance(event, ChildEnded):
            children.take_terminal(pid)
            return Supervised(status=event.status, asked_to_end=asked)
        if isinstance(event, SignalCame):
            asked = asked or asks_to_end(event.number)
        for act in react(event, terminal_is_ours=children.terminal_is_ours()):
            _carry_out(act, event, children, pid, pidfd)


def _carry_out(
    act: Act, event: SignalCame | ChildStopped, children: Children, pid: int, pidfd: int
) -> None:
    match act:
        case Act.SIGNAL_CHILD:
            children.signal_child(pidfd, event.number)
        case Act.SIGNAL_GROUP:
            children.signal_group(pid, event.number)
        case Act.CONTINUE_GROUP:
            children.signal_group(pid, SIGCONT)
        case Act.TAKE_TERMINAL:
            children.take_terminal(pid)
        case Act.LEND_TERMINAL:
            children.lend_terminal(pid)
        case Act.SUSPEND:
            children.suspend()
