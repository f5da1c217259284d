"""What a launcher does when something happens, as a table."""

import signal

import pytest

from pfid.policy import job_control
from pfid.policy.job_control import Act, ChildStopped, SignalCame, asks_to_end, react

RESUME = (Act.LEND_TERMINAL, Act.CONTINUE_GROUP)
SUSPEND = (Act.TAKE_TERMINAL, Act.SUSPEND, *RESUME)


@pytest.mark.parametrize(
    ("number", "acts"),
    [
        (signal.SIGTERM, (Act.SIGNAL_CHILD,)),
        (signal.SIGUSR1, (Act.SIGNAL_CHILD,)),
        (signal.SIGRTMIN, (Act.SIGNAL_CHILD,)),
        (signal.SIGINT, (Act.SIGNAL_GROUP,)),
        (signal.SIGQUIT, (Act.SIGNAL_GROUP,)),
        (signal.SIGHUP, (Act.SIGNAL_GROUP,)),
        (signal.SIGTSTP, (Act.SIGNAL_GROUP,)),
        (signal.SIGWINCH, (Act.SIGNAL_GROUP,)),
        (signal.SIGCONT, RESUME),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_a_signal_goes_to_whom_the_sender_meant(number, acts, ours):
    assert react(SignalCame(number=number), terminal_is_ours=ours) == acts


@pytest.mark.parametrize(
    ("number", "ours", "acts"),
    [
        (signal.SIGTSTP, False, SUSPEND),
        (signal.SIGTSTP, True, SUSPEND),
        (signal.SIGTTIN, False, SUSPEND),
        (signal.SIGTTIN, True, RESUME),
        (signal.SIGTTOU, True, RESUME),
        (signal.SIGSTOP, False, ()),
    ],
)
def test_a_child_that_stops_stops_the_job_unless_it_only_wants_the_terminal(number, ours, acts):
    assert react(ChildStopped(number=number), terminal_is_ours=ours) == acts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_some_signals_ask_for_the_end(number):
    assert asks_to_end(number)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTSTP, signal.SIGCONT])
def test_others_do_not(number):
    assert not asks_to_end(number)


@pytest.mark.parametrize("name", [name for name in dir(job_control) if name.startswith("SIG")])
def test_the_numbers_are_the_kernels(name):
    assert getattr(job_control, name) == getattr(signal, name)
