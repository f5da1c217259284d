"""One optimizer step, and what is known about the clock that timed it."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.inside import StepReport


class StepClock(Enum):
    """Where the seconds of a step come from; a reader may trust them differently."""

    PRINTED = "printed"
    """The program printed the seconds of this very step or interval."""
    COUNTER = "counter"
    """Difference of two elapsed fields of one writer, over the difference of its step counter."""
    STAMPED = "stamped"
    """Difference of two timestamps printed on the lines."""
    ARRIVAL = "arrival"
    """Difference of the reader's own monotonic arrival times of two step lines."""
    REPORTED = "reported"
    """Measured inside the training process, synchronised."""
    ASYNCHRONOUS = "asynchronous"
    """Measured inside, at launch of asynchronous work: judge windows, never one difference."""


class Phase(Enum):
    """What the run was doing during a step or a gap."""

    COMPILE = "compile"
    TRAIN = "train"
    EVAL = "eval"
    CHECKPOINT = "checkpoint"
    SAVE = "save"
    RESUME_SKIP = "resume_skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """One optimizer step, or one interval of several that was timed as a whole.

    Attributes:
        index: the program's own step counter after this step.
        seconds: duration of the whole interval; None when only the counter is known.
        interval_steps: how many steps the interval holds; 1 for a single step.
        clock: where ``seconds`` comes from.
        phase: what the run was doing.
        rank: of the writer, where it says so.
        writer: key of the stream within one log (dialect, bar, rank), "" if there is one only.
        tokens: tokens of the interval (all ranks if the writer says so), padding included.
        width: padded width of the step's batch, where known.
        loss: as printed; may be NaN or infinite.
        at_s: wall time of arrival, Unix seconds; None in a forensic reading.
        report: what the training process itself says beside; None for what was read off a log.
    """

    index: int
    seconds: float | None
    clock: StepClock
    interval_steps: int = 1
    phase: Phase = Phase.TRAIN
    rank: int | None = None
    writer: str = ""
    tokens: int | None = None
    width: int | None = None
    loss: float | None = None
    at_s: float | None = None
    report: StepReport | None = None

    def __post_init__(self) -> None:
        """Hold the invariants.

        Raises:
            ValueError: for a negative duration or an interval of no steps.
        """
        if self.interval_steps < 1:
            raise ValueError(f"interval_steps must be at least 1, not {self.interval_steps}")
        if self.seconds is not None and not self.seconds >= 0:
            raise ValueError(f"seconds must be >= 0, not {self.seconds}")

    @property
    def seconds_per_step(self) -> float | None:
        """Seconds of one step, the interval divided by its steps."""
        return None if self.seconds is None else self.seconds / self.interval_steps
