"""How one process ended, as the kernel tells it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """One of the two is set.

    Attributes:
        exit_code: 0..255, None if it died of a signal.
        signal: its number, None if it exited.
    """

    exit_code: int | None = None
    signal: int | None = None

    @property
    def shell_code(self) -> int:
        """What a shell shows: the exit code, or 128 plus the signal."""
        if self.signal is not None:
            return 128 + self.signal
        return self.exit_code or 0

    @property
    def success(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0 and self.signal is None
