"""What a sweep over widths said: timings, memory, and where it ended."""

from dataclasses import dataclass
from typing import Any

from pfid.analysis.scaling import Timing
from pfid.bootstrap.step_probe import StepProbeError, StepSaid


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep, as far as it went.

    Attributes:
        timings: in the order measured.
        peak_bytes: device memory by width.
        stopped: width, reason and detail where memory ended it; None if it did not.
    """

    timings: tuple[Timing, ...]
    peak_bytes: dict[int, int]
    stopped: dict[str, Any] | None


def sweep_of(said: StepSaid) -> Sweep:
    """Take what a probe said of the widths it timed.

    Raises:
        StepProbeError: if it cannot be.
    """
    try:
        timings = tuple(
            Timing(width=int(t["width"]), seconds=float(t["seconds"])) for t in said.of("timing")
        )
        peaks = {int(m["width"]): int(m["peak_bytes"]) for m in said.of("memory")}
    except (KeyError, TypeError, ValueError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    ended = said.of("sweep_ended")
    stopped = {k: ended[0].get(k) for k in ("width", "reason", "detail")} if ended else None
    return Sweep(timings=timings, peak_bytes=peaks, stopped=stopped)
