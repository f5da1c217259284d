"""For how long a phase of a run excuses GPUs that wait: an evaluation that never ends is a hang."""

from collections.abc import Mapping
from dataclasses import dataclass

from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.domain.step import Phase
from pfid.spec.limits import limit


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWaits(WorkLimits):
    """When a run whose GPUs wait does so for too long.

    Attributes:
        hung_s: seconds without a step from which a spinning run hangs.
        hung_gaps: likewise, times its own longest gap.
        start_s: for so long GPUs may wait before the first step.
        eval_s: in an evaluation.
        save_s: in a checkpoint.
        skip_s: while data are skipped on resume.
    """

    hung_s: float = limit(120.0, unit="s", factor=1.1)
    hung_gaps: float = limit(3.0, unit="ratio", factor=1.1)
    start_s: float = limit(3600.0, unit="s", factor=1.1)
    eval_s: float = limit(7200.0, unit="s", factor=1.1)
    save_s: float = limit(1800.0, unit="s", factor=1.1)
    skip_s: float = limit(21600.0, unit="s", factor=1.1)

    def floors_s(self) -> Mapping[Phase, float]:
        """By phase, for how long GPUs may wait without a sign of progress."""
        return {
            Phase.COMPILE: self.start_s,
            Phase.EVAL: self.eval_s,
            Phase.CHECKPOINT: self.save_s,
            Phase.SAVE: self.save_s,
            Phase.RESUME_SKIP: self.skip_s,
        }

    def excuses(self, phase: Phase, since_s: float, longest_s: float) -> bool:
        """Whether GPUs may still wait; TRAIN stands for the time before the first step.

        Args:
            phase: that the run is in.
            since_s: since its last sign of progress.
            longest_s: its longest gap in this phase, 0 if none was seen.
        """
        floor_s = self.floors_s().get(phase, self.start_s)
        return since_s <= max(floor_s, self.hung_gaps * longest_s)

    def hangs(self, since_s: float, longest_s: float) -> bool:
        """Whether a run that spins, and may not wait, hangs."""
        return since_s >= max(self.hung_s, self.hung_gaps * longest_s)
