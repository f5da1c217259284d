"""The ports a check may read, gathered. A port that was not set up raises when touched."""

from dataclasses import dataclass
from typing import Any, NoReturn, cast

from pfid.domain.errors import PortNotSetUpError
from pfid.domain.verdict import BOX, Entity
from pfid.spec.ports.clock import ClockPort
from pfid.spec.ports.gates import GatesPort
from pfid.spec.ports.gpus import GpusPort
from pfid.spec.ports.log import LogPort
from pfid.spec.ports.run import RunPort
from pfid.spec.ports.steps import StepsPort


class _NotSetUp:
    """Stands where a port would be and refuses every use."""

    __slots__ = ("_port",)

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, attribute: str) -> NoReturn:
        raise PortNotSetUpError(
            f"the check reads world.{self._port}.{attribute}, which this world does not have; "
            f"in a control, set up world.{self._port}"
        )


def _not_set_up(port: str) -> Any:
    return cast("Any", _NotSetUp(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything a check may know. One world has one subject.

    Attributes:
        subject: what a verdict of this world is about unless it says otherwise.
        clock: the time.
        run: the run under judgement.
        steps: its steps, baseline and progress.
        log: what its log says.
        gates: the standing of pfid's own checks.
        gpus: the GPUs of the box, and those the subject is about.
    """

    subject: Entity = BOX
    clock: ClockPort = _not_set_up("clock")  # noqa: RUF009 - frozen
    run: RunPort = _not_set_up("run")  # noqa: RUF009 - frozen
    steps: StepsPort = _not_set_up("steps")  # noqa: RUF009 - frozen
    log: LogPort = _not_set_up("log")  # noqa: RUF009 - frozen
    gates: GatesPort = _not_set_up("gates")  # noqa: RUF009 - frozen
    gpus: GpusPort = _not_set_up("gpus")  # noqa: RUF009 - frozen
