"""What the log reader found in a run's log. Facts and counts; the text stays with the owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pfid.domain.inside import Inside


class Marker(Enum):
    """Known lines that mean something by themselves."""

    RECOMPILE_LIMIT = "recompile_limit"
    FLEX_UNCOMPILED = "flex_uncompiled"
    TRACEBACK = "traceback"
    OUT_OF_MEMORY = "out_of_memory"
    NCCL_TIMEOUT = "nccl_timeout"
    SCHEDULER_TIME_LIMIT = "scheduler_time_limit"
    SCHEDULER_CANCELLED = "scheduler_cancelled"
    RESUMED = "resumed"
    SKIPPED_STEP = "skipped_step"
    RUN_HEADER = "run_header"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerSeen:
    """How often a marker stood in the log, and where first.

    Attributes:
        count: genuine lines.
        first_line: 1-based line number of the first, counted from where this run's text begins.
        first_at_s: wall time of arrival of the first, None in a forensic reading.
        first_step: last step index seen before the first one, None if none.
        last_at_s: wall time of arrival of the last, likewise.
    quoted: lines that hold the words but are not the message (source code, a repr).
        line: the first genuine line, sanitised, at most 300 characters; for the owner alone.
    """

    count: int
    first_line: int
    first_at_s: float | None = None
    first_step: int | None = None
    quoted: int = 0
    line: str = ""
    last_at_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSeen:
    """One logged loss: step index (None where the line has none) and value, NaN and inf kept."""

    index: int | None
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What one log says about how many runs and writers it holds.

    Attributes:
        bytes_before_run: bytes known to be older than the run; 0 after rotation.
        bytes_read: bytes of this run read so far.
        nul_prefix_bytes: NUL bytes left by copytruncate.
        truncations: how often the file shrank under us.
        moved: whether the file moved or was unlinked and nobody handed over the new one.
        writers: independent series of step counters with clocks of their own (ranks that copy
            one bar are one writer).
        rewinds: step counters that went back without a resume line, by count.
        resumes: step counters that went back with one.
        markers: known messages.
        losses: the last logged losses, oldest first, at most 64.
        dialects: names of the dialects that matched, most lines first.
        unread: whether a log of the run cannot be read: what was not found may stand there.
        inside: what the run's own step files say about who writes them; None for a log.
    """

    bytes_before_run: int = 0
    bytes_read: int = 0
    nul_prefix_bytes: int = 0
    truncations: int = 0
    moved: bool = False
    writers: int = 1
    rewinds: int = 0
    resumes: int = 0
    markers: Mapping[Marker, MarkerSeen] = field(default_factory=dict)
    losses: tuple[LossSeen, ...] = ()
    dialects: tuple[str, ...] = ()
    unread: bool = False
    inside: Inside | None = None
