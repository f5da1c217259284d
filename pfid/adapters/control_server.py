"""The control socket's server: one thread, no client can hold up another.

It frames, decodes, counts and looks at descriptors; what a request means is the loop's business.
Silent, half-open, slow and garbage-sending clients cost a descriptor until they are cut off.
"""

import contextlib
import os
import queue
import selectors
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pfid.adapters.control_connection import Connection, Incoming, Peer, close_all, peer_of
from pfid.adapters.control_listener import bound
from pfid.adapters.control_users import Allowance, Users, over
from pfid.adapters.descriptor_inspector import DescriptorInspector, Inspection
from pfid.domain.errors import WireError
from pfid.wire.control import (
    HandOver,
    Refused,
    Register,
    Reply,
    Request,
    Role,
    decode_request,
    encode,
)

STUCK_S: Final = 10.0
"""Half a request, or a reply nobody reads, is waited for so long."""
_ACCEPT_PAUSE_S: Final = 0.5
_SILENT_FILE: Final = Refused(
    code="bad_descriptor",
    message="a handed-over file did not answer in time",
    remedy="check that its file system is alive",
)


OnRequest = Callable[[Peer, Request, tuple[int, ...]], None]


class ControlServer:
    """Binds, listens, answers."""

    def __init__(
        self,
        path: Path,
        *,
        mode: int,
        on_request: OnRequest,
        on_left: Callable[[int], None],
        look: Callable[[int], str],
        allowance: Allowance | None = None,
    ) -> None:
        """Bind the socket; nobody is answered before ``start``.

        Args:
            path: where; a stale socket there is replaced, a live one is not.
            mode: of the socket, decides who may connect.
            on_request: gets a request and its descriptors, which become its own; called in the
                server's thread, only hands on.
            on_left: gets the ``conn`` of a client that left.
            look: see DescriptorInspector.
            allowance: see there.

        Raises:
            OSError: if it cannot be bound.
        """
        self._path = path
        self._on_request = on_request
        self._on_left = on_left
        self._users = Users(allowance or Allowance())
        self._inspector = DescriptorInspector(look, self._inspected)
        self._inspected_for: dict[int, tuple[Peer, Request, tuple[int, ...]]] = {}
        self._connections: dict[int, Connection] = {}
        self._next_conn = 1
        self._next_tag = 0
        self._accept_again_s = 0.0
        self._stopping = False
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._listener = bound(path, mode)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_fd, selectors.EVENT_READ, None)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def reply(self, conn: int, reply: Reply) -> None:
        """Answer a client's request; from any thread. A client that left is no matter."""
        self._command(("reply", conn, reply))

    def close(self) -> None:
        """Stop and remove the socket."""
        self._stopping = True
        self._command(None)
        if self._thread.ident is not None:
            self._thread.join()
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._listener.close()
        self._selector.close()
        os.close(self._wake_fd)
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _command(self, command: Any) -> None:
        self._commands.put(command)
        with contextlib.suppress(OSError):
            os.eventfd_write(self._wake_fd, 1)

    def _inspected(self, inspection: Inspection) -> None:
        self._command(("inspected", inspection, None))

    # Everything below runs in the server's thread.

    def _run(self) -> None:
        while not self._stopping:
            for key, events in self._selector.select(self._wait_s()):
                if key.data is not None:
                    self._serve(key.data, events)
                elif key.fd == self._wake_fd:
                    self._obey()
                else:
                    self._accept()
            self._look_at_the_clock()

    def _wait_s(self) -> float | None:
        now_s = time.monotonic()
        due = [self._inspector.next_due_s(), self._accept_again_s or None]
        due += [
            c.blocked_since_s + STUCK_S
            for c in self._connections.values()
            if c.blocked_since_s is not None
        ]
        known = [d for d in due if d is not None]
        return max(0.0, min(known) - now_s) if known else None

    def _look_at_the_clock(self) -> None:
        now_s = time.monotonic()
        for inspection in self._inspector.overdue(now_s):
            peer, _, fds = self._inspected_for[inspection.tag]
            if not inspection.begun:
                del self._inspected_for[inspection.tag]
                close_all(fds)
            self._answer(peer.conn, _SILENT_FILE)
        for connection in list(self._connections.values()):
            since_s = connection.blocked_since_s
            if since_s is not None and now_s - since_s >= STUCK_S:
                self._drop(connection)
        if self._accept_again_s and now_s >= self._accept_again_s:
            self._accept_again_s = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ, None)

    def _obey(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
        with contextlib.suppress(queue.Empty):
            while (command := self._commands.get_nowait()) is not None:
                kind, subject, value = command
                if kind == "reply":
                    self._answer(subject, value)
                else:
                    self._look_is_over(subject)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptors left: others may still be served
            self._selector.unregister(self._listener)
            self._accept_again_s = time.monotonic() + _ACCEPT_PAUSE_S
            return
        try:
            peer = peer_of(sock, self._next_conn)
        except OSError:
            sock.close()
            return
        self._next_conn += 1
        connection = Connection(sock, peer)
        if not self._users.admits(peer.uid):
            connection.send(encode(over("connections")), time.monotonic())
            connection.close()
            return
        self._connections[peer.conn] = connection
        self._users.joined(peer.uid)
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _serve(self, connection: Connection, events: int) -> None:
        now_s = time.monotonic()
        if connection.peer.conn not in self._connections:
            return
        if events & selectors.EVENT_WRITE and not connection.flush(now_s):
            self._drop(connection)
            return
        if events & selectors.EVENT_READ:
            try:
                alive = connection.receive(now_s)
            except WireError as error:
                self._refuse_and_drop(connection, str(error))
                return
            if not alive:
                self._drop(connection)
                return
            self._weigh(connection)
            if self._users.sends_too_much(connection.peer.uid):
                connection.send(encode(over("bytes of unanswered requests")), now_s)
                self._drop(connection)
                return
        self._go_on(connection)

    def _weigh(self, connection: Connection) -> None:
        """Note what it holds; whatever changes that comes here afterwards."""
        self._users.holds(
            connection.peer.uid,
            connection.peer.conn,
            request_bytes=connection.request_bytes,
            reply_bytes=connection.unsent_bytes,
        )

    def _go_on(self, connection: Connection) -> None:
        # Who does not read its replies is asked nothing more: they would pile up here.
        while connection.waiting and not connection.busy and not connection.unsent_bytes:
            self._take(connection, connection.next_request())
        if connection.peer.conn in self._connections:
            self._weigh(connection)
            wanted = selectors.EVENT_READ
            if connection.unsent_bytes:
                wanted |= selectors.EVENT_WRITE
            self._selector.modify(connection.sock, wanted, connection)

    def _take(self, connection: Connection, incoming: Incoming) -> None:
        peer = connection.peer
        try:
            request = decode_request(incoming.body)
        except WireError as error:
            close_all(incoming.fds)
            self._answer(peer.conn, Refused(code="bad_request", message=str(error)))
            return
        if not self._users.within_rate(peer.uid, time.monotonic()):
            close_all(incoming.fds)
            self._answer(peer.conn, over("requests per second"))
            return
        roles = request.roles if isinstance(request, Register | HandOver) else []
        if len(roles) != len(incoming.fds):
            close_all(incoming.fds)
            said = f"{len(incoming.fds)} descriptors came for {len(roles)} roles"
            self._answer(peer.conn, Refused(code="bad_descriptor", message=said))
            return
        files = [fd for fd, role in zip(incoming.fds, roles, strict=True) if role is not Role.PIDFD]
        if not files:
            self._on_request(peer, request, incoming.fds)
            return
        self._next_tag += 1
        self._inspected_for[self._next_tag] = (peer, request, incoming.fds)
        inspection = Inspection(uid=peer.uid, fds=files, tag=self._next_tag)
        self._inspector.submit(inspection, time.monotonic())

    def _look_is_over(self, inspection: Inspection) -> None:
        self._inspector.finished(inspection, time.monotonic())
        peer, request, fds = self._inspected_for.pop(inspection.tag)
        if inspection.given_up:
            close_all(fds)
        elif inspection.problem or inspection.problem is None:
            close_all(fds)
            said = f"a handed-over file {inspection.problem or 'could not be looked at'}"
            self._answer(peer.conn, Refused(code="bad_descriptor", message=said))
        else:
            self._on_request(peer, request, fds)

    def _answer(self, conn: int, reply: Reply) -> None:
        connection = self._connections.get(conn)
        if connection is None:
            return
        if self._users.reads_too_little(connection.peer.uid):
            reply = over("bytes of unread replies")
        connection.answered()
        if not connection.send(encode(reply), time.monotonic()):
            self._drop(connection)
            return
        self._go_on(connection)

    def _refuse_and_drop(self, connection: Connection, why: str) -> None:
        connection.send(encode(Refused(code="bad_request", message=why)), time.monotonic())
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        conn = connection.peer.conn
        if self._connections.pop(conn, None) is None:
            return
        self._users.left(connection.peer.uid, conn)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection.sock)
        connection.close()
        self._on_left(conn)
