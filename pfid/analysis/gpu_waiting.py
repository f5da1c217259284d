"""What a run that does not work on its GPU is: at fault, hung, or excused by what it does."""

from typing import Protocol

from pfid.analysis.phase_waits import PhaseWaits
from pfid.domain.step import Phase


class Waits(Protocol):
    """What is known of the run."""

    @property
    def suspended(self) -> bool:
        """Whether somebody stopped it."""
        ...

    @property
    def phase(self) -> Phase | None:
        """None if neither log nor step file can be read."""
        ...

    @property
    def stepped(self) -> bool:
        """Whether a step was seen."""
        ...

    @property
    def since_s(self) -> float:
        """Since the last sign of progress."""
        ...

    @property
    def longest_s(self) -> float:
        """Longest gap of this phase, 0 if none was seen."""
        ...


def idles(run: Waits, limits: PhaseWaits) -> str:
    """Reason code of a run whose GPU idles."""
    if run.suspended:
        return "waits_by_phase"
    if run.phase is None:
        return "phase_unknown"
    if not _may_wait(run):
        return "gpu_starved"
    return "waits_by_phase" if _in_time(run, limits) else "phase_lasts_too_long"


def spins(run: Waits, limits: PhaseWaits) -> str:
    """Reason code of a run whose GPU is busy at low power."""
    if run.suspended or (_may_wait(run) and _in_time(run, limits)):
        return "waits_by_phase"
    hung = run.phase is not None and limits.hangs(run.since_s, run.longest_s)
    return "hung_in_collective" if hung else "busy_at_low_power"


def _may_wait(run: Waits) -> bool:
    """Whether the run claims nothing that needs a GPU: evaluation, checkpoint, before step one."""
    return run.phase is not None and (run.phase is not Phase.TRAIN or not run.stepped)


def _in_time(run: Waits, limits: PhaseWaits) -> bool:
    return limits.excuses(run.phase or Phase.TRAIN, run.since_s, run.longest_s)
