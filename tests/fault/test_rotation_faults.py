"""Rotation on file systems that refuse: a clear error, and not a byte lost.

Each fault proves that it was delivered: the error names the kernel's own word for it.
"""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pfid.adapters import rotation
from pfid.adapters.rotation import LogRotator, observe_log
from pfid.domain.errors import LaunchError, NameTakenError
from pfid.policy.rotation import plan_rotation

STAMP = "20261129T101112Z"
LINE = "# pfid run r1 started now\n"


def rotate(*paths, first_line=LINE):
    seen = [observe_log(path) for path in paths]
    steps = plan_rotation(seen, stamp=STAMP, run_id="r1", first_line=first_line)
    descriptor = LogRotator().carry_out(steps)
    if descriptor is not None:
        os.close(descriptor)


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def mount(kind, folder, options):
    subprocess.run(["mount", "-t", kind, "-o", options, kind, folder], check=True)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount("tmpfs", folder, "size=64k")
    yield folder
    ctypes.CDLL(None).umount2(os.fsencode(folder), 2)


@pytest.mark.full
@pytest.mark.root
def test_a_full_disk_is_met_before_anything_moved(small_disk):
    log = small_disk / "train.log"
    log.write_bytes(b"the crashed attempt\n")
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 1024 * 1024)
    before = everything(small_disk)
    with pytest.raises(LaunchError, match=r"cannot write .*No space left.*nothing was lost"):
        rotate(log)
    assert everything(small_disk) == before
    (small_disk / "filler").unlink()
    rotate(log)
    assert everything(small_disk) == {
        "train.log": LINE.encode(),
        f"train.{STAMP}.log": b"the crashed attempt\n",
    }


@pytest.mark.full
@pytest.mark.root
def test_a_full_disk_under_an_empty_log_leaves_it_empty(small_disk):
    log = small_disk / "train.log"
    log.touch()
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 1024 * 1024)
    with pytest.raises(LaunchError, match="No space left"):
        rotate(log)
    assert log.read_bytes() == b""


@pytest.mark.full
@pytest.mark.root
def test_a_full_disk_refuses_the_whole_launch_and_the_child_never_starts(small_disk, tmp_path):
    log = small_disk / "train.log"
    log.write_bytes(b"the crashed attempt\n")
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 1024 * 1024)
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfid", "run", "--name", "train", "--log", log),
            *("--", "touch", tmp_path / "started"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 125
    assert "No space left" in done.stderr
    assert not (tmp_path / "started").exists()
    assert log.read_bytes() == b"the crashed attempt\n"


@pytest.mark.full
@pytest.mark.root
def test_a_read_only_file_system_is_said(tmp_path):
    folder = tmp_path / "ro"
    folder.mkdir()
    mount("tmpfs", folder, "size=64k")
    try:
        (folder / "train.log").write_text("old\n")
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        with pytest.raises(LaunchError, match="Read-only file system"):
            rotate(folder / "train.log")
        assert (folder / "train.log").read_text() == "old\n"
    finally:
        ctypes.CDLL(None).umount2(os.fsencode(folder), 2)


@pytest.mark.full
@pytest.mark.root
def test_a_log_that_is_a_mount_point_cannot_move_and_is_not_lost(tmp_path):
    real, log = tmp_path / "real", tmp_path / "train.log"
    real.write_text("old\n")
    log.touch()
    subprocess.run(["mount", "--bind", real, log], check=True)
    try:
        with pytest.raises(LaunchError, match="busy"):
            rotate(log)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["real", "train.log"]
        assert log.read_text() == "old\n"
    finally:
        ctypes.CDLL(None).umount2(os.fsencode(log), 2)


@pytest.mark.full
@pytest.mark.root
def test_a_folder_of_somebody_elses_is_said_and_nothing_is_touched(tmp_path):
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        folder = Path(place)
        folder.chmod(0o755)
        (folder / "train.log").write_text("old\n")
        done = subprocess.run(
            [
                *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
                *(sys.executable, "-P", "-m", "pfid", "rotate", folder / "train.log"),
            ],
            env=os.environ | {"XDG_STATE_HOME": "/dev/shm/pfid-test-nobody"},
            capture_output=True,
            text=True,
            check=False,
        )
        shutil.rmtree("/dev/shm/pfid-test-nobody", ignore_errors=True)
        assert done.returncode == 1
        assert "Permission denied; nothing was lost" in done.stderr
        assert everything(folder) == {"train.log": b"old\n"}


def test_the_second_logs_failure_takes_the_first_ones_move_back(tmp_path, monkeypatch):
    first, second = tmp_path / "a.log", tmp_path / "b.jsonl"
    first.write_text("first\n")
    second.write_text("second\n")
    asked = []
    really = rotation.rename_without_replacing

    def refusing(source, target):
        asked.append(source)
        if source == str(second):
            raise OSError(errno.EIO, os.strerror(errno.EIO), source)
        really(source, target)

    monkeypatch.setattr(rotation, "rename_without_replacing", refusing)
    before = everything(tmp_path)
    with pytest.raises(LaunchError, match=r"b\.jsonl.*Input/output error"):
        rotate(first, second)
    assert asked[:2] == [str(first), str(second)]
    assert everything(tmp_path) == before


def test_a_name_taken_between_look_and_rename_is_never_replaced(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("old\n")
    steps = plan_rotation([observe_log(log)], stamp=STAMP, run_id="r1", first_line=LINE)
    (tmp_path / f"train.{STAMP}.log").write_text("somebody's\n")
    with pytest.raises(NameTakenError):
        LogRotator().carry_out(steps)
    assert everything(tmp_path) == {
        "train.log": b"old\n",
        f"train.{STAMP}.log": b"somebody's\n",
    }


def test_a_log_that_comes_back_between_move_and_publish_is_never_replaced(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("old\n")
    steps = plan_rotation([observe_log(log)], stamp=STAMP, run_id="r1", first_line=LINE)
    rotator = LogRotator()
    for step in steps[:-1]:
        rotator.carry_out_one(step)
    log.write_text("written by a worker that was left behind\n")
    with pytest.raises(FileExistsError):
        rotator.carry_out_one(steps[-1])
    rotator.take_back()
    assert b"written by a worker that was left behind\n" in everything(tmp_path).values()
    assert b"old\n" in everything(tmp_path).values()


def test_an_empty_log_that_got_text_meanwhile_is_looked_at_again(tmp_path):
    log = tmp_path / "train.log"
    log.touch()
    steps = plan_rotation([observe_log(log)], stamp=STAMP, run_id="r1", first_line=LINE)
    log.write_text("text\n")
    with pytest.raises(NameTakenError):
        LogRotator().carry_out(steps)
    assert log.read_text() == "text\n"


@pytest.mark.parametrize("taken", [False, True])
def test_where_the_flag_is_unknown_a_reserved_name_does_the_same(tmp_path, monkeypatch, taken):
    monkeypatch.setattr(rotation, "_renameat2", lambda *_: errno.EINVAL)
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("text\n")
    if taken:
        target.write_text("somebody's\n")
        with pytest.raises(FileExistsError):
            rotation.rename_without_replacing(str(source), str(target))
        assert everything(tmp_path) == {"a": b"text\n", "b": b"somebody's\n"}
    else:
        rotation.rename_without_replacing(str(source), str(target))
        assert everything(tmp_path) == {"b": b"text\n"}


def test_a_source_that_vanished_leaves_no_reserved_name_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(rotation, "_renameat2", lambda *_: errno.ENOSYS)
    with pytest.raises(FileNotFoundError):
        rotation.rename_without_replacing(str(tmp_path / "a"), str(tmp_path / "b"))
    assert everything(tmp_path) == {}


def test_a_folder_that_does_not_exist_is_said_with_what_to_do(tmp_path):
    with pytest.raises(LaunchError, match="give a folder that exists"):
        observe_log(tmp_path / "none" / "train.log")


@pytest.mark.parametrize("make", ["symlink", "dangling", "fifo", "folder"])
def test_what_is_no_regular_file_is_refused(tmp_path, make):
    log = tmp_path / "train.log"
    (tmp_path / "real").write_text("text\n")
    match make:
        case "symlink":
            log.symlink_to("real")
        case "dangling":
            log.symlink_to("nowhere")
        case "fifo":
            os.mkfifo(log)
        case "folder":
            log.mkdir()
    with pytest.raises(LaunchError, match="nothing was touched"):
        rotate(log)
    assert (tmp_path / "real").read_text() == "text\n"
    assert os.path.lexists(log)


def test_a_name_too_long_to_rotate_is_said(tmp_path):
    log = tmp_path / ("n" * 240 + ".log")
    log.write_text("text\n")
    with pytest.raises(LaunchError, match="File name too long"):
        rotate(log)
    assert everything(tmp_path) == {log.name: b"text\n"}


@pytest.mark.parametrize("name", ["train", "train.tar.gz", ".hidden", "ünïcode \n.log", "-dash"])
def test_odd_names_rotate_as_well(tmp_path, name):
    log = tmp_path / name
    log.write_text("text\n")
    rotate(log)
    [kept] = [body for other, body in everything(tmp_path).items() if other != name]
    assert kept == b"text\n"
    assert Path(log).read_text() == LINE
