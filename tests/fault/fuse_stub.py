"""A hostile FUSE file system: one file of 1 MiB whose reads, and more if asked, never end.

``python fuse_stub.py MOUNTPOINT MODE [private]``; prints each request it got, one a line.
MODE: ``serve`` answers all, ``hang_read`` no read, ``hang_all`` no read, statfs or flush either.
``private`` mounts in a mount namespace of its own. Speaks the kernel's protocol, needs root.
"""

import ctypes
import os
import struct
import sys

HEADER = struct.Struct("<IIQQIIIHH")
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, INTERRUPT, BATCH_FORGET = 25, 26, 36, 42
NAMES = {READ: "read", STATFS: "statfs", GETATTR: "getattr", OPEN: "open", FLUSH: "flush"}
HANGING = {"serve": (), "hang_read": ("read",), "hang_all": ("read", "statfs", "flush")}
NEW_NAMESPACE, PRIVATE, RECURSIVE = 0x20000, 1 << 18, 0x4000
ROOT = 1
SIZE = 1 << 20
TEXT = b'{"step":1,"seconds":0.5}\n'
DIRECT_IO = 1
ENOSYS = 38


def check(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def mount(point: str, *, private: bool) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if private:
        check(libc.unshare(NEW_NAMESPACE))
        check(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    check(libc.mount(b"stub", point.encode(), b"fuse.stub", 0, options.encode()))
    return device


def attributes(node: int) -> bytes:
    mode, size = (0o40755, 0) if node == ROOT else (0o100644, SIZE)
    return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation: int, node: int, body: bytes, mode: str) -> bytes | int | None:
    """Return the reply, an errno, or None for no answer at all."""
    if operation in (FORGET, BATCH_FORGET, INTERRUPT) or NAMES.get(operation) in HANGING[mode]:
        return None
    if operation == INIT:
        (read_ahead,) = struct.unpack_from("<8xI", body)
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, read_ahead, 0, 0, 0, 131072, 1, 0, 0, 0)
    no_cache = struct.pack("<Q2I", 0, 0, 0)
    replies = {
        READ: TEXT,
        STATFS: struct.pack("<5Q4I24x", *[1] * 5, 4096, 255, 1, 0),
        LOOKUP: struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2),
        GETATTR: no_cache + attributes(node),
        OPEN: struct.pack("<Q2I", 1, DIRECT_IO, 0),
        RELEASE: b"",
        FLUSH: b"",
    }
    return replies.get(operation, ENOSYS)


def main() -> None:
    device = mount(sys.argv[1], private="private" in sys.argv)
    sys.stdout.write("mounted\n")
    sys.stdout.flush()
    while True:
        try:
            request = os.read(device, SIZE)
        except OSError:
            return
        length, operation, unique, node, *_ = HEADER.unpack_from(request)
        sys.stdout.write(f"{NAMES.get(operation, operation)}\n")
        sys.stdout.flush()
        reply = answer(operation, node, request[HEADER.size : length], sys.argv[2])
        if isinstance(reply, int):
            os.write(device, struct.pack("<IiQ", 16, -reply, unique))
        elif reply is not None:
            os.write(device, struct.pack("<IiQ", 16 + len(reply), 0, unique) + reply)


if __name__ == "__main__":
    main()
