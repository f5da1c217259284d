"""Looks at handed-over files in threads of their own, with a deadline.

Even asking what a descriptor is can block for ever: on a dead NFS server, or on a FUSE file that a
user chose on purpose. A thread that hangs is given up; how many may hang is bounded for each user
and in all, so that nobody's trick stops the others.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

AT_ONCE_PER_USER: Final = 4
AT_ONCE: Final = 16
DEADLINE_S: Final = 2.0


@dataclass(eq=False, slots=True)
class Inspection:
    """One look at some descriptors.

    Attributes:
        uid: who handed them over.
        fds: the files; they stay their owner's.
        tag: the caller's.
        due_s: monotonic time at which it is given up; None before it begins.
        problem: "" if all is well, what is wrong otherwise; None while nobody knows.
        given_up: whether the deadline passed.
        begun: whether a thread has looked; one that was given up may still hang.
    """

    uid: int
    fds: Sequence[int]
    tag: int
    due_s: float | None = None
    problem: str | None = None
    given_up: bool = False
    begun: bool = False


class DescriptorInspector:
    """Runs inspections. All methods belong to one thread, the server's."""

    def __init__(self, look: Callable[[int], str], on_done: Callable[[Inspection], None]) -> None:
        """Prepare.

        Args:
            look: says what is wrong with a descriptor, "" for nothing; may block.
            on_done: called in the inspection's thread; only hands on.
        """
        self._look = look
        self._on_done = on_done
        self._waiting: deque[Inspection] = deque()
        self._running: list[Inspection] = []
        self._by_uid: Counter[int] = Counter()

    def submit(self, inspection: Inspection, now_s: float) -> None:
        """Begin a look, at once or when there is room."""
        self._waiting.append(inspection)
        self._fill(now_s)

    def finished(self, inspection: Inspection, now_s: float) -> None:
        """To be called when ``on_done`` has come through, also for one that was given up."""
        self._running.remove(inspection)
        self._by_uid[inspection.uid] -= 1
        self._fill(now_s)

    def overdue(self, now_s: float) -> list[Inspection]:
        """Looks that have just been given up, running or waiting; each is returned once."""
        late = [i for i in self._running if not i.given_up and (i.due_s or 0.0) <= now_s]
        late += [i for i in self._waiting if (i.due_s or now_s + 1) <= now_s]
        for inspection in late:
            inspection.given_up = True
        self._waiting = deque(i for i in self._waiting if not i.given_up)
        return late

    def next_due_s(self) -> float | None:
        """When ``overdue`` has something to say."""
        due = [i.due_s for i in (*self._running, *self._waiting) if not i.given_up and i.due_s]
        return min(due, default=None)

    def _fill(self, now_s: float) -> None:
        for inspection in list(self._waiting):
            if inspection.due_s is None:
                inspection.due_s = now_s + DEADLINE_S
            if len(self._running) >= AT_ONCE:
                return
            if self._by_uid[inspection.uid] >= AT_ONCE_PER_USER:
                continue
            self._waiting.remove(inspection)
            self._by_uid[inspection.uid] += 1
            self._running.append(inspection)
            inspection.begun = True
            threading.Thread(
                target=self._inspect, args=(inspection,), name="inspector", daemon=True
            ).start()

    def _inspect(self, inspection: Inspection) -> None:
        try:
            problems = [p for p in map(self._look, inspection.fds) if p]
            inspection.problem = problems[0] if problems else ""
        except OSError as error:
            inspection.problem = f"cannot be looked at: {error.strerror}"
        finally:
            self._on_done(inspection)
