"""A third-party check inside the sandbox: proven, asked about a run, and heard; in every helper."""

import re
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
PYTHON = "/opt/pfid/bin/python"
CONFIG, PLUGINS = "/etc/pfid/pfid.toml", "/etc/pfid/plugins"
GUIDE = Path(__file__).parents[3] / "plugins" / "README.md"
NAME = "too_many_skipped_steps"
SKIPS = """\
import json, pathlib, time
for step in range(1_000_000):
    print("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.0")
    print(json.dumps({"step": step, "seconds": 0.05, "loss": 1.0}), flush=True)
    time.sleep(0.05)
    if pathlib.Path("skips.end").exists():
        break
"""
PAGE = (
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/metrics').read().decode())"
)


def page(box):
    return box.user("bob", PYTHON, "-c", PAGE).stdout


def helpers(box):
    """Status and module of every process of the unit but the daemon."""
    place = box.show(UNIT, "ControlGroup")
    top = next(
        p
        for p in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup")
        if box.root("test", "-d", f"{p}{place}", check=False).returncode == 0
    )
    found = {}
    for pid in box.read(f"{top}{place}/cgroup.procs").split():
        called = box.root("cat", f"/proc/{pid}/cmdline", check=False).stdout
        module = re.search(r"pfid\.workers\.\w+", called)
        if module:
            found[module[0]] = box.read(f"/proc/{pid}/status")
    return found


def test_the_guides_own_check_is_proven_and_judges_a_run_in_the_sandbox(box):
    (example,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
        if f'name="{NAME}"' in block
    )
    box.write(f"{PLUGINS}/{NAME}.py", example)
    box.write(CONFIG, f'plugins.directories = ["{PLUGINS}"]\n')
    box.root("chmod", "644", CONFIG, f"{PLUGINS}/{NAME}.py")
    box.root("systemctl", "restart", UNIT)
    try:
        proven = f'pfid_gate_proven{{check="{NAME}",leg="sabotage"}} 1'
        box.until("its proof", lambda: proven in page(box), 30)
        box.write("/home/alice/skips.py", SKIPS)
        box.root("chown", "alice", "/home/alice/skips.py")
        log = "/home/alice/skips.log"
        box.unit("alice", "skips", PYTHON, "skips.py", output=log)
        pid = box.show("skips.service", "MainPID")
        attached = ("attach", pid, "--name", "skips", "--log", "skips.log")
        run_id = box.json("alice", *attached)["run_id"]
        fails = f'pfid_check_failing{{check="{NAME}",run="{run_id}"}} 1'
        box.until("its verdict", lambda: fails in page(box), 40)
        inside = helpers(box)
        assert {"pfid.workers.log_reader", "pfid.workers.plugin_runner"} <= set(inside), set(inside)
        for module, status in inside.items():
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            confined = (fields["Seccomp"], fields["NoNewPrivs"], int(fields["CapBnd"], 16))
            assert confined == ("2", "1", 0), module
    finally:
        box.user("alice", "touch", "skips.end")
        box.root("rm", "-f", CONFIG, f"{PLUGINS}/{NAME}.py")
        box.root("systemctl", "restart", UNIT)
