"""The launcher's children, while an engine is on trial."""

from dataclasses import replace

from pfid.adapters.kept_command import KeptCommand
from pfid.adapters.spawn import GatedChild
from pfid.bootstrap.launch import BoxChildren
from pfid.bootstrap.viability.trial import MARK, ROUND_S, EngineTrial
from pfid.launch.ports import ToSpawn
from pfid.policy.job_control import Event, SignalCame, asks_to_end


class EngineChildren(BoxChildren):
    """The launcher's children, without a terminal of their own, on trial."""

    def __init__(self, trial: EngineTrial, grace_s: float) -> None:
        """A person's Ctrl-C is for pfid, which ends the engine: it is lent no terminal."""
        super().__init__()
        self._terminal.__exit__(None, None, None)
        self._trial, self._grace_s = trial, grace_s

    def spawn(self, start: ToSpawn) -> GatedChild:
        """Fork a keeper that will start the command, and put it on trial."""
        kept = KeptCommand(start.argv, self._grace_s)
        child = super().spawn(replace(start, argv=kept.argv))
        kept.started()
        self._trial.begin(child.pid, start.environ[MARK], kept)
        return child

    def wait(self, pid: int) -> Event:
        """Wait; a signal that asks to end ends the trial."""
        event = super().wait(pid)
        if isinstance(event, SignalCame) and asks_to_end(event.number):
            self._trial.interrupt()
        return event

    def see_through(self) -> None:
        """The child has ended: what it left behind is on trial still, and signals are heard."""
        while self._trial.under_way:
            number = self.pause(ROUND_S / 2)
            if number is not None and asks_to_end(number):
                self._trial.interrupt()
        self._trial.finish()
