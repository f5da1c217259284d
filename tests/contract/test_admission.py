"""Which descriptors are followed, tried on the real file systems of this machine."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pfid.wire.reader import CloseReason
from pfid.workers import admission
from pfid.workers.admission import Admission, Refusal
from pfid.workers.mounts import FUSE_MAGIC, MOUNTS, MountTable


@contextmanager
def opened(path: Path | str, flags: int = os.O_RDONLY) -> Iterator[int]:
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def refusal_of(path: Path | str, flags: int = os.O_RDONLY) -> Refusal | None:
    with opened(path, flags) as fd:
        return Admission().refusal(fd)


def test_a_regular_file_on_a_disk_is_followed(tmp_path: Path):
    (tmp_path / "log").touch()
    assert refusal_of(tmp_path / "log") is None
    assert refusal_of(tmp_path / "log", os.O_RDWR | os.O_APPEND) is None


def test_a_regular_file_on_tmpfs_is_followed_and_a_memfd_is_not(request: pytest.FixtureRequest):
    shared = Path("/dev/shm") / f"pfid-{request.node.name}-{os.getpid()}"
    shared.touch()
    try:
        assert refusal_of(shared) is None
    finally:
        shared.unlink()
    fd = os.memfd_create("log")
    try:
        assert os.path.isfile(f"/proc/self/fd/{fd}"), "it would pass a test for a regular file"  # noqa: PTH113
        refused = Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="memfd")
        assert Admission().refusal(fd) == refused
    finally:
        os.close(fd)


def test_an_unlinked_file_is_still_followed(tmp_path: Path):
    (tmp_path / "log").touch()
    with opened(tmp_path / "log") as fd:
        (tmp_path / "log").unlink()
        assert Admission().refusal(fd) is None


@pytest.mark.parametrize(
    ("path", "detail"),
    [("/proc/self/status", "proc"), ("/proc/kmsg", "proc"), ("/sys/kernel/uevent_seqnum", "sysfs")],
)
def test_the_kernels_own_files_are_refused_though_regular(path: str, detail: str):
    if not os.access(path, os.R_OK):
        path = "/proc/self/status" if detail == "proc" else pytest.skip("no sysfs here")
    assert Path(path).is_file()
    assert refusal_of(path) == Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail=detail)


def test_a_fifo_a_directory_and_a_socket_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    assert refusal_of(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK) == Refusal(
        why=CloseReason.NOT_REGULAR
    )
    assert refusal_of(tmp_path) == Refusal(why=CloseReason.NOT_REGULAR)
    with socket.socket() as sock:
        refusal = Admission().refusal(sock.fileno())
    assert refusal == Refusal(why=CloseReason.NOT_REGULAR)


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_PATH])
def test_what_was_not_opened_for_reading_is_refused(tmp_path: Path, flags: int):
    (tmp_path / "log").touch()
    assert refusal_of(tmp_path / "log", flags) == Refusal(why=CloseReason.NOT_READABLE)


FOREIGN = [
    ("", FUSE_MAGIC, False, False),
    ("", FUSE_MAGIC, True, True),
    ("", 0xEF53, False, True),
    ("", 0x9FA0, False, False),
    ("fuse.sshfs", 0, False, False),
    ("fuse.sshfs", 0, True, True),
    ("virtiofs", 0, False, True),
    ("nfs4", 0, False, True),
    ("debugfs", 0, False, False),
]


@pytest.mark.parametrize(("type_name", "magic", "allow_fuse", "followed"), FOREIGN)
def test_file_systems_that_this_machine_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_name, magic, allow_fuse, followed
):
    """By the name in the mount table; by its magic number where the table does not show it."""
    (tmp_path / "log").touch()
    monkeypatch.setattr(MountTable, "type_of", lambda _self, _fd: type_name)
    monkeypatch.setattr(MountTable, "magic_of", lambda _self, _fd: magic)
    with opened(tmp_path / "log") as fd:
        assert (Admission(allow_fuse=allow_fuse).refusal(fd) is None) is followed


def test_the_mount_table_names_the_file_system_of_a_descriptor(tmp_path: Path):
    (tmp_path / "log").touch()
    with opened(tmp_path / "log") as fd, opened("/proc/self/status") as proc:
        assert MOUNTS.type_of(proc) == "proc"
        assert MOUNTS.type_of(fd) not in ("", "proc")
        assert MOUNTS.magic_of(proc) not in admission.ALLOWED_MAGIC
        assert MOUNTS.magic_of(fd) in admission.ALLOWED_MAGIC


def test_the_cached_attributes_are_those_of_fstat(tmp_path: Path):
    (tmp_path / "log").touch()
    with opened(tmp_path / "log") as fd:
        status = os.fstat(fd)
        device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
        assert MOUNTS.cached_attributes(fd)[::2] == (device, status.st_mode)
