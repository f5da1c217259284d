"""The step file of a run: JSON lines written inside the training process, one a step.

Every key but ``step`` may be left out. A line that cannot be read is counted, never raised: the
file belongs to a program that can be killed in the middle of a write.
"""

import math
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from pfid.domain.step import Phase, StepClock, StepEvent

MAX_LINE_BYTES: Final = 64 * 1024
MAX_INTERVAL_STEPS: Final = 1_000_000
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Rank = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_LOSS_WORDS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "infinity": math.inf}
_PHASES: Final = {phase.value: phase for phase in Phase}
_CLOCKS: Final = {clock.value: clock for clock in StepClock}


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    step: _Count
    seconds: float | None = None
    phase: str = "train"
    rank: _Rank | None = None
    tokens: _Count | None = None
    width: _Count | None = None
    loss: float | str | None = None
    clock: str = "reported"
    interval_steps: Annotated[int, Meta(ge=1, le=MAX_INTERVAL_STEPS)] = 1


_decoder: Final = msgspec.json.Decoder(_Line)


def parse_line(line: bytes, at_s: float | None = None) -> StepEvent | None:
    """Return the event of one line; None if it is not one."""
    try:
        read = _decoder.decode(line)
        return StepEvent(
            index=read.step,
            seconds=read.seconds,
            clock=_CLOCKS.get(read.clock, StepClock.REPORTED),
            interval_steps=read.interval_steps,
            phase=_PHASES.get(read.phase, Phase.TRAIN),
            rank=read.rank,
            writer="steps" if read.rank is None else f"steps/{read.rank}",
            tokens=read.tokens,
            width=read.width,
            loss=_loss(read.loss),
            at_s=at_s,
        )
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError):
        return None


def _loss(value: float | str | None) -> float | None:
    if isinstance(value, str):
        return _LOSS_WORDS.get(value.lower())
    return value


class StepsFileParser:
    """Takes the bytes of a step file in any chunks."""

    __slots__ = ("_skipping", "_tail", "bad_lines")

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._tail = b""
        self._skipping = False
        self.bad_lines = 0

    def feed(self, chunk: bytes, at_s: float | None = None) -> list[StepEvent]:
        """Return the events of the lines that ``chunk`` completes."""
        *lines, tail = (self._tail + chunk).split(b"\n")
        events = [event for line in lines if (event := self._take(line, at_s)) is not None]
        if len(tail) > MAX_LINE_BYTES:
            self._skipping, tail = True, b""
        self._tail = tail
        return events

    def finish(self, at_s: float | None = None) -> list[StepEvent]:
        """Take a last line that has no end."""
        event = self._take(self._tail, at_s)
        self._tail = b""
        return [] if event is None else [event]

    def _take(self, line: bytes, at_s: float | None) -> StepEvent | None:
        skipping, self._skipping = self._skipping, False
        line = line.strip(b"\0 \r\t")
        if not line and not skipping:
            return None
        too_long = skipping or len(line) > MAX_LINE_BYTES
        event = None if too_long else parse_line(line, at_s)
        self.bad_lines += event is None
        return event

    def state(self) -> dict[str, Any]:
        """Return plain data from which ``restore`` goes on."""
        return {"tail": self._tail, "skipping": self._skipping, "bad_lines": self.bad_lines}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "StepsFileParser":
        """Go on from a state."""
        parser = cls()
        parser._tail = state["tail"]
        parser._skipping = state["skipping"]
        parser.bad_lines = state["bad_lines"]
        return parser
