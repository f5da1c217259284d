"""The daemon is killed and comes back; nothing acknowledged is lost, nothing is told twice."""

import array
import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pfid.domain.errors import ControlError
from pfid.wire.control import Ended, GetSnapshot, HandedLog, HandOver, Register, Registered, Role


def test_a_living_run_is_found_again_by_its_identity(box):
    child = box.child()
    box.register(child.pid, "lives")
    box.kill()
    box.start()
    assert box.end("lives") is None
    child.kill()
    child.wait()
    end = box.until("its end is seen", lambda: box.end("lives"))
    assert (end["kind"], end["signal"]) == ("signaled", signal.SIGKILL)
    box.until("it is told", lambda: "killed_by_signal" in box.reasons("lives"))
    assert box.reasons("lives").count("killed_by_signal") == 1


def test_what_ended_meanwhile_with_nobody_to_tell_ended_unobserved(box):
    child = box.child()
    box.register(child.pid, "unseen")
    box.kill()
    child.kill()
    child.wait()
    box.start()
    end = box.until("its end is said", lambda: box.end("unseen"))
    assert end["kind"] == "unobserved"
    assert box.run("unseen")["run"]["state"] == "lost"


def test_a_launcher_that_registers_again_brings_the_status_of_what_ended_meanwhile(box):
    child = box.child("sh", "-c", "read x; exit 9", stdin=-1)
    box.register(child.pid, "told")
    pidfd = os.pidfd_open(child.pid)
    box.kill()
    child.communicate(b"go\n")
    box.start()

    again = Register(
        name="told",
        run_id="told",
        pid=child.pid,
        start_ticks=None,
        started_at_s=0.0,
        source="captured",
        roles=[Role.PIDFD],
    )
    assert isinstance(box.ask(again, [pidfd]), Registered)
    os.close(pidfd)
    end = box.until("its end is said", lambda: box.end("told"))
    assert (end["kind"], end["exit_code"]) == ("exited", 9)


def test_a_launcher_that_waited_for_it_tells_how_it_ended(box):
    child = box.child()
    box.register(child.pid, "waited")
    box.kill()
    child.kill()
    child.wait()
    box.start()
    box.ask(Ended(run_id="waited", exit_code=None, signal=9, at_s=time.time()))
    end = box.until("its end is said", lambda: box.end("waited"))
    assert (end["kind"], end["signal"]) == ("signaled", 9)


def test_a_log_is_read_on_at_its_offset_and_no_step_counts_twice(box, tmp_path):
    log = tmp_path / "steps.log"
    log.write_text("")
    child = box.child()
    box.register(child.pid, "reads", [log])

    def write(first: int, last: int) -> None:
        with log.open("a") as out:
            for i in range(first, last):
                out.write(f'{{"step": {i}, "seconds": 0.5, "loss": 1.0}}\n')

    write(1, 51)
    box.until("50 steps", lambda: box.run("reads")["run"]["steps_total"] == 50)
    box.kill()
    write(51, 101)
    box.start()

    fds = [os.pidfd_open(child.pid), os.open(log, os.O_RDONLY)]
    again = Register(
        name="reads",
        run_id="reads",
        pid=child.pid,
        start_ticks=None,
        started_at_s=0.0,
        source="captured",
        roles=[Role.PIDFD, Role.LOG],
        logs=[HandedLog()],
    )
    box.ask(again, fds)
    for fd in fds:
        os.close(fd)
    box.until("all of them", lambda: box.run("reads")["run"]["steps_total"] >= 100)
    assert box.run("reads")["run"]["steps_total"] == 100
    assert box.run("reads")["run"]["summary"]["n"] == 99


PLACES = {"first.log": 0, "second.log": 1}


def _register_places(box, child, logs) -> None:
    """Register a run whose launcher counts its logs, handed over in any order."""
    fds = [os.pidfd_open(child.pid), *(os.open(log, os.O_RDONLY) for log in logs)]
    request = Register(
        name="turns",
        run_id="turns",
        pid=child.pid,
        start_ticks=None,
        started_at_s=0.0,
        source="captured",
        roles=[Role.PIDFD, *(Role.LOG for _ in logs)],
        logs=[HandedLog(place=PLACES[log.name]) for log in logs],
    )
    box.ask(request, fds)
    for fd in fds:
        os.close(fd)


def test_a_rotated_log_goes_on_also_after_a_restart_and_the_other_one_stays_itself(box, tmp_path):
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_text("")
    second.write_text("note\n")
    child = box.child()
    _register_places(box, child, [second, first])

    def write(begin: int, end: int) -> None:
        with first.open("a") as out:
            for i in range(begin, end):
                out.write(f'{{"step": {i}, "seconds": 0.5, "loss": 1.0}}\n')

    def steps() -> int:
        return int(box.run("turns")["run"]["steps_total"])

    write(1, 51)
    box.until("50 steps", lambda: steps() == 50)
    first.rename(tmp_path / "first.log.1")
    write(51, 101)
    handed = [HandedLog(place=PLACES[first.name], replaces=True)]
    fd = os.open(first, os.O_RDONLY)
    box.ask(HandOver(run_id="turns", roles=[Role.LOG], logs=handed), [fd])
    os.close(fd)
    box.until("100 steps", lambda: steps() == 100)
    box.kill()
    write(101, 151)
    box.start()
    _register_places(box, child, [first, second])
    box.until("150 steps", lambda: steps() >= 150)
    assert steps() == 150
    assert box.run("turns")["run"]["summary"]["n"] == 149
    assert box.verdicts("turns")["log_is_one_run"] == ("pass", "one_run")


class Store:
    """Keeps descriptors as systemd does."""

    def __init__(self, path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.kept: list[tuple[str, int]] = []
        self.said: list[str] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(65536, 4096)
            except OSError:
                return
            if not data:
                return
            text = data.decode()
            self.said.append(text)
            fields = dict(line.split("=", 1) for line in text.splitlines())
            for _, _, fds in ancillary:
                numbers = array.array("i", fds[: len(fds) - len(fds) % 4])
                assert fields["FDPOLL"] == "0"
                self.kept += [(fields["FDNAME"], fd) for fd in numbers]
            if "FDSTOREREMOVE" in fields:
                for name, fd in [k for k in self.kept if k[0] == fields["FDNAME"]]:
                    self.kept.remove((name, fd))
                    os.close(fd)

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.socket.close()
        for _, fd in self.kept:
            os.close(fd)


@pytest.fixture
def store(idle_box, tmp_path):
    kept = Store(tmp_path / "notify.sock")
    idle_box.environ["NOTIFY_SOCKET"] = str(tmp_path / "notify.sock")
    yield kept
    kept.close()


def test_descriptors_in_the_managers_store_give_back_status_and_log(idle_box, store, tmp_path):
    box = idle_box
    box.start()
    assert any("READY=1" in text for text in box.until("ready", lambda: store.said))
    log = tmp_path / "train.log"
    log.write_text('{"step": 1, "seconds": 1.0}\n{"step": 2, "seconds": 1.0}\n')
    child = box.child("sh", "-c", "read x; exit 7", stdin=-1)
    box.register(child.pid, "kept", [log])
    box.until("both are kept", lambda: {n for n, _ in store.kept} == {"kept.p", "kept.0"})
    box.kill()
    with log.open("a") as out:
        out.write('{"step": 3, "seconds": 1.0}\n')
    child.communicate(b"go\n")
    names = ":".join(name for name, _ in store.kept)
    passed = [fd for _, fd in store.kept]

    box.environ |= {"LISTEN_FDS": str(len(passed)), "LISTEN_FDNAMES": names}
    _start_with_fds(box, passed)
    end = box.until("its end is said", lambda: box.end("kept"))
    assert (end["kind"], end["exit_code"]) == ("exited", 7)
    box.until("the last step is read", lambda: box.run("kept")["run"]["steps_total"] == 3)
    box.until("nothing is kept any more", lambda: not store.kept)


def test_a_run_whose_row_cannot_be_read_goes_on_by_the_descriptors_that_were_kept(
    idle_box, store, tmp_path
):
    import sqlite3

    box = idle_box
    box.start()
    log = tmp_path / "train.log"
    log.write_text('{"step": 1, "seconds": 1.0}\n{"step": 2, "seconds": 1.0}\n')
    child = box.child("sh", "-c", "read x; exit 7", stdin=-1)
    box.register(child.pid, "kept", [log])
    box.until("both are kept", lambda: {n for n, _ in store.kept} == {"kept.p", "kept.0"})
    box.until("steps are read", lambda: box.run("kept")["run"]["steps_total"] == 2)
    box.kill(signal.SIGTERM)
    with sqlite3.connect(box.state / "pfid.sqlite") as db:
        spoiled = db.execute("UPDATE runs SET body = ?", (b"\xc1",)).rowcount
    db.close()
    assert spoiled == 1, "the fault was delivered"
    with log.open("a") as out:
        out.write('{"step": 3, "seconds": 1.0}\n')
    passed = [fd for _, fd in store.kept]
    names = ":".join(name for name, _ in store.kept)
    box.environ |= {"LISTEN_FDS": str(len(passed)), "LISTEN_FDNAMES": names}
    _start_with_fds(box, passed)
    assert box.ask(GetSnapshot()).snapshot["health"]["runs_unread"] == 0
    box.until("the last step is read", lambda: box.run("kept")["run"]["steps_total"] == 3)
    assert box.run("kept")["run"]["run"]["identity"]["pid"] == child.pid
    child.communicate(b"go\n")
    end = box.until("its end is said", lambda: box.end("kept"))
    assert (end["kind"], end["exit_code"]) == ("exited", 7)


def _start_with_fds(box, fds) -> None:
    """Start the daemon as systemd does: descriptors from 3 on, and its own pid in LISTEN_PID."""
    import subprocess
    import sys

    moves = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(fds))
    command = f'exec {moves}; LISTEN_PID=$$ exec "$@"'
    with (box.folder / "daemon.log").open("ab") as log:
        box.daemon = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                "bash",
                sys.executable,
                "-P",
                "-m",
                "pfid",
                "daemon",
                "--config",
                str(box.config),
            ],
            env=box.environ,
            stderr=log,
            pass_fds=fds,
        )
    box.until("the daemon answers", box._answers)


def test_another_boot_means_lost_with_the_host(box):
    import sqlite3

    child = box.child()
    box.register(child.pid, "before-reboot")
    box.kill()
    _move_to_another_boot(box.state / "pfid.sqlite", sqlite3)
    box.start()
    end = box.until("its end is said", lambda: box.end("before-reboot"))
    assert end["kind"] == "host_lost"


def _move_to_another_boot(path, sqlite3) -> None:
    from dataclasses import replace

    import msgspec

    from pfid.wire.stored import RunBody, pack, unpack

    db = sqlite3.connect(path)
    for run_id, body in db.execute("SELECT run_id, body FROM runs").fetchall():
        stored = unpack(body, RunBody)
        identity = replace(stored.run.identity, boot_id="another-boot")
        moved = msgspec.structs.replace(stored, run=replace(stored.run, identity=identity))
        db.execute("UPDATE runs SET body = ? WHERE run_id = ?", (pack(moved), run_id))
    db.commit()
    db.close()


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_hundred_kills_under_load_lose_no_run_and_tell_no_transition_twice(box):
    """Runs are registered and end while the daemon is killed at random moments."""
    rng = random.Random(20261129)
    acknowledged: dict[str, object] = {}
    over = threading.Event()

    def load() -> None:
        number = 0
        while not over.is_set():
            number += 1
            run_id = f"load-{number}"
            child = box.child()
            try:
                reply = box.register(child.pid, run_id)
            except ControlError:
                child.kill()
                child.wait()
                time.sleep(0.02)
                continue
            assert isinstance(reply, Registered)
            acknowledged[run_id] = child
            if rng.random() < 0.7:
                time.sleep(rng.random() * 0.05)
                child.kill()
                child.wait()

    loading = threading.Thread(target=load)
    loading.start()
    kills, ended = 0, set()
    while kills < 100 or len(ended) <= 100:  # on a busy machine fewer come between two kills
        time.sleep(rng.random() * 0.25)
        box.kill()
        box.start()
        kills += 1
        ended = _ended(acknowledged)
    over.set()
    loading.join()
    ended = _ended(acknowledged)
    box.until(
        "every end is told",
        lambda: all(box.end(run) is not None for run in ended),
        within_s=60,
    )
    _each_once(box, set(acknowledged), ended)


def _ended(acknowledged) -> set[str]:
    return {run for run, child in list(acknowledged.items()) if child.poll() is not None}


def _each_once(box, acknowledged: set[str], ended: set[str]) -> None:
    events = box.events()
    ids = [e["id"] for e in events]
    assert ids == sorted(set(ids))
    chains: dict[tuple[str, str], list[tuple[str | None, str, str]]] = {}
    for event in events:
        t = event["transition"]
        key = (t["entity"]["id"], t["check"])
        verdict = t["verdict"]
        chains.setdefault(key, []).append((t["before"], verdict["outcome"], verdict["reason"]))
    for run in acknowledged:
        assert box.run(run)["run"]["run"]["run_id"] == run
    for key, chain in chains.items():
        for (_, outcome, reason), (before, after, again) in itertools.pairwise(chain):
            assert before == outcome, (key, chain)
            assert (outcome, reason) != (after, again), (key, chain)
    for run in ended:
        assert [o for _, o, _ in chains[run, "run_gone"]].count("fail") == 1


def _processes_held(pid: int) -> int:
    """How many pidfds a process holds by now."""
    links = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(str(entry.readlink()))
    return links.count("anon_inode:[pidfd]")


def _killed_while_it_recovers(box, runs: int) -> bool:
    """Start the daemon and kill it when it holds some of its runs again, and others not yet."""
    with (box.folder / "daemon.log").open("ab") as log:
        command = [sys.executable, "-P", "-m", "pfid", "daemon", "--config", str(box.config)]
        box.daemon = subprocess.Popen(command, env=box.environ, stderr=log)
    while _processes_held(box.daemon.pid) < 2:
        assert box.daemon.poll() is None, box.log()
    box.daemon.send_signal(signal.SIGSTOP)
    stat = Path(f"/proc/{box.daemon.pid}/stat")
    box.until("it stands", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    held = _processes_held(box.daemon.pid)
    box.kill()
    return 1 < held < runs


def test_kills_in_the_midst_of_recovery_lose_no_run_and_tell_no_end_twice(box):
    """It is stopped first, so that it is known where it was."""
    children = {f"run-{i}": box.child() for i in range(100)}
    for run_id, child in children.items():
        box.register(child.pid, run_id)
    box.kill()
    gone = [f"run-{i}" for i in range(0, 100, 10)]
    for run_id in gone:
        children[run_id].kill()
        children[run_id].wait()
    living = len(children) - len(gone)
    hit = sum(_killed_while_it_recovers(box, living) for _ in range(3))
    assert hit, "no kill came in the midst of recovery"
    box.start()
    for run_id in gone:
        box.until(
            f"the end of {run_id}", lambda i=run_id: box.reasons(i)[-1:] == ["ended_unobserved"]
        )
    assert all(box.end(run_id) is None for run_id in children if run_id not in gone)
    told = [e["transition"]["entity"]["id"] for e in box.events() if _an_end(e)]
    assert sorted(told) == sorted(gone)


def _an_end(event) -> bool:
    verdict = event["transition"]["verdict"]
    return event["transition"]["check"] == "run_gone" and verdict["outcome"] == "fail"
