"""A server on a free port and a client that speaks bytes."""

import socket

import pytest

from pfid.adapters.http_server import PageServer
from pfid.config.address import Address


class Client:
    """One connection to a server."""

    def __init__(self, address):
        self.sock = socket.create_connection((address.host, address.port), timeout=10)
        self._rest = b""

    def send(self, data):
        self.sock.sendall(data)
        return self

    def answer(self):
        """Read one answer: status, headers, body."""
        head, body = self.head()
        first, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        while len(body) < int(headers["Content-Length"]):
            body += self._more()
        self._rest = body[int(headers["Content-Length"]) :]
        return int(first.split()[1]), headers, body[: int(headers["Content-Length"])]

    def head(self):
        """Read the head of an answer, and what came with it."""
        data = self._rest
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, rest = data.partition(b"\r\n\r\n")
        return head.decode(), rest

    def is_closed(self):
        """Wait until the server has closed."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def _more(self):
        chunk = self.sock.recv(65536)
        if not chunk:
            raise EOFError
        return chunk


@pytest.fixture
def serve():
    """Start servers and stop them after the test."""
    started = []

    def start(*hosts, page=b"pfid_x 1\n", **given):
        server = PageServer([Address(host, 0) for host in hosts or ("127.0.0.1",)], **given)
        started.append(server)
        if page is not None:
            server.publish(page)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def connect():
    """Open clients and close them after the test."""
    opened = []

    def one(server, index=0):
        opened.append(Client(server.addresses[index]))
        return opened[-1]

    yield one
    for client in opened:
        client.sock.close()


@pytest.fixture
def get(connect):
    """Ask once, on a connection of its own."""

    def ask(server, path="/metrics", *, method="GET", index=0, **headers):
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        request = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()
        return connect(server, index).send(request).answer()

    return ask
