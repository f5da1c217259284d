"""The unit files: every line has its reason, limits are ordered, what is exposed is answered."""

import json
import re
import shutil
import subprocess

import pytest

from pfid.daemon.loop import IDLE_S
from pfid.domain.names import RUN_ID_MAX_CHARS
from pfid.policy.service_plan import PLACES

EXPOSURE_MAX = 17
EXPOSURE_WITH_DROP_IN_MAX = 20
ENVIRONMENT_STRING_MAX_BYTES = 32 * 4096
"""The kernel's MAX_ARG_STRLEN on 4 KiB pages: one longer string and execve fails."""
STREAMS_A_RUN_MAX_DIGITS = 3

systemd = pytest.mark.needs("systemd-analyze")


@pytest.fixture
def folder(checkout):
    return checkout / "systemd"


def sections(text):
    """Directives by section, repeated ones joined with a blank."""
    found, section = {}, {}
    for line in text.splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section[name] = f"{section[name]} {value}".strip() if name in section else value
    return found


@pytest.fixture
def unit(folder):
    return sections((folder / "pfid.service").read_text())


@pytest.fixture
def service(unit):
    return unit["Service"]


@pytest.mark.parametrize("name", ["pfid.service", "pfid-io.conf", "pfid.tmpfiles"])
def test_every_block_of_lines_has_its_reason_above_it(folder, name):
    text = (folder / name).read_text()
    blocks = [b for b in re.split(r"\n\n+", text) if not re.match(r"\[(Unit|Install)\]", b)]
    bare = [
        block
        for block in blocks
        if (lines := [x for x in block.splitlines() if not x.startswith("[")])
        and not lines[0].startswith("#")
    ]
    assert not bare


def test_it_may_nothing_and_sees_no_home(service):
    assert service["CapabilityBoundingSet"] == ""
    assert service["AmbientCapabilities"] == ""
    assert service["ProtectHome"] == "yes"
    assert service["NoNewPrivileges"] == "yes"
    assert service["User"] == "pfid"


def test_users_reach_the_socket_and_not_the_state(service):
    assert (service["RuntimeDirectory"], service["RuntimeDirectoryMode"]) == ("pfid", "0755")
    assert (service["StateDirectory"], service["StateDirectoryMode"]) == ("pfid", "0700")
    assert (service["CacheDirectory"], service["CacheDirectoryMode"]) == ("pfid", "0755")
    assert "DynamicUser" not in service
    assert "RuntimeDirectoryPreserve" not in service


def test_nothing_hides_what_it_watches(service):
    assert service["ProtectProc"] == "default"
    assert service["ProcSubset"] == "all"
    assert "PrivateUsers" not in service


def test_memory_slows_and_never_kills(service):
    assert "MemoryHigh" in service
    assert "MemoryMax" not in service


def test_the_drivers_nodes_are_named_by_a_glob(service):
    assert service["DeviceAllow"] == "char-nvidia* rw"
    assert service["DevicePolicy"] == "closed"


def test_the_limits_are_ordered(unit, service):
    start, stop = int(service["TimeoutStartSec"]), int(service["TimeoutStopSec"])
    watchdog, again = int(service["WatchdogSec"]), int(service["RestartSec"])
    assert watchdog / 4 > IDLE_S, "a quiet loop comes round often enough to be heard"
    assert stop < watchdog < start
    burst, interval = (
        int(unit["Unit"]["StartLimitBurst"]),
        int(unit["Unit"]["StartLimitIntervalSec"]),
    )
    assert again * burst < interval, "otherwise the limit is never reached"


def test_the_names_of_all_stored_descriptors_fit_into_the_environment(service):
    """More than fit would keep the daemon from ever being started again."""
    name = RUN_ID_MAX_CHARS + len(".") + STREAMS_A_RUN_MAX_DIGITS + len(":")
    most = int(service["FileDescriptorStoreMax"])
    assert most * name + len("LISTEN_FDNAMES=\0") < ENVIRONMENT_STRING_MAX_BYTES
    assert most < int(service["LimitNOFILE"])


def test_a_start_that_cannot_succeed_is_not_repeated(service):
    from pfid.bootstrap.daemon_main import EXIT_CONFIG

    assert service["Restart"] == "always"
    assert service["RestartPreventExitStatus"] == str(EXIT_CONFIG)


def test_everything_that_ships_has_a_place_and_stands_in_the_readme(folder):
    shipped = {p.name for p in folder.iterdir()} - {"README.md"}
    assert shipped == set(PLACES)
    text = (folder / "README.md").read_text()
    assert all(f"| `{name}` |" in text for name in shipped)


@pytest.fixture(params=[False, True], ids=["plain", "drop-in"])
def placed(request, folder, tmp_path):
    """The unit as it is analysed, without and with the drop-in."""
    shutil.copy(folder / "pfid.service", tmp_path)
    if request.param:
        drop_ins = tmp_path / "pfid.service.d"
        drop_ins.mkdir()
        shutil.copy(folder / "pfid-io.conf", drop_ins)
    return tmp_path / "pfid.service", request.param


def analyze(*arguments):
    return subprocess.run(
        ["systemd-analyze", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@systemd
def test_its_exposure_stays_below_the_threshold(placed):
    unit, with_drop_in = placed
    most = EXPOSURE_WITH_DROP_IN_MAX if with_drop_in else EXPOSURE_MAX
    done = analyze("security", "--offline=true", f"--threshold={most}", unit)
    assert done.returncode == 0, done.stdout[-200:]


@systemd
def test_every_point_that_is_still_counted_has_its_reason(placed, folder):
    unit, with_drop_in = placed
    done = analyze("security", "--offline=true", "--json=short", unit)
    counted = {
        row["json_field"] for row in json.loads(done.stdout) if float(row["exposure"] or 0) > 0
    }
    text = (folder / "README.md").read_text()
    plain, _, more = text.partition("With the drop-in also")
    answered = set(re.findall(r"(?m)^\| `(\w+)` \|", plain.partition("still counts")[2]))
    if with_drop_in:
        answered = answered - {"ProtectProc"} | set(re.findall(r"(?m)^\| `(\w+)` \|", more))
    assert counted == answered


@systemd
def test_systemd_finds_nothing_to_say_about_it(placed):
    done = analyze("verify", placed[0])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
