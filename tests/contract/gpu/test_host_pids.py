"""Seen from a container, the host's number of a process is ours only if it is the same process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfid.adapters.host_pids import HostPids, host_pids

STAT = "{pid} (python) S 1 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 {ticks} 1 1"
INSIDE = """
import subprocess, sys
from pathlib import Path
from pfid.adapters.host_pids import host_pids
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, flush=True)
told = host_pids({"HOST_PROC": sys.argv[1]})
print([told.own_pid(int(pid)) for pid in input().split()], flush=True)
child.kill()
child.wait()
"""


def put(procfs, pid, numbers, ticks, namespace="pid:[1]"):
    folder = procfs / str(pid)
    (folder / "ns").mkdir(parents=True)
    (folder / "stat").write_text(STAT.format(pid=pid, ticks=ticks))
    (folder / "status").write_text(f"Name:\tpython\nNSpid:\t{numbers}\n")
    if namespace:
        (folder / "ns" / "pid").symlink_to(namespace)


@pytest.fixture
def told(tmp_path):
    """Our process 7 of a container, and what the host shows."""
    host, own = tmp_path / "host", tmp_path / "own"
    put(own, 7, "7", 500)

    def ask(pid, *facts, **more):
        put(host, pid, *facts, **more)
        return HostPids(host, own).own_pid(pid)

    return ask


def test_a_process_of_ours_is_known_by_when_it_began(told):
    assert told(4007, "4007 7", 500) == 7


@pytest.mark.parametrize(
    ("numbers", "ticks", "namespace"),
    [
        ("4007 7", 501, "pid:[1]"),
        ("4007 7", 500, "pid:[2]"),
        ("4007 8", 500, "pid:[1]"),
        ("4007", 500, "pid:[1]"),
        ("", 500, "pid:[1]"),
        ("4007 x", 500, "pid:[1]"),
    ],
)
def test_the_number_of_another_container_is_none_of_ours(told, numbers, ticks, namespace):
    assert told(4007, numbers, ticks, namespace=namespace) is None


def test_a_namespace_that_may_not_be_read_leaves_the_start_to_tell(told):
    assert told(4007, "4007 7", 500, namespace="") == 7
    assert told(4008, "4008 7", 501, namespace="") is None


def test_without_the_hosts_procfs_nobody_is_known(tmp_path):
    assert host_pids({}).host is None
    assert host_pids({"HOST_PROC": "relative"}).host is None
    assert host_pids({}).own_pid(os.getpid()) is None
    assert HostPids(tmp_path / "none").own_pid(1) is None


@pytest.mark.root
def test_a_real_process_of_a_real_namespace_is_found_by_its_number_outside(tmp_path):
    host = tmp_path / "host"
    host.mkdir()
    inside = (
        f'exec unshare --pid --fork --kill-child --mount-proc "{sys.executable}" -P -c "$0" "$1"'
    )
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f'mount --rbind /proc "$1" && {inside}', INSIDE, host],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as apart:
        own = int(apart.stdout.readline())
        outside = _descendants(apart.pid)[-1]
        assert outside != own, "the fault was not delivered"
        told, _ = apart.communicate(f"{outside} {os.getpid()} {apart.pid}\n", timeout=60)
    assert told.strip() == f"[{own}, None, None]"


def _descendants(pid):
    children = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return children + [p for child in children for p in _descendants(child)]
