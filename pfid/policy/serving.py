"""How the trial of an engine came out, from everything that was seen of it."""

from dataclasses import dataclass
from typing import Final

from pfid.domain.exit_status import ExitStatus
from pfid.domain.serving import ServingEnd

SIGKILL: Final = 9
KILLED_EXIT: Final = 128 + SIGKILL


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was seen.

    Attributes:
        completed: whether a completion was answered.
        lived_on: whether the engine still lived and answered a while after that.
        answered: whether it gave any answer over HTTP, good or bad.
        status: how it ended by itself; None if it had to be taken down.
        oom_kills: processes the kernel killed for memory meanwhile; None if it does not count.
        memory_words: whether its log says that memory did not suffice.
    """

    completed: bool = False
    lived_on: bool = False
    answered: bool = False
    status: ExitStatus | None = None
    oom_kills: int | None = None
    memory_words: bool = False


def classify(trial: Trial) -> ServingEnd:
    """Say how it came out."""
    if trial.completed and trial.lived_on:
        return ServingEnd.READY
    if trial.status is None:
        return ServingEnd.ERRORS if trial.answered or trial.completed else ServingEnd.HUNG
    failed = trial.status.exit_code != 0
    if failed and (trial.oom_kills or trial.memory_words):
        return ServingEnd.OUT_OF_MEMORY
    if trial.completed:
        return ServingEnd.DIED
    return ServingEnd.KILLED if _was_killed(trial.status) else ServingEnd.REFUSED


def _was_killed(status: ExitStatus) -> bool:
    """By itself, or in a shell or container that tells it in its own status."""
    return status.signal == SIGKILL or status.exit_code == KILLED_EXIT
