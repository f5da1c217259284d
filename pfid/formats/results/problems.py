"""A record that cannot be judged, a file that cannot be read, and why."""

from pfid.domain.errors import PfidError


class RecordError(PfidError):
    """One record is bad. ``reason`` is a code, the text is for the owner alone."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Take the code and words about it."""
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


class ResultFileError(PfidError):
    """A file of results cannot be read at all."""
