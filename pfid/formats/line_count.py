"""Line numbers of a log that is read in blocks, counted only when somebody asks."""


class LineCount:
    """Counts LF; ``at`` is the offset in the present block that is being looked at."""

    __slots__ = ("_body", "_counted", "at", "before")

    def __init__(self) -> None:
        """Start at the first line."""
        self.before = 0
        """Line ends before what was counted last."""
        self.at = 0
        self._body = b""
        self._counted = 0

    def block(self, body: bytes) -> None:
        """Begin a block."""
        self._body, self._counted, self.at = body, 0, 0

    def end_block(self) -> None:
        """Count the rest of the block and let it go."""
        self.before += self._body.count(b"\n", self._counted)
        self.block(b"")

    def number(self) -> int:
        """Return the 1-based number of the line at ``at``."""
        self.before += self._body.count(b"\n", self._counted, self.at)
        self._counted = self.at
        return self.before + 1
