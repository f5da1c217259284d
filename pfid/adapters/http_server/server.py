"""One thread, one selector, a bounded number of clients, no name ever looked up."""

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final, Protocol

from pfid.adapters.http_server.connection import Connection, Stage
from pfid.adapters.http_server.listeners import accept, listen
from pfid.adapters.http_server.prepared import PreparedPage
from pfid.adapters.http_server.request import Request
from pfid.adapters.http_server.response import plain
from pfid.adapters.http_server.site import Site, Status
from pfid.adapters.http_server.streams import PlainStream, Stream
from pfid.config.address import Address

CONNECTIONS_MAX: Final = 64
ACCEPT_PAUSE_S: Final = 1.0
_ACCEPTS_A_ROUND: Final = 16
_EVICTION_ORDER: Final = (
    Stage.HANDSHAKE,
    Stage.READING,
    Stage.LINGERING,
    Stage.IDLE,
    Stage.WRITING,
)
_UNFINISHED: Final = frozenset({Stage.HANDSHAKE, Stage.READING, Stage.WRITING})
CERTIFICATES_LOOKED_AT_S: Final = 1.0


class Securing(Protocol):
    """What puts TLS in front of clients: :class:`pfid.adapters.http_server.tls.Certificates`."""

    def stream(self, sock: socket.socket) -> Stream:
        """Put it in front of one that was just accepted."""
        ...

    def look(self) -> None:
        """Take files that were replaced."""
        ...


class PageServer:
    """Serves the bytes it was last given. A scrape never triggers or waits for collection.

    ``scrapes``, ``last_scrape_s`` (monotonic, None before the first) and ``scrape_gap_s`` (from the
    one before to it, None before the second) tell the loop whether and how often anybody reads the
    page, so that it renders only then.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        *,
        live: Callable[["PageServer"], bytes] = lambda _: b"",
        healthy: Callable[[], bool] = lambda: True,
        connections_max: int = CONNECTIONS_MAX,
        secure: Securing | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Bind every address; port 0 gets a free one, see ``addresses``.

        Args:
            addresses: where to listen.
            live: families made at the moment of a scrape, see :mod:`pfid.adapters.page.live`.
            healthy: whether the daemon goes round, asked by ``/-/healthy``; must not block.
            connections_max: clients at once; over it the oldest unfinished one is cut.
            secure: puts TLS in front of every client; None for plain HTTP.
            monotonic: clock of the deadlines.

        Raises:
            ListenError: naming the address that cannot be had and why.
        """
        self.requests = 0
        self.evicted = 0
        self.last_scrape_s: float | None = None
        self.scrape_gap_s: float | None = None
        self._monotonic = monotonic
        self._connections_max = connections_max
        self._secure = secure
        self._looked_s = monotonic()
        self._site = Site(live=lambda: live(self), healthy=healthy)
        self._listeners = listen(addresses)
        self.addresses = tuple(Address(*s.getsockname()[:2]) for s in self._listeners)
        self._paused_until_s: float | None = None
        self._connections: dict[int, Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._watch_listeners()
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="pfid-page", daemon=True)

    def start(self) -> None:
        """Begin to serve, from a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and give every descriptor back, the port with them."""
        self._stopping = True
        if self._thread.is_alive():
            self._wake_out.send(b"x")
            self._thread.join()
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._selector.close()
        for sock in (*self._listeners, self._wake_in, self._wake_out):
            sock.close()

    def publish(self, page: bytes) -> None:
        """Serve this page from now on; packed beforehand, if the one before was asked for so."""
        made = PreparedPage(page)
        if self._site.packs:
            made.pack()
        self._site.page = made

    def publish_selftest(self, page: bytes | None) -> None:
        """Serve this page of what a live self-test made; None when there is nothing."""
        self._site.selftest = None if page is None else PreparedPage(page)

    def publish_status(self, status: Status) -> None:
        """Show this to people from now on; it is made when somebody asks."""
        self._site.status = status

    def set_ready(self, *, ready: bool) -> None:
        """What ``/-/ready`` says."""
        self._site.ready = ready

    def secure(self, securing: Securing | None) -> None:
        """Meet clients with this from now on; who is connected stays so."""
        self._secure = securing

    @property
    def scrapes(self) -> int:
        """How often the page was asked for."""
        return self._site.scrapes

    @property
    def url(self) -> str | None:
        """The page at the first address, None if there is no address."""
        scheme = "http" if self._secure is None else "https"
        return f"{scheme}://{self.addresses[0]}/metrics" if self.addresses else None

    def _serve(self) -> None:
        while not self._stopping:
            ready = self._selector.select(self._timeout_s())
            now_s = self._monotonic()
            for key, _ in ready:
                if isinstance(key.data, Connection):
                    self._turn(key.data, now_s)
                elif key.fileobj is not self._wake_in and isinstance(key.fileobj, socket.socket):
                    self._accept(key.fileobj, now_s)
            self._expire(now_s)

    def _timeout_s(self) -> float | None:
        due = [c.deadline_s for c in self._connections.values()]
        if self._paused_until_s is not None:
            due.append(self._paused_until_s)
        return max(min(due) - self._monotonic(), 0.0) if due else None

    def _turn(self, connection: Connection, now_s: float) -> None:
        if connection.stage is Stage.CLOSED:
            return
        if connection.wants_to_write:
            connection.writable(now_s, self._answer)
        else:
            connection.readable(now_s, self._answer)
        self._settle(connection)

    def _answer(self, request: Request) -> bytes:
        self.requests += 1
        before = self._site.scrapes
        try:
            answer = self._site.answer(request)
        except Exception:  # noqa: BLE001 - the thread outlives whatever `live` and `healthy` raise
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, keep_alive=request.keep_alive)
        if self._site.scrapes != before:
            now_s, last_s = self._monotonic(), self.last_scrape_s
            self.scrape_gap_s = None if last_s is None else now_s - last_s
            self.last_scrape_s = now_s
        return answer

    def _settle(self, connection: Connection) -> None:
        if connection.stage is Stage.CLOSED:
            self._drop(connection)
            return
        wanted = selectors.EVENT_WRITE if connection.wants_to_write else selectors.EVENT_READ
        if self._selector.get_key(connection.stream).events != wanted:
            self._selector.modify(connection.stream, wanted, connection)

    def _accept(self, listener: socket.socket, now_s: float) -> None:
        for _ in range(_ACCEPTS_A_ROUND):
            try:
                sock = accept(listener)
            except OSError:
                self._out_of_descriptors(now_s)
                return
            if sock is None:
                return
            if len(self._connections) >= self._connections_max:
                self._evict()
            connection = Connection(self._stream(sock), now_s)
            self._connections[connection.stream.fileno()] = connection
            self._selector.register(connection.stream, selectors.EVENT_READ, connection)
            self._turn(connection, now_s)

    def _stream(self, sock: socket.socket) -> Stream:
        secure = self._secure
        if secure is None:
            return PlainStream(sock)
        now_s = self._monotonic()  # the client before may have been answered within this turn
        if now_s - self._looked_s >= CERTIFICATES_LOOKED_AT_S:
            self._looked_s = now_s
            secure.look()
        return secure.stream(sock)

    def _out_of_descriptors(self, now_s: float) -> None:
        """Make room; with nobody to cut, listen again later instead of spinning on the refusal."""
        if self._connections:
            self._evict()
            return
        for listener in self._listeners:
            self._selector.unregister(listener)
        self._paused_until_s = now_s + ACCEPT_PAUSE_S

    def _watch_listeners(self) -> None:
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ)

    def _evict(self) -> None:
        """Cut the oldest of those that matter least."""
        self.evicted += 1
        self._drop(
            min(
                self._connections.values(),
                key=lambda c: (_EVICTION_ORDER.index(c.stage), c.since_s),
            )
        )

    def _expire(self, now_s: float) -> None:
        if self._paused_until_s is not None and now_s >= self._paused_until_s:
            self._paused_until_s = None
            self._watch_listeners()
        for connection in _overdue(self._connections.values(), now_s):
            self.evicted += connection.stage in _UNFINISHED
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._selector.unregister(connection.stream)
        del self._connections[connection.stream.fileno()]
        connection.close()


def _overdue(connections: Iterable[Connection], now_s: float) -> list[Connection]:
    return [c for c in connections if now_s >= c.deadline_s]
