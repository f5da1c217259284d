"""Device rows of a trace, in columns: a trace has more of them than objects are good for."""

from array import array
from dataclasses import dataclass, field

from pfid.domain.kernel import KernelKey


@dataclass(frozen=True, slots=True, order=True)
class Track:
    """Where rows run: a device and one of its streams, as the trace writes them."""

    device: str
    stream: str


@dataclass(frozen=True, slots=True)
class StepWindow:
    """One ``ProfilerStep#N`` of the host."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(slots=True, kw_only=True)
class DeviceRows:
    """A block of rows; columns of equal length.

    Attributes:
        start_ns: begin, on the trace's own clock.
        duration_ns: at least 0.
        kernel: index into the trace's kernels.
        track: index into the trace's tracks.
        launch: correlation of the call that launched it, 0 where the trace tells none; as long as
            the others, or empty.
        call: correlations of calls of the runtime, in columns of their own.
        call_ns: when each of them was made.
    """

    start_ns: "array[int]" = field(default_factory=lambda: array("q"))
    duration_ns: "array[int]" = field(default_factory=lambda: array("q"))
    kernel: "array[int]" = field(default_factory=lambda: array("I"))
    track: "array[int]" = field(default_factory=lambda: array("I"))
    launch: "array[int]" = field(default_factory=lambda: array("q"))
    call: "array[int]" = field(default_factory=lambda: array("q"))
    call_ns: "array[int]" = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        """Count rows."""
        return len(self.start_ns)


@dataclass(slots=True, kw_only=True)
class TraceNames:
    """What the indices in rows stand for; grows as a trace is read."""

    kernels: list[KernelKey] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
