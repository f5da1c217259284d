"""A process that serves one page to anybody and has nothing to do with pfid.

What a load does to pfid's loop is read beside what the same load does when it goes here: it takes
as much of the machine's cores, and nothing of pfid's interpreter.
"""

import asyncio
import subprocess
import sys
from types import TracebackType
from typing import Self


class UnrelatedServer:
    """Runs while the context is open; serves these bytes, packed as they are."""

    def __init__(self, packed: bytes) -> None:
        """Take a body in gzip."""
        self._packed = packed
        self.url = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes")
        self._process.stdin.write(len(self._packed).to_bytes(8, "big") + self._packed)
        self._process.stdin.flush()
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/metrics"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


async def _serve(body: bytes) -> None:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    asyncio.run(_serve(sys.stdin.buffer.read(size)))
