"""A look of our own at the GPUs: what keeps it from the driver, and that it does not spin."""

import time
from pathlib import Path

import pytest
from nvml_shim import H200_IDLE

from pfid.adapters.driver_stop import DriverStop
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.sources import Source, SourceKind
from pfid.bootstrap.step_probe import StepAsk, StepProbeError, run_step_probe
from pfid.config.paths import user_state_dir
from pfid.domain.gpu_view import GpusView
from pfid.domain.snapshot import DaemonHealth, Snapshot

HEALTH = DaemonHealth(started_at_s=0.0, ready=True, last_iteration_s=0.0)
EIGHT = frozenset(f"0000:{n:02x}:00.0" for n in range(10, 18))
ASK = StepAsk(python="python3", probe="profile_step", arguments=("nobody:asks",))


@pytest.fixture(autouse=True)
def box(nvml, tmp_path, monkeypatch):
    """One idle card, and a user of our own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    nvml.play(H200_IDLE)
    return nvml


def seen(own, wanted):
    """The view as soon as it is as wanted, however slow the box."""
    views = (own.look(0.1) for _ in range(600))
    return next(view for view in views if wanted(view))


def source(problem, kind=SourceKind.DAEMON):
    view = GpusView(up=not problem, problem=problem)
    return Source(kind=kind, place=Path("x"), snapshot=Snapshot(at_s=0.0, health=HEALTH, gpus=view))


def stop_of_this_user(tmp_path):
    folder = user_state_dir({"XDG_STATE_HOME": str(tmp_path)}, machine_id())
    DriverStop(own=folder).set()


@pytest.mark.parametrize("told", ["by the daemon", "by an engine", "by a file"])
def test_after_a_fatal_error_neither_a_look_nor_a_step_probe_asks_the_driver(box, tmp_path, told):
    sources = ()
    if told == "by a file":
        stop_of_this_user(tmp_path)
    else:
        kind = SourceKind.DAEMON if told == "by the daemon" else SourceKind.ENGINE
        sources = (source("fatal_xid", kind),)
    with OwnLook(sources) as own:
        for _ in range(2):  # at once, and when it had time to start
            assert own.look(1.0).problem == "fatal_xid"
        assert own._worker.counters.starts == 0
    with pytest.raises(StepProbeError, match="fatal error"):
        run_step_probe(ASK, lambda: sources, lambda _: None)
    assert box.calls() == []


def test_of_eight_cards_on_the_bus_a_job_that_was_given_one_misses_none(box, monkeypatch):
    """sysfs shows all cards to everybody, whatever the control group lets a job open."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    own = OwnLook()
    own._worker._gate.bus.read = lambda: EIGHT  # before the sampler's owner looks for itself
    with own:
        view = seen(own, lambda v: v.up)
    assert own.box.on_bus == EIGHT, "the fault was not delivered"
    assert (view.up, view.visible, view.expected, view.withheld) == (True, 1, None, "allocation")


@pytest.mark.parametrize(
    "told", [source("fatal_xid", SourceKind.ENDED_ENGINE), source(""), source("hung")]
)
def test_nobody_else_keeps_us_from_it(box, told):
    with OwnLook((told,)) as own:
        assert seen(own, lambda v: v.up)


def test_looking_again_where_there_is_nothing_waits_and_finds_what_has_come(box):
    """Whoever watches would spin otherwise."""
    box.play(H200_IDLE, init=9)
    with OwnLook() as own:
        assert seen(own, lambda v: v.problem == "no_driver")
        due_s = time.monotonic() + 0.5
        own.look(0.5)
        assert time.monotonic() >= due_s, "it waited as long as it was told to"
        box.play(H200_IDLE, init=0)
        assert seen(own, lambda v: v.up)
