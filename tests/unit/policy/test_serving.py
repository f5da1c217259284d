"""How a trial came out: memory before refusal, a signal before memory nobody counted."""

import pytest

from pfid.domain.exit_status import ExitStatus
from pfid.domain.serving import ServingEnd
from pfid.policy.serving import Trial, classify

FAILED = ExitStatus(exit_code=1)
KILLED = ExitStatus(signal=9)


@pytest.mark.parametrize(
    ("trial", "end"),
    [
        (Trial(completed=True, lived_on=True), ServingEnd.READY),
        (Trial(completed=True, lived_on=True, memory_words=True), ServingEnd.READY),
        (Trial(completed=True, status=ExitStatus(exit_code=0)), ServingEnd.DIED),
        (Trial(completed=True, status=FAILED), ServingEnd.DIED),
        (Trial(completed=True, status=FAILED, memory_words=True), ServingEnd.OUT_OF_MEMORY),
        (Trial(), ServingEnd.HUNG),
        (Trial(answered=True), ServingEnd.ERRORS),
        (Trial(completed=True, answered=True), ServingEnd.ERRORS),
        (Trial(completed=True), ServingEnd.ERRORS),
        (Trial(status=FAILED), ServingEnd.REFUSED),
        (Trial(status=ExitStatus(exit_code=0)), ServingEnd.REFUSED),
        (Trial(status=ExitStatus(exit_code=0), memory_words=True), ServingEnd.REFUSED),
        (Trial(status=FAILED, memory_words=True), ServingEnd.OUT_OF_MEMORY),
        (Trial(status=KILLED), ServingEnd.KILLED),
        (Trial(status=KILLED, oom_kills=1), ServingEnd.OUT_OF_MEMORY),
        (Trial(status=ExitStatus(exit_code=137)), ServingEnd.KILLED),
        (Trial(status=ExitStatus(exit_code=137), oom_kills=2), ServingEnd.OUT_OF_MEMORY),
        (Trial(status=FAILED, oom_kills=1), ServingEnd.OUT_OF_MEMORY),
        (Trial(status=KILLED, oom_kills=0), ServingEnd.KILLED),
        (Trial(status=ExitStatus(signal=11)), ServingEnd.REFUSED),
    ],
)
def test_each_end_has_its_name(trial, end):
    assert classify(trial) is end
