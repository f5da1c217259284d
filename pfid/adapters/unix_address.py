"""Unix socket addresses of any length: the kernel takes 107 bytes, homes are deeper."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ADDRESS_MAX_BYTES: Final = 107


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """Yield an address to bind or connect to while the context is open.

    A path over the kernel's limit goes through a descriptor of its folder.

    Raises:
        OSError: if that folder cannot be opened.
    """
    if len(os.fsencode(path)) <= ADDRESS_MAX_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
