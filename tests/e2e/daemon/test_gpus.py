"""GPUs through a running daemon: samples, holders, verdicts; and a driver that misbehaves."""

import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from signal import SIGHUP

import pytest
from nvml_shim import CRASH, H200, H200_IDLE, HANG, uuid
from rocm_sampler import ROCM

from pfid.adapters.control_client import ControlClient
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import WorkKind
from pfid.wire.control import (
    Done,
    ForgetGpu,
    GetSnapshot,
    KeepReferences,
    Refused,
    SnapshotReply,
)
from pfid.wire.snapshots import snapshot_of

GIB = 1024**3
WITHIN_S = 90.0
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture
def watched(nvml, idle_box):
    """A daemon of the test's own that finds the stand-in; start it when the scene is set."""
    idle_box.environ |= nvml.environ
    idle_box.nvml = nvml
    return idle_box


def snapshot(box):
    with ControlClient(box.socket, timeout_s=WITHIN_S) as client:
        return snapshot_of(client.ask(GetSnapshot(), SnapshotReply))


def gpus(box):
    return snapshot(box).gpus


def until(box, what, wanted):
    ends_s = time.monotonic() + WITHIN_S
    while time.monotonic() < ends_s:
        view = gpus(box)
        if view is not None and wanted(view):
            return view
        time.sleep(0.2)
    pytest.fail(f"{what} not seen; last: {view}\n{box.log()}")


def last_is(number, wanted):
    return lambda v: len(v.gpus) > number and v.gpus[number].last and wanted(v.gpus[number])


def verdict(box, check, about):
    found = [v for v in snapshot(box).verdicts if v.check == check and v.entity.id == about]
    return (found[0].outcome.value, found[0].reason) if found else None


def test_a_run_is_found_on_its_gpu_through_its_tree(watched):
    watched.nvml.play(H200, H200_IDLE)
    watched.start()
    child = watched.child(sys.executable, "-c", "import os, time; os.fork(); time.sleep(1000)")
    watched.register(child.pid, "train-1")
    stranger = watched.child()
    worker = watched.until("the worker", lambda: _children(child.pid))[0]
    watched.nvml.run_on(0, worker, 100 * GIB)
    watched.nvml.run_on(0, stranger.pid, GIB)
    watched.nvml.run_on(0, 4_000_000, 3 * GIB)
    view = until(
        watched,
        "all three, once the tree was swept",
        last_is(
            0, lambda g: g.holders and len(g.holders) == 3 and any(h.run_id for h in g.holders)
        ),
    )
    by_pid = {h.pid: h for h in view.gpus[0].holders}
    assert by_pid[worker].run_id == "train-1"
    assert by_pid[worker].memory_bytes == 100 * GIB
    assert (by_pid[stranger.pid].run_id, by_pid[stranger.pid].visible) == (None, True)
    assert (by_pid[4_000_000].visible, by_pid[4_000_000].username) == (False, "")
    assert (view.expected, view.visible, view.driver) == (2, 2, "580.95.05")


def _children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(p) for p in listed.split()]


@pytest.mark.full
@pytest.mark.root
def test_a_run_in_a_container_is_found_by_the_number_the_host_gives_it(watched):
    """Seen from outside, the driver and procfs count alike, whatever the container calls it."""
    watched.nvml.play(H200)
    watched.start()
    child = watched.child(*APART, "sh", "-c", "sleep 1000 & wait")
    watched.register(child.pid, "train-1")
    init = watched.until("its first process", lambda: _children(child.pid))[0]
    worker = watched.until("its worker", lambda: _children(init))[0]
    inside = Path(f"/proc/{worker}/status").read_text().split("NSpid:")[1].split("\n")[0].split()
    assert int(inside[-1]) != worker, "the fault was not delivered"
    watched.nvml.run_on(0, worker, 8 * GIB)
    last_holder = last_is(0, lambda g: g.holders and g.holders[0].run_id)
    view = until(watched, "the run on it", last_holder)
    assert (view.gpus[0].holders[0].run_id, view.gpus[0].holders[0].pid) == ("train-1", worker)


@pytest.mark.full
@pytest.mark.root
def test_from_within_a_container_memory_of_others_is_neither_ours_nor_nobodys(watched):
    """A driver leaves out processes of other namespaces, or names them by numbers of theirs."""
    watched.nvml.play(H200)
    watched.nvml.change(0, memory_used=40 * GIB)
    with (watched.folder / "daemon.log").open("ab") as log:
        apart = watched.child(
            *(*APART, sys.executable, "-P", "-m", "pfid", "daemon", "--config", watched.config),
            env=watched.environ,
            stderr=log,
        )
    view = until_answered(watched, last_is(0, lambda g: g.holders == ()))
    assert view.gpus[0].last.memory_used_bytes == 40 * GIB

    def orphans():
        return verdict(watched, "gpu_memory_orphaned", uuid(0))

    assert watched.until("a verdict", orphans) == ("unknown", "memory_unknown")
    watched.nvml.run_on(0, 1, 40 * GIB)  # also the number of the first process in here
    until(watched, "a holder", last_is(0, lambda g: g.holders))
    (holder,) = gpus(watched).gpus[0].holders
    assert (holder.visible, holder.username, holder.run_id) == (None, "", None)
    hidden = ("unknown", "holders_hidden")
    watched.until("that it is hidden", lambda: orphans() == hidden)
    assert apart.poll() is None


def until_answered(box, wanted):
    """Like ``until``, for a daemon that may not listen yet."""
    box.until("the daemon", box.socket.exists)
    return until(box, "the card", wanted)


def test_memory_still_held_after_a_run_ended_keeps_its_name(watched):
    watched.nvml.play(H200)
    watched.start()
    child = watched.child()
    watched.register(child.pid, "train-1")
    watched.nvml.run_on(0, child.pid, 8 * GIB)
    until(watched, "the run on it", last_is(0, lambda g: g.holders and g.holders[0].run_id))
    child.kill()
    view = until(
        watched,
        "a zombie, or nobody anyone sees",
        last_is(0, lambda g: g.holders and (g.holders[0].zombie or not g.holders[0].visible)),
    )
    assert view.gpus[0].holders[0].run_id == "train-1"
    child.wait()
    view = until(watched, "gone", last_is(0, lambda g: g.holders and not g.holders[0].visible))
    assert view.gpus[0].holders[0].run_id == "train-1"


@pytest.mark.full
def test_what_a_gpu_did_for_a_run_outlives_restarts_and_the_run(watched):
    watched.nvml.play(H200, H200_IDLE)
    watched.start()
    child = watched.child()
    watched.register(child.pid, "train-1")
    watched.nvml.run_on(0, child.pid, 8 * GIB)
    past = watched.until("some samples of its GPU", lambda: _past(watched, 2))
    assert past["uuid"] == uuid(0), "and none of the other one"
    watched.kill(15)
    watched.start()
    watched.until("more of them over an orderly restart", lambda: _past(watched, past["seen"] + 2))
    child.kill()
    child.wait()
    watched.nvml.clear()
    watched.until("its end", lambda: watched.end("train-1"))
    ended = _past(watched, 4)
    time.sleep(2.5)
    assert _past(watched, 4) == ended, "what the card did afterwards is not the run's"
    assert ended["power_w"] == [pytest.approx(627.4, abs=1.0)] * len(ended["utilization"])
    assert ended["power_limit_w"] == 700.0
    watched.kill(9)
    watched.start()
    assert _past(watched, 4) == ended, "nor is it lost with the daemon"
    reported(watched, ended)


def reported(box, past):
    """A report of the run has the card's own plot of what was stored, in a file of its own."""
    out = box.folder / "report.html"
    command = (sys.executable, "-P", "-m", "pfid", "report", "train-1", "--html", str(out))
    done = subprocess.run(command, env=box.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page, pairs = out.read_text(), len(past["power_w"])
    kept = f"{pairs} of {past['seen']} samples, evenly spread, of the whole card."
    for said in (
        "GPU 0: NVIDIA H200",
        past["uuid"],
        "power limit then",
        "700 W",
        f"Utilisation against power while the run was on it: {kept}",
    ):
        assert said in page, said
    assert uuid(1) not in page, "it was never on the other one"
    behind = page[page.index("Utilisation against power") :]
    assert 'class="plot"' in behind or behind.count("<circle") >= pairs
    assert "GPU 0" not in page.partition("GPU 0: NVIDIA H200")[2], "once"


def _past(box, seen):
    gpus = box.run("train-1")["gpus"]
    return gpus[0] if len(gpus) == 1 and gpus[0]["seen"] >= seen else None


def test_a_gpu_that_left_is_missed_over_a_restart_until_an_operator_forgets_it(watched):
    watched.nvml.play(H200, H200)
    watched.start()
    until(watched, "both", lambda v: v.visible == 2)
    watched.kill(15)
    watched.nvml.play(H200)
    watched.start()
    view = until(watched, "one of two", lambda v: v.up and v.visible == 1)
    assert view.expected == 2
    assert [g.present for g in view.gpus] == [True, False]
    assert isinstance(watched.ask(ForgetGpu(uuid=uuid(0))), Refused)
    assert isinstance(watched.ask(ForgetGpu(uuid=uuid(1))), Done)
    assert gpus(watched).expected == 1


def test_a_reference_is_kept_and_counts_under_its_own_driver_only(watched):
    watched.nvml.play(H200)
    watched.start()
    until(watched, "the card", lambda v: v.visible == 1)
    reference = GpuReference(
        uuid=uuid(0), tflops=740.0, power_w=640.0, power_limit_w=700.0, at_s=1.0, driver="580.95.05"
    )
    unknown = GpuReference(
        uuid="GPU-not-here", tflops=1, power_w=1, power_limit_w=None, at_s=1.0, driver="x"
    )
    assert isinstance(watched.ask(KeepReferences(references=[unknown])), Refused)
    assert isinstance(watched.ask(KeepReferences(references=[reference])), Done)
    assert gpus(watched).gpus[0].reference == reference
    watched.kill()
    watched.start()
    until(watched, "it over a kill", last_is(0, lambda g: g.reference == reference))
    watched.kill(15)
    watched.nvml.play(H200, driver="590.10")
    watched.start()
    view = until(watched, "the new driver", lambda v: v.driver == "590.10" and v.gpus[0].last)
    assert view.gpus[0].reference is None


@pytest.mark.full
def test_after_a_fatal_error_no_restart_asks_the_driver_until_an_operator_says_so(watched):
    fatal = ("fail", "fatal_error")
    watched.nvml.play(H200)
    watched.start()
    until(watched, "a sample", last_is(0, lambda g: g.last))
    watched.nvml.xid(0, 79)
    watched.until("its verdict", lambda: verdict(watched, "gpu_xid", uuid(0)) == fatal)
    watched.kill(9)
    watched.nvml.forget_calls()
    watched.start()
    until(watched, "why nothing is read", lambda v: v.problem == "fatal_xid")
    watched.until("its verdict", lambda: verdict(watched, "gpu_xid", uuid(0)) == fatal)
    assert watched.nvml.calls() == []
    watched.daemon.send_signal(SIGHUP)
    until(watched, "a sample again", last_is(0, lambda g: g.last))
    quiet = ("pass", "no_recent_errors")
    watched.until("it is over", lambda: verdict(watched, "gpu_xid", uuid(0)) == quiet)
    watched.kill(15)
    watched.start()
    until(watched, "a sample after a restart", last_is(0, lambda g: g.last))
    assert verdict(watched, "gpu_xid", uuid(0)) != fatal


COMMANDS = (
    ("gpus",),
    ("probe", "gemm", "--json"),
    ("selftest", "--check", "gpu_work_kind", "--burn", sys.executable),
)


def test_what_the_daemon_may_not_ask_no_command_of_anybody_asks(watched, tmp_path):
    watched.nvml.play(H200_IDLE)
    watched.start()
    until(watched, "a sample", last_is(0, lambda g: g.last))
    watched.nvml.xid(0, 62)
    until(watched, "that it stopped", lambda v: v.problem == "fatal_xid" and not v.gpus[0].last)
    watched.nvml.forget_calls()
    told = {"PFID_SOCKET": str(watched.socket), "XDG_STATE_HOME": str(tmp_path / "state")}
    for command in COMMANDS:
        done = pfid(watched, *command, **told)
        assert (command, done.returncode) == (command, 3), done.stderr
        assert "fatal" in done.stderr
    assert watched.nvml.calls() == []


def pfid(box, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-P", "-m", "pfid", *arguments],
        env={**box.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )


@pytest.fixture
def entered():
    """A folder that others may enter: pytest shuts its own whenever another worker begins."""
    with tempfile.TemporaryDirectory(prefix="entered-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.root
def test_only_an_operator_keeps_references_and_forgets_gpus(watched, entered):
    watched.socket = entered / "control.sock"
    watched.environ["PFID_SOCKET"] = str(watched.socket)
    watched.nvml.play(H200)
    watched.start()
    until(watched, "the card", lambda v: v.visible == 1)
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from pfid.adapters.control_client import ControlClient\n"
        "from pfid.wire.control import ForgetGpu\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "print(ControlClient(Path(sys.argv[1]), timeout_s=60).call(ForgetGpu(uuid='x')).code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, watched.socket],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.stdout.strip() == "not_yours", done.stderr


def asked(nvml):
    """Every call but those for events, which are listened for while another call hangs."""
    return [call for call in nvml.calls() if "EventSetWait" not in call[1]]


@pytest.mark.parametrize("what", [HANG, CRASH])
def test_a_driver_that_hangs_or_crashes_leaves_the_daemon_and_its_page_alone(watched, what):
    watched.nvml.play(H200)
    watched.start()
    url = watched.register(watched.child().pid, "train-1").metrics_url
    until(watched, "a sample", last_is(0, lambda g: g.last.utilization == 1.0))
    watched.nvml.forget_calls()
    watched.nvml.change(0, utilization=what)
    view = until(watched, "no fresh sample", lambda v: v.gpus[0].last is None)
    assert "nvmlDeviceGetUtilizationRates" in {n for _, n, _ in watched.nvml.calls()}
    assert view.gpus[0].kind is WorkKind.UNKNOWN
    called = asked(watched.nvml)
    assert watched.ask(GetSnapshot())
    with urllib.request.urlopen(url, timeout=WITHIN_S) as answer:
        page = answer.read().decode()
    assert "pfid_nvml_up" in page
    if what == HANG:
        assert asked(watched.nvml) == called, "all this while the call had not come back"


def test_a_box_without_a_driver_serves_that_and_everything_else(watched):
    watched.nvml.play(H200, init=9)
    watched.start()
    view = until(watched, "why", lambda v: v.problem == "no_driver")
    assert (view.up, view.gpus) == (False, ())


def test_a_box_without_a_library_starts_no_sampler(idle_box):
    idle_box.start()
    view = until(idle_box, "why", lambda v: v.problem == "no_library")
    assert not view.up
    url = idle_box.register(idle_box.child().pid, "train-1").metrics_url
    with urllib.request.urlopen(url, timeout=WITHIN_S) as answer:
        assert "pfid_nvml_up 0" in answer.read().decode()
    assert not [name for name in _workers(idle_box.daemon.pid) if "gpu_sampler" in name]
    assert [name for name in _workers(idle_box.daemon.pid) if "log_reader" in name]


def _workers(pid):
    """Command lines of a daemon's children, whichever of its threads started them."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [child for file in lists for child in file.read_text().split()]
    return [Path(f"/proc/{c}/cmdline").read_bytes().decode() for c in children]


def test_switched_off_nothing_is_looked_for(idle_box):
    idle_box.config.write_text(idle_box.config.read_text() + "[gpus]\nenabled = false\n")
    idle_box.start()
    assert gpus(idle_box) is None


def test_no_run_is_launched_onto_memory_that_a_dead_one_still_holds(watched, tmp_path):
    watched.nvml.play(H200_IDLE, H200_IDLE)
    watched.nvml.change(1, memory_used=40 * GIB)
    watched.start()
    watched.until(
        "it is settled",
        lambda: verdict(watched, "gpu_memory_orphaned", uuid(1)) == ("fail", "held_by_nobody"),
        within_s=2 * WITHIN_S,
    )

    def run(**environ):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pfid", "run", "--name", "n", "--", "/bin/true"],
            cwd=tmp_path,
            env={**watched.environ, "XDG_STATE_HOME": str(tmp_path), **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        return done.returncode, done.stderr

    status, said = run(PFID_SOCKET=str(watched.socket))
    assert status == 125
    assert "GPU 1: memory of this GPU is held by no visible process" in said
    assert run(PFID_SOCKET=str(watched.socket), CUDA_VISIBLE_DEVICES="0")[0] == 0
    watched.kill(9)  # leaves its socket behind
    status, said = run(PFID_SOCKET=str(watched.socket))
    assert status == 125, "without a daemon the launcher looks itself"
    assert "GPU 1: memory of this GPU is held by no visible process" in said
    assert run(PFID_SOCKET=str(tmp_path / "nobody"), CUDA_VISIBLE_DEVICES="0")[0] == 0
    watched.nvml.change(1, memory_used=4 * 1024**2)
    assert run(PFID_SOCKET=str(tmp_path / "nobody"))[0] == 0, "given back"


def test_a_plugin_in_the_configured_folder_brings_its_gpus_beside_nvidias(watched):
    watched.nvml.play(H200)
    folder = watched.folder / "plugins"
    folder.mkdir(mode=0o755)
    (folder / "rocm.py").write_text(ROCM)
    watched.config.write_text(
        watched.config.read_text() + f'[plugins]\ndirectories = ["{folder}"]\n'
    )
    watched.start()
    view = until(watched, "both", lambda v: len([g for g in v.gpus if g.last]) == 2)
    assert {g.facts.vendor: g.last.utilization for g in view.gpus} == {"nvidia": 1.0, "amd": 0.5}
    shown = snapshot(watched)
    assert {s.name for s in shown.samplers} >= {"nvml", "rocm"}
    assert not [g for g in shown.gates if g.check == "rocm"]
