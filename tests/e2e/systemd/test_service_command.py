"""`pfid service` as an operator uses it: shown first, done twice, half done, upgraded, refused."""

import json
import re

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
PLACED = f"/etc/systemd/system/{UNIT}"
DROP_IN = f"{PLACED}.d/pfid-io.conf"
PYTHON = "/opt/pfid/bin/python"
ODD = "/opt/a b $HOME ${HOME} 100% %h ; # ü"
REFUSED = '/opt/a"b'
UPGRADED = "/opt/upgraded"
COPY = f"""\
import pathlib, shutil, pfid, pfid_plugins, sys
site = pathlib.Path({UPGRADED!r}, "lib", f"python{{sys.version_info[0]}}.{{sys.version_info[1]}}")
site /= "site-packages"
site.mkdir(parents=True)
package = pathlib.Path(pfid.__file__).parent
leave = shutil.ignore_patterns("__pycache__")
shutil.copytree(package, site / "pfid", ignore=leave)
shutil.copytree(pathlib.Path(pfid_plugins.__file__).parent, site / "pfid_plugins", ignore=leave)
if not (package / "systemd").is_dir():
    shutil.copytree(package.parent / "systemd", site / "pfid" / "systemd")
others = [p for p in sys.path if p.endswith("site-packages")]
(site / "others.pth").write_text("\\n".join(others))
print(site / "pfid" / "__init__.py")
"""
PAGE = (
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/metrics').read().decode())"
)


def service(box, *arguments, python=PYTHON, user="root"):
    command = (python, "-P", "-m", "pfid", "service", *arguments)
    if user == "root":
        return box.root(*command, check=False)
    return box.user(user, *command, check=False)


def told(done):
    return json.loads(done.stdout)


def environment(box, place, lib=None):
    """A virtual environment at a place, over the same Python; ``lib`` is linked to if given."""
    python = box.root("readlink", PYTHON).stdout.strip()
    box.root("mkdir", "-p", f"{place}/bin")
    box.root("ln", "-s", python, f"{place}/bin/python")
    box.write(f"{place}/pyvenv.cfg", "home = /opt/python/bin\n")
    if lib:
        box.root("ln", "-s", lib, f"{place}/lib")
    return f"{place}/bin/python"


@pytest.fixture
def placed(box):
    """It runs from where the others expect it, afterwards as before."""
    yield
    done = service(box, "install", "--apply", "--now")
    assert done.returncode == 0, done.stderr
    box.until("READY", lambda: box.show(UNIT, "ActiveState") == "active", 60)


def test_it_runs_from_a_path_with_everything_a_unit_would_read_otherwise(box, placed):
    python = environment(box, ODD, "/opt/pfid/lib")
    before = box.read(PLACED)
    shown = service(box, "install", "--now", python=python)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == f"write {PLACED}"
    assert shown.stdout.splitlines()[-1] == f"run systemctl restart {UNIT}"
    assert shown.stderr == "nothing was done; --apply does it\n"
    assert box.read(PLACED) == before

    done = service(box, "install", "--apply", "--now", python=python)
    assert done.returncode == 0, (done.stderr, box.journal("-u", UNIT, "-n", "20"))
    called = box.read(f"/proc/{box.main_pid()}/cmdline").split("\0")
    assert called[0] == python
    assert service(box, "status", python=python).returncode == 0
    refused = service(box, "install", python=environment(box, REFUSED, "/opt/pfid/lib"))
    assert (refused.returncode, "systemd starts nothing at" in refused.stderr) == (2, True)
    verified = box.root("systemd-analyze", "verify", UNIT, check=False)
    assert UNIT not in verified.stderr
    again = told(service(box, "install", "--apply", "--now", "--json", python=python))
    assert (again["steps"], again["problems"], again["notes"]) == ([], [], [])


def test_it_asks_at_the_socket_that_is_configured_and_says_where_nobody_answers(box, placed):
    config = "/etc/pfid/pfid.toml"
    box.write(config, 'daemon.socket = "/run/pfid/elsewhere.sock"\n')
    box.root("chmod", "644", config)
    try:
        box.root("systemctl", "restart", UNIT)
        assert service(box, "status").returncode == 0
        box.root("mv", "/run/pfid/elsewhere.sock", "/run/pfid/hidden.sock")
        done = service(box, "status")
        assert done.returncode == 3
        assert "nobody answers at its socket" in done.stdout
    finally:
        box.root("rm", "-f", config)
        box.root("systemctl", "restart", UNIT)


def version_on_the_page(box):
    page = box.user("bob", PYTHON, "-c", PAGE).stdout
    line = next(x for x in page.splitlines() if x.startswith("pfid_build_info{"))
    return re.search(r'[{,]version="([^"]*)"', line)[1]


def test_a_new_version_in_the_same_place_takes_over_what_is_tracked(box, placed):
    python = environment(box, UPGRADED)
    module = box.root(PYTHON, "-c", COPY).stdout.strip()
    done = service(box, "install", "--apply", "--now", python=python)
    assert done.returncode == 0, done.stderr
    first = version_on_the_page(box)
    assert service(box, "status", python=python).returncode == 0

    log = "/home/alice/attached.log"
    box.unit("alice", "attached", PYTHON, "train.py", "attached", "7", output=log)
    pid = box.show("attached.service", "MainPID")
    run_id = box.json("alice", "attach", pid, "--name", "attached", "--log", "attached.log")[
        "run_id"
    ]
    launch = (PYTHON, "-P", "-m", "pfid", "run", "--name", "launched", "--", PYTHON, "train.py")
    box.unit("alice", "launch-launched", *launch, "launched", "0")
    for name in ("attached", "launched"):
        box.until("steps", lambda n=name: (box.run_named("alice", n).get("steps") or 0) > 20, 30)

    box.root("sed", "-i", 's/^__version__ = .*/__version__ = "9.8.7"/', module)
    stale = service(box, "status", "--json", python=python)
    assert stale.returncode == 1
    assert told(stale)["running_version"].startswith(first)
    assert told(stale)["version"] == "9.8.7"
    hint = service(box, "install", python=python)
    assert hint.stdout == "nothing to do\n"
    assert "this is 9.8.7; --now starts it again" in hint.stderr
    done = service(box, "install", "--apply", "--now", "--json", python=python)
    assert told(done)["steps"] == [f"run systemctl restart {UNIT}"]
    assert version_on_the_page(box) == "9.8.7"
    assert service(box, "status", python=python).returncode == 0

    again = box.run_named("alice", "attached")
    assert (again["run_id"], again["end"]) == (run_id, None)
    for name in ("attached", "launched"):
        before = box.run_named("alice", name).get("steps") or 0
        more = lambda n=name, b=before: box.run_named("alice", n)["steps"] > b + 20  # noqa: E731
        box.until("more steps", more, 30)
        box.user("alice", "touch", f"{name}.end")
    for name, status in (("attached", 7), ("launched", 0)):
        end = box.until("its end", lambda n=name: box.run_named("alice", n)["end"], 30)
        assert (end["kind"], end["exit_code"]) == ("exited", status)


def test_whoever_may_not_install_is_told_what_is_in_the_way_and_nothing_changes(box, placed):
    before, pid = box.read(PLACED), box.main_pid()
    nobody = service(box, "install", "--io", "--apply", user="alice")
    assert nobody.returncode == 3
    assert "cannot write /etc/systemd/system" in nobody.stderr
    assert "run this as root; nothing was done" in nobody.stderr
    nobody = service(box, "uninstall", "--apply", user="alice")
    assert (nobody.returncode, "run this as root" in nobody.stderr) == (3, True)
    assert service(box, "status", user="alice").returncode == 0

    closed = "mount --bind /etc /etc && mount -o remount,ro,bind /etc && "
    for arguments, said in (
        ("install --io --apply", f"cannot write {DROP_IN}: Read-only file system"),
        ("uninstall --apply", "Read-only file system; nothing was done"),
    ):
        command = f"{closed} exec {PYTHON} -P -m pfid service {arguments}"
        done = box.root("unshare", "--mount", "sh", "-c", command, check=False)
        assert (done.returncode, said in done.stderr) == (3, True), done.stderr

    apart = f"mount -t tmpfs tmpfs /run && exec {PYTHON} -P -m pfid service"
    for arguments, code in (("install --apply", 2), ("status", 3)):
        command = f"{apart} {arguments}"
        done = box.root("unshare", "--mount", "sh", "-c", command, check=False)
        assert done.returncode == code, done.stderr
        assert "no systemd answers here" in done.stderr

    assert box.read(PLACED) == before
    assert box.root("ls", "-A", f"{PLACED}.d", check=False).stdout.split() == ["test.conf"]
    assert (box.main_pid(), box.show(UNIT, "UnitFileState")) == (pid, "enabled")


def test_an_installation_that_failed_half_way_is_finished_by_the_same_command(box, placed):
    service(box, "uninstall", "--apply")
    box.root("userdel", "pfid")
    box.root("rm", "-rf", "/etc/pfid")
    few = "/opt/few"
    box.root("mkdir", "-p", few)
    box.root("ln", "-s", "/usr/bin/systemctl", few)
    command = ("env", f"PATH={few}", PYTHON, "-P", "-m", "pfid", "service", "install")
    failed = box.root(*command, "--apply", "--now", check=False)
    assert failed.returncode == 3
    assert "`systemd-sysusers pfid.conf` cannot be run" in failed.stderr
    box.root("test", "-e", PLACED)
    assert box.root("id", "pfid", check=False).returncode != 0, "the fault was not delivered"
    done = service(box, "install", "--apply", "--now")
    assert done.returncode == 0, done.stderr
    box.root("id", "pfid")
    box.root("test", "-d", "/etc/pfid")
    assert service(box, "status").returncode == 0
