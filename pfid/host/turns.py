"""Whose turn it is in the plugin worker, which does one thing at a time.

A check that hangs holds the worker until the worker is ended. Whoever waits meanwhile must neither
be answered for with another's deadline nor be lost with the worker: a deadline begins when the
check's own turn does, and those that had none yet wait for the next worker.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pfid.domain.verdict import Verdict
from pfid.spec.world import World
from pfid.wire.worlds import WorldData

Done = Callable[[Verdict, str], None]
"""Takes the raw verdict and why the check's own answer was not used ("" if it was)."""

WAIT_MAX_S: Final = 60.0
"""How long a question waits for its turn, while a worker is ended and another one loads."""
LATE: Final = "the check ran past its deadline"
NO_TURN: Final = f"the plugin worker was not free within {WAIT_MAX_S:.0f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One evaluation that somebody wants.

    Attributes:
        check: its name.
        world: what it is asked about.
        data: the same, as it travels.
        done: takes the answer.
        deadline_s: how long the check may take once it is its turn.
        until_s: when it has waited long enough for that, by the clock of :class:`Turns`.
    """

    check: str
    world: World
    data: WorldData
    done: Done
    deadline_s: float
    until_s: float


@dataclass(slots=True)
class _Turn:
    """The evaluation that the worker is at; it may have been answered for, and hang on."""

    number: int
    question: Question | None
    due_s: float


class Turns:
    """Everybody who waits, and the one whose turn it is. The caller holds a lock."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        """Begin with nobody; times are taken from the clock given."""
        self._monotonic_s = monotonic_s
        self._waiting: deque[Question] = deque()
        self._turn: _Turn | None = None
        self._last = 0

    def until_s(self) -> float:
        """How long a question of now may wait for its turn."""
        return self._monotonic_s() + WAIT_MAX_S

    def wait(self, question: Question) -> None:
        """Take a place behind all others."""
        self._waiting.append(question)

    def next(self) -> tuple[int, Question] | None:
        """Begin the next turn: its number and question; None while one lasts, or nobody waits."""
        if self._turn is not None or not self._waiting:
            return None
        question = self._waiting.popleft()
        self._last += 1
        due_s = self._monotonic_s() + question.deadline_s
        self._turn = _Turn(self._last, question, due_s)
        return self._last, question

    def take_back(self) -> None:
        """The turn could not begin after all: whoever had it is first again."""
        turn, self._turn = self._turn, None
        if turn is not None and turn.question is not None:
            self._waiting.appendleft(turn.question)

    def answered(self, number: int) -> Question | None:
        """The worker is through with a turn; whose it was, None where that one was answered."""
        turn = self._turn
        if turn is None or turn.number != number:
            return None
        self._turn = None
        return turn.question

    def lost(self) -> Question | None:
        """The worker is gone; whose turn it was, None where that one was answered."""
        turn, self._turn = self._turn, None
        return turn.question if turn is not None else None

    def late(self) -> Iterator[tuple[Question, str]]:
        """Those that must be answered for now, each once, and why."""
        now_s = self._monotonic_s()
        turn = self._turn
        if turn is not None and turn.question is not None and turn.due_s <= now_s:
            yield turn.question, LATE
            turn.question = None
        while self._waiting and self._waiting[0].until_s <= now_s:
            yield self._waiting.popleft(), NO_TURN
