"""Refusing a request: an exception within the daemon, a reply outside it."""

from typing import Final

from pfid.wire.control import Refused

ROOT_UID: Final = 0


class RefusalError(Exception):
    """Carries the reply; never leaves this package."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        """Build the reply."""
        super().__init__(message)
        self.reply = Refused(code=code, message=message, remedy=remedy)
