"""The control socket's name in the file system: bound by one daemon, taken over from a dead one."""

import contextlib
import os
import socket
from pathlib import Path

from pfid.adapters.unix_address import socket_address


def bound(path: Path, mode: int) -> socket.socket:
    """Listen at a path.

    Args:
        path: where; a stale socket there is replaced, a live one is not.
        mode: of the socket, decides who may connect.

    Raises:
        FileExistsError: if somebody answers there.
        OSError: if it cannot be bound.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        listener.setblocking(False)
        with socket_address(path) as address:
            _clear_stale(address)
            before = os.umask(0o777 & ~mode)
            try:
                listener.bind(address)
            finally:
                os.umask(before)
        path.chmod(mode)
        listener.listen(256)
    except BaseException:
        listener.close()
        raise
    return listener


def _clear_stale(address: str) -> None:
    """Remove a socket whose owner is gone; one that answers is another daemon's.

    Raises:
        FileExistsError: if somebody answers there.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            with contextlib.suppress(FileNotFoundError):
                Path(address).unlink()
            return
        except BlockingIOError:
            pass
    raise FileExistsError(f"another pfid answers at {address}")
