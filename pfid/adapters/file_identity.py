"""Which file stands at a path, told apart from one that got its inode number later, or its text.

A number is given away again at once when a file is removed; the time of birth is not.
"""

import hashlib
import os
import struct
from typing import Final

_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800
_STATX_BYTES: Final = 256
_BTIME: Final = struct.Struct("=qI")
_BTIME_AT: Final = 80


def file_id(descriptor: int) -> str:
    """Device, inode and birth of an open file; "" where the file system tells no birth."""
    born = _born(descriptor)
    if born is None:
        return ""
    found = os.fstat(descriptor)
    return f"{found.st_dev}:{found.st_ino}:{born}"


def head_digest(descriptor: int, size_bytes: int) -> str:
    """Digest of the first bytes of a file, "" if there are not as many or they cannot be read."""
    try:
        head = os.pread(descriptor, size_bytes, 0)
    except OSError:
        return ""
    return text_digest(head) if len(head) == size_bytes else ""


def text_digest(head: bytes) -> str:
    """Digest of the same bytes where they are known."""
    return hashlib.sha256(head).hexdigest()[:32]


def _born(descriptor: int) -> str | None:
    """Time of birth by statx(2), which Python does not offer before 3.15."""
    import ctypes  # what starts no run does not pay for it

    body = ctypes.create_string_buffer(_STATX_BYTES)
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except AttributeError:  # an older C library
        return None
    if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, body):
        return None
    (told,) = struct.unpack_from("=I", body)
    seconds, nanoseconds = _BTIME.unpack_from(body, _BTIME_AT)
    return f"{seconds}.{nanoseconds:09d}" if told & _STATX_BTIME else None
