"""How many bytes of each user's logs are read a second.

What was read is known only afterwards, so it is written down as a debt that time pays off: whoever
owes waits. A second's worth may be saved up.
"""

from dataclasses import dataclass
from typing import Final

ROOT: Final = 0
REMEMBERED_MAX: Final = 256
"""Users kept track of; those who owe nothing are forgotten beyond it."""


@dataclass(slots=True)
class _Account:
    allowed_bytes: float
    at_s: float


class Rations:
    """One account for each user; root has none."""

    __slots__ = ("_accounts", "_bytes_per_s")

    def __init__(self, bytes_per_s: int) -> None:
        """Allow so many bytes a second to each user; 0 for no limit."""
        self._bytes_per_s = bytes_per_s
        self._accounts: dict[int, _Account] = {}

    def wait_s(self, uid: int, now_s: float) -> float:
        """Return for how long nothing more of this user's is to be read, 0 if it may be now."""
        account = self._refilled(uid, now_s)
        if account is None or account.allowed_bytes > 0:
            return 0.0
        return (1.0 - account.allowed_bytes) / self._bytes_per_s

    def took(self, uid: int, read_bytes: int, now_s: float) -> None:
        """Write down what was read."""
        account = self._refilled(uid, now_s)
        if account is not None:
            account.allowed_bytes -= read_bytes

    def _refilled(self, uid: int, now_s: float) -> _Account | None:
        if not self._bytes_per_s or uid == ROOT:
            return None
        account = self._accounts.get(uid)
        if account is None:
            self._forget(now_s)
            account = self._accounts[uid] = _Account(self._bytes_per_s, now_s)
        earned = max(0.0, now_s - account.at_s) * self._bytes_per_s
        account.allowed_bytes = min(self._bytes_per_s, account.allowed_bytes + earned)
        account.at_s = now_s
        return account

    def _forget(self, now_s: float) -> None:
        if len(self._accounts) >= REMEMBERED_MAX:
            for uid in list(self._accounts):
                account = self._refilled(uid, now_s)
                if account is not None and account.allowed_bytes >= self._bytes_per_s:
                    del self._accounts[uid]
