"""The step file of a run: JSON lines written inside the training process, one a step.

Every key but ``step`` may be left out; a line with ``note`` is about the writer and no step. A
line that cannot be read is counted, never raised: the file belongs to a program that can be killed
in the middle of a write.
"""

import math
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from pfid.domain.inside import StepReport
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.formats.inside_notes import InsideNotes

MAX_LINE_BYTES: Final = 64 * 1024
MAX_INTERVAL_STEPS: Final = 1_000_000
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Rank = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_LOSS_WORDS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "infinity": math.inf}
_PHASES: Final = {phase.value: phase for phase in Phase}
_CLOCKS: Final = {clock.value: clock for clock in StepClock}


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    step: _Count | None = None
    note: str | None = None
    seconds: float | None = None
    inside_s: float | None = None
    phase: str = "train"
    rank: _Rank | None = None
    pid: _Rank | None = None
    opt: _Rank = 0
    tokens: _Count | None = None
    real_tokens: _Count | None = None
    width: _Count | None = None
    flops: float | None = None
    recompute_flops: float | None = None
    loss: float | str | None = None
    clock: str = "reported"
    interval_steps: Annotated[int, Meta(ge=1, le=MAX_INTERVAL_STEPS)] = 1
    dynamo: dict[str, int] | None = None


_decoder: Final = msgspec.json.Decoder(_Line)
_any: Final = msgspec.json.Decoder(dict[str, Any])
_REFUSED: Final = (msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError)


def parse_line(line: bytes, at_s: float | None = None) -> StepEvent | None:
    """Return the event of one line; None if it is not one."""
    try:
        read = _decoder.decode(line)
        return None if read.note is not None else _event(read, at_s)
    except _REFUSED:
        return None


def _event(read: _Line, at_s: float | None) -> StepEvent:
    if read.step is None:
        raise ValueError("neither a step nor a note")
    return StepEvent(
        index=read.step,
        seconds=read.seconds,
        clock=_CLOCKS.get(read.clock, StepClock.REPORTED),
        interval_steps=read.interval_steps,
        phase=_PHASES.get(read.phase, Phase.TRAIN),
        rank=read.rank,
        writer=_writer(read),
        tokens=read.tokens,
        width=read.width,
        loss=_loss(read.loss),
        at_s=at_s,
        report=_report(read),
    )


def _writer(read: _Line) -> str:
    """One key for every optimizer of every process."""
    rank = "steps" if read.rank is None else f"steps/{read.rank}"
    return rank if read.pid is None else f"{rank}/{read.pid}.{read.opt}"


def _report(read: _Line) -> StepReport | None:
    if read.inside_s is None and read.real_tokens is None and read.flops is None:
        return None
    return StepReport(
        inside_s=_positive(read.inside_s),
        real_tokens=read.real_tokens,
        flops=_positive(read.flops),
        recompute_flops=_positive(read.recompute_flops),
    )


def _positive(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None


def _loss(value: float | str | None) -> float | None:
    if isinstance(value, str):
        return _LOSS_WORDS.get(value.lower())
    return value


def is_step_file(head: bytes) -> bool:
    """Whether a file that begins like this was written inside a training process.

    Its first line is a note, or a step that says which process made it: no log of anybody's own
    looks like that.
    """
    first = next((line for line in head.split(b"\n") if line.strip(b"\0 \r\t")), b"")
    try:
        read = _decoder.decode(first.strip(b"\0 \r\t"))
    except _REFUSED:
        return False
    return read.note is not None or (read.step is not None and read.pid is not None)


class StepsFileParser:
    """Takes the bytes of a step file in any chunks.

    Attributes:
        bad_lines: lines that were neither a step nor a note.
        notes: what stood beside the steps.
    """

    __slots__ = ("_lines", "_skipping", "_tail", "bad_lines", "notes")

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._tail = b""
        self._skipping = False
        self._lines = 0
        self.bad_lines = 0
        self.notes = InsideNotes()

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
        self._lines += 1
        skipping, self._skipping = self._skipping, False
        line = line.strip(b"\0 \r\t")
        if not line and not skipping:
            return None
        try:
            if skipping or len(line) > MAX_LINE_BYTES:
                raise ValueError("too long")
            return self._read(line, at_s)
        except _REFUSED:
            self.bad_lines += 1
            return None

    def _read(self, line: bytes, at_s: float | None) -> StepEvent | None:
        read = _decoder.decode(line)
        if read.note is not None:
            self.notes.note(read.note, _any.decode(line))
            return None
        event = _event(read, at_s)
        self.notes.reported += 1
        if read.dynamo is not None:
            self.notes.dynamo(read.dynamo, self._lines, event.index, at_s)
        return event

    def place(self) -> list[Any]:
        """Return where it stands, as plain data; what the notes say stands apart."""
        return [self._tail, self._skipping, self._lines, self.bad_lines, self.notes.phase]

    @classmethod
    def at_place(cls, place: list[Any], notes: InsideNotes) -> "StepsFileParser":
        """Go on from a place, with the notes taken so far.

        Raises:
            ValueError: if it is none.
        """
        parser = cls()
        parser._tail, parser._skipping, parser._lines, parser.bad_lines, notes.phase = place
        parser.notes = notes
        return parser

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "StepsFileParser":
        """Go on from a state of an earlier version, which held the notes as well."""
        parser = cls()
        parser._tail = state["tail"]
        parser._skipping = state["skipping"]
        parser._lines = state.get("lines", 0)
        parser.bad_lines = state["bad_lines"]
        if "notes" in state:  # an older pfid knew of none
            parser.notes = InsideNotes.restore(state["notes"])
        return parser
