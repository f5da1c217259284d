"""A word on stderr while something takes long: none for what is done at once."""

from collections.abc import Callable
from time import monotonic
from typing import Final

from pfid.cli.output import note

FIRST_S: Final = 2.0
NEXT_S: Final = 5.0


class Patience:
    """Is told often how far something is, and says so now and then."""

    def __init__(
        self, say: Callable[[str], None] = note, clock: Callable[[], float] = monotonic
    ) -> None:
        """Begin to wait."""
        self._say, self._clock = say, clock
        self._due_s = clock() + FIRST_S

    def told(self, far: str) -> None:
        """Say it, if nothing was said for long enough."""
        now_s = self._clock()
        if now_s >= self._due_s:
            self._due_s = now_s + NEXT_S
            self._say(far)
