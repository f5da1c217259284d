"""Listening sockets: explicit addresses, no DNS, no wildcard unless somebody wrote one."""

import errno
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from pfid.config.address import Address
from pfid.domain.errors import PfidError

_BACKLOG: Final = 128
_NOBODY_THERE: Final = frozenset(
    {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EPROTO, errno.EINTR}
)


class ListenError(PfidError):
    """An address cannot be listened on."""


def listen(addresses: Sequence[Address]) -> tuple[socket.socket, ...]:
    """Bind and listen on every address, or on none.

    Raises:
        ListenError: naming the address and why.
    """
    with ExitStack() as undo:
        sockets = []
        for address in addresses:
            sock = undo.enter_context(_unbound(address))
            try:
                sock.bind((address.host, address.port))
                sock.listen(_BACKLOG)
            except OSError as error:
                raise ListenError(
                    f"cannot listen on {address}: {os.strerror(error.errno or 0)}; "
                    "set page.listen to addresses of this box and a free port"
                ) from error
            sockets.append(sock)
        undo.pop_all()
    return tuple(sockets)


def accept(listener: socket.socket) -> socket.socket | None:
    """Take the next client without waiting; None if there is none (any more).

    Raises:
        OSError: when there is no descriptor or memory left for one.
    """
    try:
        sock, _ = listener.accept()
    except OSError as error:
        if error.errno in _NOBODY_THERE:
            return None
        raise
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _unbound(address: Address) -> socket.socket:
    v6 = ":" in address.host
    sock = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if v6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock
