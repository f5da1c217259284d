"""The run a check is asked about: identity, state, end, and who said it should end."""

from dataclasses import dataclass
from typing import Protocol

from pfid.domain.run import OperatorStop, Run, RunEnd, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of the run at this moment.

    Attributes:
        run: who it is.
        state: its current state.
        end: how it ended, None while it lives.
        stop: an operator's stop that was announced before the end, None if nobody did.
        alive: whether the captured identity exists and is no zombie; None if that cannot be told.
        defunct: whether the captured process is a zombie (ended, not reaped).
        suspended_s: for how long the captured process has been seen in state T; None if it is not.
        launcher_restarts: whether the launcher announced that it will relaunch after a failure.
    """

    run: Run
    state: RunState
    end: RunEnd | None = None
    stop: OperatorStop | None = None
    alive: bool | None = True
    defunct: bool = False
    launcher_restarts: bool = False
    suspended_s: float | None = None


class RunPort(Protocol):
    """The run under judgement."""

    def facts(self) -> RunFacts:
        """What is known now.

        Raises:
            PortError: if nothing can be told about the run.
        """
        ...
