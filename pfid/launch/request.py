"""What somebody asks ``pfid run`` for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pfid.domain.step_fit import StepFit


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """A run to be launched, every default filled in.

    Attributes:
        name: the run's name.
        argv: the command.
        log_paths: absolute; the first gets the child's output, the trainer writes the others.
        environ: the launcher's environment.
        cwd: the launcher's working directory.
        restarts: how often a failure is launched again.
        expect_step_s: seconds of a step, None if not said.
        fit: how a step grows with its width, None if nobody measured it.
        instrument: folder that makes Python report its optimizer steps, None to leave it alone.
    """

    name: str
    argv: Sequence[str]
    log_paths: Sequence[str]
    environ: Mapping[str, str]
    cwd: str
    restarts: int = 0
    expect_step_s: float | None = None
    fit: StepFit | None = None
    instrument: str | None = None
