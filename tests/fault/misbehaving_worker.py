"""A worker that does as its first argument says: ``python misbehaving_worker.py FD FD MODE``.

``echo`` sends back what it gets and then its environment; the others misbehave by name.
"""

import os
import signal
import sys
import time

from pfid.wire.framing import frame
from pfid.workers.bond import die_with_owner, inherited
from pfid.workers.channel import Channel
from pfid.workers.touch_cell import TouchCell


def misbehave(mode: str, channel: Channel, cell: TouchCell) -> None:
    if mode == "rubbish":
        os.write(channel.fileno(), b"\xff" * 64)
    elif mode == "unreadable":
        os.write(channel.fileno(), frame(b"not what was agreed"))
    elif mode == "chatter":
        os.write(2, b"\x1b[31m" + b"x" * 1_000_000)
        os.write(channel.fileno(), frame(b"said"))
    elif mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        cell.set(42)
    elif mode == "glutton":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        cell.set(7)
        held = []
        while True:
            held.append(bytearray(os.urandom(1) * 4_000_000))
            time.sleep(0.01)
    elif mode == "hang_up":
        channel.close()
    elif mode == "stopped":
        os.write(channel.fileno(), frame(str(os.getpid()).encode()))
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(3600)


def echo(channel: Channel) -> None:
    channel.send("\n".join(sorted(os.environ)).encode())
    while not channel.closed:
        for body in channel.receive() or ():
            fd = channel.claim() if body == b"with a descriptor" else None
            channel.send(body if fd is None else os.read(fd, 100))
        time.sleep(0.005)


def main() -> None:
    mode = sys.argv[3]
    if mode == "crash":
        sys.exit("worker says why it cannot live")
    channel, cell = inherited(sys.argv[1:3])
    die_with_owner()
    if mode == "echo":
        echo(channel)
    else:
        misbehave(mode, channel, cell)


if __name__ == "__main__":
    main()
