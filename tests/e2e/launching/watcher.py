"""Stands in for a daemon: a real socket that notes what it is told and what it is handed.

Run as a program: ``python watcher.py SOCKET NOTES``; every request becomes a line of JSON.
"""

import json
import os
import selectors
import socket
import sys
from pathlib import Path

from pfid.wire.control import Done, Register, Registered, decode_request, encode
from pfid.wire.framing import Unframer, frame


def look_at(descriptor: int) -> dict[str, object]:
    """Tell what a handed-over descriptor is."""
    found = {
        "inode": os.fstat(descriptor).st_ino,
        "is": str(Path(f"/proc/self/fd/{descriptor}").readlink()),
    }
    info = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    pid = [line.split()[1] for line in info.splitlines() if line.startswith("Pid:")]
    found["pid"] = int(pid[0]) if pid else None
    found["flags"] = int(info.split("flags:")[1].split()[0], 8)
    os.close(descriptor)
    return found


def main() -> None:
    place, notes = Path(sys.argv[1]), Path(sys.argv[2])
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen(64)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    unframers: dict[socket.socket, Unframer] = {}
    handed: dict[socket.socket, list[int]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                selector.register(connection, selectors.EVENT_READ)
                unframers[connection], handed[connection] = Unframer(), []
                continue
            connection = key.fileobj
            data, fds, _, _ = socket.recv_fds(connection, 65536, 253)
            handed[connection] += fds
            if not data:
                selector.unregister(connection)
                connection.close()
                continue
            for body in unframers[connection].feed(data):
                request = decode_request(body)
                seen = [look_at(fd) for fd in handed[connection]]
                handed[connection] = []
                with notes.open("a") as file:
                    file.write(json.dumps({"request": json.loads(body), "fds": seen}) + "\n")
                reply = (
                    Registered(run_id=request.run_id, metrics_url="http://127.0.0.1:9/metrics")
                    if isinstance(request, Register)
                    else Done()
                )
                connection.sendall(frame(encode(reply)))


if __name__ == "__main__":
    main()
