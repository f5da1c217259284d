"""Steps in few bytes: an object of Python's takes five times as many for the same figures."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from pfid.domain.step import Phase, StepClock, StepEvent

_STEP: Final = Struct("<qIiqq3d3BH")
_PHASES: Final = tuple(Phase)
_CLOCKS: Final = tuple(StepClock)
_PHASE_NUMBERS: Final = {phase: number for number, phase in enumerate(_PHASES)}
_CLOCK_NUMBERS: Final = {clock: number for number, clock in enumerate(_CLOCKS)}
_TRAIN: Final = _PHASE_NUMBERS[Phase.TRAIN]
_WHOLE_MAX: Final = 2**63 - 1
_RANK_MAX: Final = 2**31 - 1
_STEPS_MAX: Final = 2**32 - 1
_WRITERS_MAX: Final = 1_024
_SECONDS, _RANK, _TOKENS, _WIDTH, _LOSS, _AT = (1 << bit for bit in range(6))


class PackedSteps:
    """Appends at one end, drops at the other; 61 bytes an event. What it reports is not kept."""

    __slots__ = ("_steps", "_writers")

    def __init__(self) -> None:
        """Hold nothing."""
        self._steps = bytearray()
        self._writers: list[str] = []

    def __len__(self) -> int:
        return len(self._steps) // _STEP.size

    def append(self, event: StepEvent) -> None:
        """Take one event in at the end."""
        writer = self._number(event.writer)
        self._steps += _packed(event, writer)

    def drop(self) -> None:
        """Let go of the first."""
        del self._steps[: _STEP.size]

    def last(self, n: int) -> list[StepEvent]:
        """The last ``n`` at most, oldest first."""
        first = max(0, len(self) - n)
        return [self._at(place) for place in range(first, len(self))]

    def train_seconds(self) -> Iterator[float]:
        """Seconds a step of those of phase ``train`` that were timed, newest first."""
        for place in range(len(self) - 1, -1, -1):
            row = _STEP.unpack_from(self._steps, place * _STEP.size)
            if row[8] & _SECONDS and row[9] == _TRAIN:
                yield row[5] / row[1]

    def _at(self, place: int) -> StepEvent:
        row = _STEP.unpack_from(self._steps, place * _STEP.size)
        index, steps, rank, tokens, width, seconds, loss, at_s, known, phase, clock, writer = row
        return StepEvent(
            index=index,
            seconds=seconds if known & _SECONDS else None,
            clock=_CLOCKS[clock],
            interval_steps=steps,
            phase=_PHASES[phase],
            rank=rank if known & _RANK else None,
            writer=self._writers[writer],
            tokens=tokens if known & _TOKENS else None,
            width=width if known & _WIDTH else None,
            loss=loss if known & _LOSS else None,
            at_s=at_s if known & _AT else None,
        )

    def _number(self, writer: str) -> int:
        """Which of the writers it is; one in nearly every run."""
        if writer in self._writers:
            return self._writers.index(writer)
        if len(self._writers) >= _WRITERS_MAX:
            self._forget_writers()
        self._writers.append(writer)
        return len(self._writers) - 1

    def _forget_writers(self) -> None:
        """Keep the names of those alone of whom something is held."""
        fresh = PackedSteps()
        for event in self.last(len(self)):
            fresh.append(event)
        self._steps, self._writers = fresh._steps, fresh._writers


def _packed(event: StepEvent, writer: int) -> bytes:
    known = (
        (event.seconds is not None) * _SECONDS
        | (event.rank is not None) * _RANK
        | (event.tokens is not None) * _TOKENS
        | (event.width is not None) * _WIDTH
        | (event.loss is not None) * _LOSS
        | (event.at_s is not None) * _AT
    )
    return _STEP.pack(
        _whole(event.index),
        min(_STEPS_MAX, event.interval_steps),
        max(-_RANK_MAX, min(_RANK_MAX, event.rank or 0)),
        _whole(event.tokens),
        _whole(event.width),
        event.seconds or 0.0,
        event.loss or 0.0,
        event.at_s or 0.0,
        known,
        _PHASE_NUMBERS[event.phase],
        _CLOCK_NUMBERS[event.clock],
        writer,
    )


def _whole(number: int | None) -> int:
    """Nothing that is counted comes near the limit; a line that says so is no step's."""
    return max(-_WHOLE_MAX, min(_WHOLE_MAX, number or 0))
