"""Whole lines out of a log's bytes, whatever the chunks: NUL holes, ends of line, endless lines."""

from pfid.formats.candidates import MAX_LINE_BYTES


class LineCutter:
    """Keeps what has no end yet, and of a line that is too long its beginning."""

    __slots__ = ("at_beginning", "nul_prefix_bytes", "over_long", "tail")

    def __init__(self) -> None:
        """Start at the beginning of a file."""
        self.tail = b""
        self.over_long = False
        """Whether the rest of the line in ``tail`` is left out."""
        self.at_beginning = True
        self.nul_prefix_bytes = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; return the lines they complete, with their ends."""
        data = self._without_nul(chunk)
        if self.over_long:
            data = self._skip_rest(data)
        data = self.tail + data
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        body, self.tail = data[:cut], data[cut:]
        return body

    def shorten(self) -> None:
        """Keep the beginning only of a line without end."""
        if len(self.tail) > MAX_LINE_BYTES:
            self.tail, self.over_long = self.tail[:MAX_LINE_BYTES], True

    def rest(self) -> bytes:
        """Take a last line that has no end."""
        tail, self.tail, self.over_long = self.tail, b"", False
        return tail

    def truncated(self) -> None:
        """The file shrank: what comes next stands at its beginning."""
        self.rest()
        self.at_beginning = True

    def _without_nul(self, chunk: bytes) -> bytes:
        if b"\0" not in chunk:
            self.at_beginning = self.at_beginning and not chunk
            return chunk
        if self.at_beginning:
            rest = chunk.lstrip(b"\0")
            self.nul_prefix_bytes += len(chunk) - len(rest)
            self.at_beginning = not rest
            chunk = rest
        # Inside a file NUL bytes are a hole that copytruncate left: a line ends before it.
        return chunk.replace(b"\0", b"\r")

    def _skip_rest(self, data: bytes) -> bytes:
        ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
        if not ends:
            return b""
        self.over_long = False
        return data[min(ends) :]
