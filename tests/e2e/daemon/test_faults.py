"""What breaks around the daemon: its file, its disk, its clients, its configuration."""

import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pfid.wire.control import GetSnapshot, Refused, Registered, Reload


def test_a_corrupt_state_file_is_moved_aside_and_said(idle_box):
    box = idle_box
    box.state.mkdir()
    (box.state / "pfid.sqlite").write_bytes(b"not a database at all " * 500)
    box.start()
    assert "is corrupt" in box.log()
    aside = list(box.state.glob("pfid.sqlite.corrupt-*"))
    assert [p.read_bytes()[:14] for p in aside] == [b"not a database"]
    child = box.child()
    assert isinstance(box.register(child.pid, "after"), Registered)


def test_a_stored_run_that_cannot_be_read_is_said_by_status_and_counted(box):
    assert isinstance(box.register(box.child().pid, "lost"), Registered)
    box.kill()
    _spoil(box, "lost")
    box.start()
    said = subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "status"],
        env=box.environ | {"COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert said.returncode == 3
    assert "stored state that cannot be read: run lost: " in said.stdout
    assert "pfid attach" in said.stdout
    snapshot = box.ask(GetSnapshot()).snapshot
    [disk] = [source for source in snapshot["samplers"] if source["name"] == "disk"]
    assert disk["errors"] == 1
    assert snapshot["health"]["runs_unread"] == 1


@pytest.mark.full
@pytest.mark.parametrize("again", ["lost", "lost-again"])
def test_a_run_that_cannot_be_read_is_unwatched_no_longer_once_it_is_registered_again(
    box, tmp_path, again
):
    log = tmp_path / "train.log"
    log.write_text("".join(f'{{"step": {n}, "seconds": 1.0}}\n' for n in range(9)))
    child = box.child()
    assert isinstance(box.register(child.pid, "lost", [log], name="train"), Registered)
    box.until("steps are read", lambda: box.run("lost")["run"]["steps_total"] == 9)
    box.kill()
    _spoil(box, "lost")
    box.start()
    assert box.ask(GetSnapshot()).snapshot["health"]["runs_unread"] == 1
    assert isinstance(box.register(child.pid, again, [log], name="train"), Registered)
    box.until("the steps are read", lambda: box.run(again)["run"]["steps_total"] == 9)
    for _ in range(2):
        health = box.ask(GetSnapshot()).snapshot["health"]
        assert (health["runs_unread"], health["state_unread"]) == (0, [])
        box.kill()
        box.start()
    assert box.run(again)["run"]["end"] is None


def test_a_run_that_cannot_be_read_and_began_before_the_boot_was_lost_with_the_host(box):
    assert isinstance(box.register(box.child().pid, "lost"), Registered)
    box.kill()
    _spoil(box, "lost")
    with closing(sqlite3.connect(box.state / "pfid.sqlite")) as db, db:
        db.execute("UPDATE runs SET started_at_s = 1e9")
    box.start()
    health = box.ask(GetSnapshot()).snapshot["health"]
    assert health["runs_unread"] == 0
    assert "lost with the host" in health["state_unread"][0]
    box.kill()
    box.start()
    assert box.ask(GetSnapshot()).snapshot["health"]["state_unread"] == []


def _spoil(box, run_id):
    with closing(sqlite3.connect(box.state / "pfid.sqlite")) as db, db:
        found = db.execute(
            "UPDATE runs SET body = ? WHERE run_id = ?", (b"\xc1 nothing that was stored", run_id)
        )
        assert found.rowcount == 1, "the fault was delivered"


@pytest.mark.full
def test_a_state_file_damaged_while_running_is_noticed_and_a_restart_finds_everything(box):
    child = box.child()
    assert isinstance(box.register(child.pid, "kept"), Registered)
    file = box.state / "pfid.sqlite"
    for part in (file.with_name("pfid.sqlite-wal"), file):
        with part.open("r+b") as damaged:
            damaged.write(b"\xff" * part.stat().st_size)
    box.until("it is said", lambda: "state file corrupt" in box.log())
    assert list(box.state.glob("pfid.sqlite.corrupt-*"))
    box.until("it goes on in a new one", lambda: file.read_bytes()[:15] == b"SQLite format 3")
    before = box.reasons("kept")
    assert before
    assert isinstance(box.register(box.child().pid, "after"), Registered)
    box.kill()
    box.start()
    assert box.log().count("is corrupt") == 1, "the new one is whole"
    assert box.reasons("kept")[: len(before)] == before
    assert box.run("after")["run"]["end"] is None


def test_a_second_daemon_on_the_same_state_is_refused(box):
    other = subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "daemon", "--config", str(box.config)],
        env=box.environ | {"PFID_SOCKET": str(box.folder / "other.sock")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert other.returncode == 3
    assert "another pfid" in other.stderr
    assert box.ask(GetSnapshot())


@pytest.mark.full
@pytest.mark.root
def test_a_full_disk_is_said_and_everything_is_written_once_there_is_room(idle_box):
    box = idle_box
    box.state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(box.state)], check=True)
    try:
        _with_a_full_disk(box)
    finally:
        box.close()
        subprocess.run(["umount", "-l", str(box.state)], check=True)


def _write_for_ever(fd: int) -> None:
    while True:
        os.write(fd, b"x" * 4096)


def _with_a_full_disk(box) -> None:
    box.start()
    first = box.child()
    assert isinstance(box.register(first.pid, "before"), Registered)
    filler = box.state / "filler"
    fd = os.open(filler, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space"):
        _write_for_ever(fd)
    os.close(fd)
    children = [box.child() for _ in range(20)]
    replies = [box.register(c.pid, f"full-{i}") for i, c in enumerate(children)]
    assert any(isinstance(r, Refused) and r.code == "cannot_write" for r in replies)
    box.until("it is said", lambda: _health(box)["store_problem"])
    first.kill()
    first.wait()
    box.until("it goes on watching", lambda: box.end("before"))
    filler.unlink()
    box.until("it is written again", lambda: not _health(box)["store_problem"])
    box.until("nothing was lost", lambda: "killed_by_signal" in box.reasons("before"))
    box.kill()
    box.start()
    assert box.end("before")["signal"] == signal.SIGKILL
    for i in range(len(children)):
        assert box.end(f"full-{i}") is None


def _health(box):
    return box.ask(GetSnapshot()).snapshot["health"]


def test_clients_that_mean_harm_cost_the_others_nothing(box):
    silent = [_connect(box) for _ in range(50)]
    half = _connect(box)
    half.sendall(struct.pack(">I", 1000) + b"{")
    garbage = _connect(box)
    garbage.sendall(struct.pack(">I", 5) + b"\xff\xfe\x00\x01{")
    huge = _connect(box)
    huge.sendall(struct.pack(">I", 2**31))
    flood = _connect(box)
    flood.sendall(b"".join(struct.pack(">I", 2) + b"{}" for _ in range(200)))
    child = box.child()
    assert isinstance(box.register(child.pid, "unharmed"), Registered)
    assert b"bad_request" in garbage.recv(65536)
    assert b"bad_request" in huge.recv(65536)
    for sock in (*silent, half, garbage, huge, flood):
        sock.close()
    assert box.end("unharmed") is None


def test_descriptors_of_a_client_that_breaks_off_are_closed(box):
    marker = os.open(box.config, os.O_RDONLY)
    clients = [_connect(box) for _ in range(20)]
    for sock in clients:
        socket.send_fds(sock, [struct.pack(">I", 100) + b"{"], [marker, marker])
    os.close(marker)
    box.until("they have arrived", lambda: _holds(box.daemon.pid, box.config))
    for sock in clients:
        sock.close()
    box.until("all are closed", lambda: not _holds(box.daemon.pid, box.config))


def _listen_for_ever(peer: socket.socket) -> None:
    while True:
        peer.recv(4096)


def _holds(pid: int, path) -> bool:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(str(link.readlink()))
        except FileNotFoundError:
            continue
    return str(path) in found


def _connect(box) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(10)
    sock.connect(str(box.socket))
    return sock


def test_a_bad_configuration_is_refused_whole_and_the_old_one_kept(box):
    box.config.write_text("[page]\nlissten = 1\n[nonsense]\n")
    reply = box.ask(Reload())
    assert isinstance(reply, Refused)
    assert "page.lissten" in reply.message
    assert "nonsense" in reply.message
    assert _health(box)["config_ok"] is False
    box.config.write_text(
        '[page]\nlisten = ["127.0.0.1:0"]\n[checks.run_stalled]\nenabled = false\n'
    )
    box.daemon.send_signal(signal.SIGHUP)
    box.until("the good one is taken", lambda: _health(box)["config_ok"])
    gates = {g["check"]: g["state"] for g in box.ask(GetSnapshot()).snapshot["gates"]}
    assert gates["run_stalled"] == "disabled"
    assert gates["run_gone"] == "proven"


def test_the_manager_is_told_ready_stopping_and_that_the_loop_goes_round(idle_box, tmp_path):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(tmp_path / "notify.sock"))
    notify.settimeout(20)
    idle_box.environ |= {
        "NOTIFY_SOCKET": str(tmp_path / "notify.sock"),
        "WATCHDOG_USEC": "1000000",
    }
    idle_box.start()
    said: list[str] = []

    def hear(what: str) -> None:
        while not any(what in text for text in said):
            said.append(notify.recv(4096).decode())

    hear("READY=1")
    hear("WATCHDOG=1")
    idle_box.daemon.send_signal(signal.SIGHUP)
    hear("RELOADING=1")
    idle_box.daemon.send_signal(signal.SIGSTOP)
    said.clear()
    notify.settimeout(2.5)
    with pytest.raises(TimeoutError):
        _listen_for_ever(notify)
    idle_box.daemon.send_signal(signal.SIGCONT)
    notify.settimeout(20)
    hear("WATCHDOG=1")
    idle_box.daemon.send_signal(signal.SIGTERM)
    hear("STOPPING=1")
    notify.close()
    assert idle_box.daemon.wait(20) == 0
