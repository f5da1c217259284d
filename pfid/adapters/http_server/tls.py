"""TLS in front of a client: step by step in the selector's loop, never a call that waits.

``prometheus_client`` wraps the listening socket, so that one silent client stops every scrape
(METRICS, finding 2). Here a handshake is one more stage of a connection, with a deadline.
"""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pfid.config.model import TlsServer
from pfid.domain.errors import ConfigError

_VERIFY: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_VERSION: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_SAN_KINDS: Final = frozenset({"DNS", "email", "IP Address", "URI"})
_LATER: Final = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


class TlsStream:
    """One client behind TLS."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, sans: frozenset[str]) -> None:
        """Take a non-blocking socket over; nothing is sent or read yet."""
        self._sock = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        self._sans = sans
        self._over = False
        self._refused = False
        self.welcome = True
        self.wants_to_write = False
        self.fileno = self._sock.fileno
        self.close = self._sock.close

    def handshake(self) -> bool:
        """Go on with the handshake.

        Raises:
            BlockingIOError: if it waits for the client.
            OSError: if the client cannot be let in.
        """
        try:
            self._sock.do_handshake()
        except _LATER as error:
            self.wants_to_write = isinstance(error, ssl.SSLWantWriteError)
            raise BlockingIOError from error
        self.wants_to_write = False
        if self._sans:
            names = _names(self._sock.getpeercert() or {})
            self.welcome = not self._sans.isdisjoint(names)
        return True

    def recv(self, size: int) -> bytes:
        """Take what came in; after the end of our side whatever is left, undecrypted."""
        if self._refused:
            return socket.socket.recv(self._sock, size)
        try:
            return self._sock.recv(size)
        except _LATER as error:
            raise BlockingIOError from error

    def pending(self) -> bool:
        """Whether decrypted bytes wait, which the selector does not know of."""
        return not self._over and self._sock.pending() > 0

    def send(self, data: memoryview) -> int:
        """Send it; the same bytes must be offered again after BlockingIOError."""
        try:
            return self._sock.send(data)
        except _LATER as error:
            raise BlockingIOError from error

    def refuse(self) -> None:
        """End our side after a handshake that failed; OpenSSL has told the client why."""
        self._refused = self._over = True
        self._sock.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        """Tell the client that this was all, in TLS and in TCP."""
        with contextlib.suppress(OSError):  # the client need not answer to it
            self._sock.unwrap()
        self._over = True
        self._sock.shutdown(socket.SHUT_WR)


def _names(certificate: dict[str, Any]) -> Iterator[str]:
    for kind, name in certificate.get("subjectAltName", ()):
        if kind in _SAN_KINDS:
            yield name


class Certificates:
    """What clients are met with; read anew when told to, or when a file was replaced."""

    def __init__(self, config: TlsServer, *, say: Callable[[str], None] = lambda _: None) -> None:
        """Read certificate, key and authorities.

        Args:
            config: with ``cert_file`` and ``key_file``.
            say: is told why replaced files are not taken; the old ones stay in use.

        Raises:
            ConfigError: naming the file and what is wrong with it.
        """
        self._config = config
        self._say = say
        self._seen = _stamps(config)
        self._refused = self._seen
        self._context = _context(config)
        self._sans = frozenset(config.client_allowed_sans)

    def stream(self, sock: socket.socket) -> TlsStream:
        """Put TLS in front of a client that was just accepted."""
        return TlsStream(sock, self._context, self._sans)

    def look(self) -> None:
        """Take replaced files; a certificate without its key yet is tried again later."""
        stamps = _stamps(self._config)
        if stamps in (self._seen, self._refused):
            return
        try:
            self._context = _context(self._config)
            self._seen = stamps
        except ConfigError as error:
            self._refused = stamps
            self._say(str(error))


def _stamps(config: TlsServer) -> tuple[tuple[int, ...] | None, ...]:
    files = (config.cert_file, config.key_file, config.client_ca_file)
    return tuple(_stamp(Path(f)) for f in files if f)


def _stamp(file: Path) -> tuple[int, ...] | None:
    """Its change time too: a file that is let be read by its mode or group changes nothing else."""
    try:
        seen = file.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_size


def _context(config: TlsServer) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSION[config.min_version]
    # A resumed session would be let in by what was asked of an earlier one.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    where = "tls_server_config"
    with _Naming(f"{where}.cert_file {config.cert_file} with key_file {config.key_file}"):
        # Without a password of ours OpenSSL would ask for one on the terminal.
        context.load_cert_chain(config.cert_file, config.key_file, password=lambda: "")
    if config.client_ca_file:
        with _Naming(f"{where}.client_ca_file {config.client_ca_file}"):
            context.load_verify_locations(cafile=config.client_ca_file)
    context.verify_mode = _VERIFY[config.client_auth_type]
    return context


class _Naming:
    """Turns what OpenSSL says into a sentence about a file."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | ValueError):
            said = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
            raise ConfigError((f"{self._what}: cannot be used: {said}",)) from error
