"""Steps in few bytes: an object of Python's takes five times as many for the same figures."""

from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from pfid.domain.step import Phase, StepClock, StepEvent

_STEP: Final = Struct("<qIqq3dBH")
_WHOLE_MAX: Final = 2**63 - 1
_STEPS_MAX: Final = 2**32 - 1
_SORTS_MAX: Final = 1_024
_SECONDS, _TOKENS, _WIDTH, _LOSS, _AT = (1 << bit for bit in range(5))


class _Sort(NamedTuple):
    """What many steps have in common: one in most runs, one for each phase and clock in others."""

    writer: str
    rank: int | None
    phase: Phase
    clock: StepClock


class PackedSteps:
    """Appends at one end, drops at the other; 55 bytes an event. What it reports is not kept.

    What was dropped is written over, so that the memory is no longer than what it holds.
    """

    __slots__ = ("_first", "_n", "_sorts", "_steps")

    def __init__(self) -> None:
        """Hold nothing."""
        self._steps = bytearray()
        self._first = self._n = 0
        self._sorts: list[_Sort] = []

    def __len__(self) -> int:
        return self._n

    def append(self, event: StepEvent) -> None:
        """Take one event in at the end."""
        row = _packed(event, self._number(event))
        rows = len(self._steps) // _STEP.size
        if self._n == rows:
            if self._first:
                self._turn()
            self._steps += row
        else:
            at = (self._first + self._n) % rows * _STEP.size
            self._steps[at : at + _STEP.size] = row
        self._n += 1

    def drop(self) -> None:
        """Let go of the first."""
        if not self._first:
            self._steps = bytearray(self._steps)  # it has grown, and holds room to grow on
        self._first = (self._first + 1) * _STEP.size % len(self._steps) // _STEP.size
        self._n -= 1

    def _turn(self) -> None:
        at = self._first * _STEP.size
        self._steps, self._first = self._steps[at:] + self._steps[:at], 0

    def _row(self, place: int) -> tuple[Any, ...]:
        """The step at ``place``, the oldest at 0."""
        at = (self._first + place) * _STEP.size % len(self._steps)
        return _STEP.unpack_from(self._steps, at)

    def last(self, n: int) -> list[StepEvent]:
        """The last ``n`` at most, oldest first."""
        first = max(0, len(self) - n)
        return [self._at(place) for place in range(first, len(self))]

    def train_seconds(self) -> Iterator[float]:
        """Seconds a step of those of phase ``train`` that were timed, newest first."""
        for place in range(len(self) - 1, -1, -1):
            row = self._row(place)
            if row[7] & _SECONDS and self._sorts[row[8]].phase is Phase.TRAIN:
                yield row[4] / row[1]

    def _at(self, place: int) -> StepEvent:
        index, steps, tokens, width, seconds, loss, at_s, known, sort = self._row(place)
        writer, rank, phase, clock = self._sorts[sort]
        return StepEvent(
            index=index,
            seconds=seconds if known & _SECONDS else None,
            clock=clock,
            interval_steps=steps,
            phase=phase,
            rank=rank,
            writer=writer,
            tokens=tokens if known & _TOKENS else None,
            width=width if known & _WIDTH else None,
            loss=loss if known & _LOSS else None,
            at_s=at_s if known & _AT else None,
        )

    def _number(self, event: StepEvent) -> int:
        """Which of the sorts it is of; there is one alone in nearly every run."""
        sort = _Sort(event.writer, event.rank, event.phase, event.clock)
        if sort in self._sorts:
            return self._sorts.index(sort)
        if len(self._sorts) >= _SORTS_MAX:
            self._forget_sorts()
        self._sorts.append(sort)
        return len(self._sorts) - 1

    def _forget_sorts(self) -> None:
        """Keep those alone of which something is held."""
        fresh = PackedSteps()
        for event in self.last(len(self)):
            fresh.append(event)
        self._steps, self._first, self._sorts = fresh._steps, 0, fresh._sorts


def _packed(event: StepEvent, sort: int) -> bytes:
    known = (
        (event.seconds is not None) * _SECONDS
        | (event.tokens is not None) * _TOKENS
        | (event.width is not None) * _WIDTH
        | (event.loss is not None) * _LOSS
        | (event.at_s is not None) * _AT
    )
    return _STEP.pack(
        _whole(event.index),
        min(_STEPS_MAX, event.interval_steps),
        _whole(event.tokens),
        _whole(event.width),
        event.seconds or 0.0,
        event.loss or 0.0,
        event.at_s or 0.0,
        known,
        sort,
    )


def _whole(number: int | None) -> int:
    """Nothing that is counted comes near the limit; a line that says so is no step's."""
    return max(-_WHOLE_MAX, min(_WHOLE_MAX, number or 0))
