"""Pids that come again, zombies, other namespaces, other users."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

PFID = (sys.executable, "-P", "-m", "pfid")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
OTHER = ("setpriv", "--reuid=65533", "--regid=65533", "--clear-groups")


@pytest.mark.full
@pytest.mark.root
def test_a_pid_that_came_again_does_not_block_and_its_owner_is_not_touched(user):
    """In a pid namespace of our own the next pid can be chosen: reuse is forced, not awaited."""
    script = textwrap.dedent(f"""
        import json, os, subprocess, sys
        from pathlib import Path
        pfid = [{sys.executable!r}, "-P", "-m", "pfid"]
        run = pfid + ["run", "--name", "train", "--"]
        launcher = subprocess.Popen(run + ["sh", "-c", "echo up; exec sleep 60"])
        while not Path("train.log").exists() or "up" not in Path("train.log").read_text():
            pass
        [file] = Path({str(user.home)!r}).glob(".local/state/pfid/*/runs/*/record.json")
        pid = json.loads(file.read_text())["process"]["pid"]
        launcher.kill()
        launcher.wait()
        os.kill(pid, 9)
        while Path(f"/proc/{{pid}}").exists():
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pass
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        stranger = subprocess.Popen(["sleep", "60"])
        moved = subprocess.run(pfid + ["rotate", "train.log"], capture_output=True, text=True)
        blocked = subprocess.run(run + ["true"], capture_output=True, text=True)
        stopped = subprocess.run(pfid + ["stop", "train"], capture_output=True, text=True)
        alive = stranger.poll() is None
        taken = subprocess.run(
            pfid + ["attach", str(pid), "--name", "train", "--log", "other.log"],
            capture_output=True, text=True,
        )
        again = subprocess.run(run + ["true"], capture_output=True, text=True)
        stranger.kill()
        print(json.dumps({{
            "reused": stranger.pid == pid, "pid": pid, "code": blocked.returncode,
            "said": blocked.stderr, "stop": stopped.returncode, "alive": alive,
            "rotated": moved.returncode, "attached": taken.returncode, "then": again.stderr,
            "refused": again.returncode,
        }}))
    """)
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script],
        cwd=user.work,
        env=user.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = json.loads(done.stdout.splitlines()[-1]) if done.stdout else pytest.fail(done.stderr)
    assert told["reused"], "the fault was not delivered"
    assert told["code"] == 0, told["said"]
    assert told["stop"] == 2
    assert told["alive"]
    assert told["rotated"] == 0
    assert told["attached"] == 0, "the stranger is a process like any other"
    assert (told["refused"], f"pid {told['pid']}" in told["then"]) == (125, True)


@pytest.mark.full
@pytest.mark.root
def test_a_run_in_another_pid_namespace_does_not_block_here(user, eventually):
    inside = subprocess.Popen(
        [
            *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *PFID),
            *("run", "--name", "train", "--", "sh", "-c", "echo up; exec sleep 60"),
        ],
        cwd=user.work,
        env=user.environ,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: "up" in user.text(), "the run inside")
        [record] = user.records()
        assert record["process"]["pid_namespace"] != Path("/proc/self/ns/pid").stat().st_ino
        assert user.run("--log", "other.log", "--", "true").returncode == 0
    finally:
        inside.kill()
        inside.wait()


def test_a_zombie_does_not_block(user, eventually):
    """The launcher is stopped before it can reap: its child stays a zombie."""
    launcher = user.start_run("--", "sh", "-c", "echo up; exec sleep 60")
    eventually(lambda: "up" in user.text(), "output")
    [record] = user.records()
    pid = record["process"]["pid"]
    os.kill(launcher.pid, 19)
    os.kill(pid, 9)
    eventually(lambda: state(pid) == "Z", "the zombie")
    assert user.run("--", "true").returncode == 0
    assert state(pid) == "Z", "it was a zombie all the while"
    os.kill(launcher.pid, 18)
    assert launcher.wait(30) == 137


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.parametrize(
    "change",
    [
        {"boot_id": "00000000-0000-0000-0000-000000000000"},
        {"machine_id": "another"},
        {"start_ticks": 1},
        {"pid_namespace": 1},
    ],
)
def test_a_living_process_at_a_recorded_pid_is_not_enough(user, eventually, change):
    """The twin: with the true record the same launch is refused."""
    user.start_run("--", "sh", "-c", "echo up; exec sleep 60")
    eventually(lambda: "up" in user.text(), "output")
    assert user.run("--log", "o.log", "--", "true").returncode == 125
    [record] = user.records()
    file = user.run_dir(record) / "record.json"
    file.write_text(json.dumps(record | {"process": record["process"] | change}))
    assert user.run("--log", "o.log", "--", "true").returncode == 0
    file.write_text(json.dumps(record))


@pytest.fixture
def closed_home():
    """A home with mode 0700 of a user without rights, where others may not look."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    home, shared = root / "home", root / "shared"
    home.mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    shared.mkdir()
    shared.chmod(0o1777)
    yield home, shared
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.full
@pytest.mark.root
def test_a_log_in_a_closed_home_is_handed_to_a_watcher_who_could_not_open_it(
    closed_home, eventually
):
    home, shared = closed_home
    script = Path(__file__).with_name("watcher.py")
    place = shared / "watcher.py"
    place.write_text(script.read_text())
    place.chmod(0o644)
    watcher = subprocess.Popen(
        [*OTHER, sys.executable, place, shared / "sock", shared / "notes"], cwd="/"
    )
    try:
        eventually((shared / "sock").exists, "the watcher")
        done = subprocess.run(
            [
                *("sh", "-c", f"chmod 0777 {shared}/sock; umask 077; exec $0 $@", *NOBODY),
                *(*PFID, "run", "--name", "train", "--", "sleep", "1"),
            ],
            cwd=home,
            env=os.environ | {"HOME": str(home), "PFID_SOCKET": str(shared / "sock")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        notes = (json.loads(line) for line in (shared / "notes").read_text().splitlines())
        first = next(note for note in notes if note["request"]["op"] == "register")
        assert first["request"]["roles"][:2] == ["pidfd", "log"]
        assert first["fds"][1]["inode"] == (home / "train.log").stat().st_ino
        denied = subprocess.run(
            [*OTHER, "cat", home / "train.log"], capture_output=True, text=True, check=False
        )
        assert "Permission denied" in denied.stderr, "the home was not closed"
    finally:
        watcher.kill()
        watcher.wait()


@pytest.mark.full
@pytest.mark.root
def test_another_users_process_is_neither_attached_nor_stopped(closed_home, user):
    home, _ = closed_home
    theirs = user.spawn("sleep", "60")
    for arguments in (["attach", str(theirs.pid)], ["stop", "train"]):
        done = subprocess.run(
            [*NOBODY, *PFID, *arguments],
            cwd=home,
            env=os.environ | {"HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
    assert "no run that lives" in done.stderr
    assert theirs.poll() is None


WAITS_FOR_ITS_CHILD = """
#include <unistd.h>
int main(void) { if (vfork() == 0) { pause(); _exit(0); } return 0; }
"""


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.full
@pytest.mark.needs("gcc")
def test_of_a_process_in_state_d_neither_arguments_nor_environment_are_read(user, eventually):
    """Reading them can hang; one that waits for the child of its vfork is in that state too."""
    source, program = user.work / "waits.c", user.work / "waits"
    source.write_text(WAITS_FOR_ITS_CHILD)
    subprocess.run(["gcc", "-o", program, source], check=True)
    process = user.spawn(str(program), "an", "argument")
    eventually(lambda: _state(process.pid) == "D", "state D")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    try:
        done = user.pfid("attach", str(process.pid), "--json")
        assert done.returncode == 0, done.stderr
        [record] = user.records()
        assert (record["name"], record["argv"]) == ("waits", [])
    finally:
        for pid in children:
            os.kill(int(pid), 9)
        process.kill()
        process.wait()
