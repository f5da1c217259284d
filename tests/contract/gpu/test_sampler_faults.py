"""A driver that hangs, crashes, lies or is not there costs its own figures and nothing else."""

import os
import shutil
import subprocess
import sys
import textwrap
import time

import pytest
from nvml_shim import CRASH, H200, HANG, LIBRARY, uuid

from pfid.adapters.driver_stop import DriverStop, driver_load
from pfid.adapters.gpu_bus import gpus_on_bus
from pfid.adapters.gpu_gate import GpuGate, find_library
from pfid.adapters.gpu_worker import GpuSaid
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import PluginPlace, Trouble

TEMPERATURE = ("nvmlDeviceGetTemperature", 1)
OPENED = ("nvmlInitWithFlags", -1)
EVENTS = "nvmlEventSetWait_v2"
WAIT_S = 60.0


def starts(sampler):
    return sampler.worker.counters.starts


def asked(nvml):
    """Every call but those for events, which are listened for while another call hangs."""
    return [call for call in nvml.calls() if call[1] != EVENTS]


def last_call(nvml):
    return next((call[1:] for call in asked(nvml)[-1:]), None)


def hangs(nvml):
    """Whether the last call is the one that hangs, and no other comes after it."""
    before = asked(nvml)
    time.sleep(0.5)
    return last_call(nvml) == TEMPERATURE and asked(nvml) == before


@pytest.mark.parametrize(
    ("what", "problem"), [(HANG, SamplerProblem.HUNG), (CRASH, SamplerProblem.CRASHED)]
)
def test_the_one_gpu_that_hangs_or_crashes_is_held_back_and_the_others_are_seen(
    nvml, sampler, what, problem
):
    nvml.play(H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 2)
    nvml.change(1, temperature=what)
    gone = watching.run_out(lambda: hangs(nvml)) if what == HANG else watching.gone()
    assert last_call(nvml) == TEMPERATURE
    assert (gone.problem, gone.index) == (problem, 1)
    read = watching.read(lambda r: r.facts is not None)
    assert [f.uuid for f in read.facts] == [uuid(0)]
    nvml.forget_calls()
    assert [s.uuid for s in watching.read(lambda r: r.samples).samples] == [uuid(0)]
    watching.read()
    assert {i for _, _, i in nvml.calls()} <= {-1, 0}


def test_a_gpu_held_back_is_tried_again_when_an_operator_says_so(nvml, sampler):
    nvml.play(H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 2)
    nvml.change(1, temperature=HANG)
    watching.run_out(lambda: hangs(nvml))
    watching.read(lambda r: len(r.samples) == 1)
    nvml.change(1, temperature=50)
    watching.worker.try_again()
    nvml.change(0, temperature=CRASH)
    watching.gone()
    nvml.change(0, temperature=50)
    read = watching.read(lambda r: len(r.samples) == 1)
    assert [s.uuid for s in read.samples] == [uuid(1)]


def test_a_sampler_that_hangs_while_it_starts_is_started_again(nvml, sampler):
    nvml.play(H200, init=HANG)
    watching = sampler()
    gone = watching.run_out(lambda: last_call(nvml) == OPENED)
    assert (gone.problem, gone.index) == (SamplerProblem.HUNG, None)
    nvml.play(H200, init=0)
    assert watching.sample().utilization == 1.0


def test_after_a_fatal_xid_nothing_is_asked_and_nothing_started(nvml, sampler):
    nvml.play(H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 2)
    nvml.xid(0, 79)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code) == (uuid(0), 79)
    told = watching.trouble()
    assert (told.problem, told.leaving) == (SamplerProblem.FATAL_XID, True)
    names = [n for _, n, _ in nvml.calls()]
    last = len(names) - 1 - names[::-1].index(EVENTS)
    assert names[last + 1 :] == []
    assert watching.worker._gate.wait_s() > 0
    assert starts(watching) == 1


def delivered(nvml, fault):
    ends_s = time.monotonic() + WAIT_S
    while not fault(nvml):
        assert time.monotonic() < ends_s, "the fault was not delivered"


def test_a_fatal_xid_that_comes_while_a_call_hangs_is_heard_and_nothing_is_asked_after_it(
    nvml, sampler, tmp_path
):
    """As a card whose firmware stops answering shows: the call first, the error after it."""
    stop = DriverStop(own=tmp_path / "state")
    nvml.play(H200, H200)
    gate = GpuGate(environ=nvml.environ, monotonic_s=time.monotonic, stop=stop)
    watching = sampler(gate=gate)
    watching.read(lambda r: len(r.samples) == 2)
    nvml.change(1, temperature=HANG)
    delivered(nvml, hangs)
    before = asked(nvml)
    nvml.xid(1, 119)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code) == (uuid(1), 119)
    told = watching.trouble()
    assert (told.problem, told.leaving) == (SamplerProblem.FATAL_XID, True)
    assert watching.gone().problem is SamplerProblem.FATAL_XID
    assert DriverStop(own=tmp_path / "state").stands(), "whoever is started next"
    assert (asked(nvml), starts(watching)) == (before, 1)


def test_a_fatal_xid_while_a_card_hangs_that_is_just_being_found_is_heard_as_well(nvml, sampler):
    nvml.play(H200, {**H200, "name": HANG})
    gate = GpuGate(environ=nvml.environ, monotonic_s=time.monotonic)
    watching = sampler(gate=gate)
    delivered(nvml, lambda shim: last_call(shim) == ("nvmlDeviceGetName", 1))
    nvml.xid(1, 119)
    assert [x.code for x in watching.read(lambda r: r.xids).xids] == [119]
    assert watching.trouble().problem is SamplerProblem.FATAL_XID
    assert gate.stop.stands()
    assert last_call(nvml) == ("nvmlDeviceGetName", 1)


def test_after_a_fatal_xid_a_driver_loaded_anew_is_a_reason_to_look_again(nvml, tmp_path):
    module = tmp_path / "module"
    module.mkdir()
    stop = DriverStop(load=lambda: driver_load(module))
    gate = GpuGate(environ=nvml.environ, monotonic_s=lambda: 0.0, stop=stop)
    assert gate.wait_s() == 0
    gate.stop.set()
    assert gate.wait_s() > 0
    another = tmp_path / "another"
    another.mkdir()
    module.rmdir()
    another.rename(module)
    assert gate.wait_s() == 0


def test_after_a_fatal_xid_whoever_is_started_next_asks_nothing_either(nvml, sampler, tmp_path):
    def gate():
        stop = DriverStop(own=tmp_path / "state")
        return GpuGate(environ=nvml.environ, monotonic_s=time.monotonic, stop=stop)

    nvml.play(H200)
    first = sampler(gate=gate())
    first.read(lambda r: r.samples)
    nvml.xid(0, 79)
    first.trouble()
    first.close()
    nvml.forget_calls()
    second = sampler(gate=gate())
    assert second.gone().problem is SamplerProblem.FATAL_XID
    assert (nvml.calls(), starts(second)) == ([], 0)
    second.worker.try_again()
    assert second.sample().utilization == 1.0, "at once: the gate is asked every half minute"
    second.close()
    assert sampler(gate=gate()).sample().utilization == 1.0


def test_another_librarys_file_is_no_reason_to_ask_after_a_fatal_xid(nvml):
    gate = GpuGate(environ=nvml.environ, monotonic_s=lambda: 0.0)
    gate.stop.set()
    new = nvml.folder / "new"
    shutil.copy(nvml.folder / LIBRARY, new)
    new.replace(nvml.folder / LIBRARY)
    assert gate.wait_s() > 0


def test_an_operator_opens_the_gate(nvml):
    gate = GpuGate(environ=nvml.environ, monotonic_s=lambda: 0.0)
    gate.stop.set()
    assert gate.wait_s() > 0
    gate.release()
    assert gate.wait_s() == 0


def test_a_library_that_does_not_fit_its_driver_is_left_until_something_changes(nvml, sampler):
    nvml.play(H200, init=18)
    watching = sampler()
    told = watching.trouble()
    assert (told.problem, told.leaving) == (SamplerProblem.DRIVER_MISMATCH, True)
    assert watching.worker._gate.wait_s() > 0
    nvml.play(H200, init=0)
    new = nvml.folder / "new"
    shutil.copy(nvml.folder / LIBRARY, new)
    new.replace(nvml.folder / LIBRARY)
    assert watching.worker._gate.wait_s() == 0


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (9, SamplerProblem.NO_DRIVER),
        (4, SamplerProblem.NO_PERMISSION),
        (999, SamplerProblem.OTHER),
    ],
)
def test_a_driver_that_cannot_be_opened_is_named_and_tried_again_by_the_same_process(
    nvml, sampler, code, problem
):
    nvml.play(H200, init=code)
    watching = sampler()
    assert watching.trouble().problem is problem
    nvml.play(H200, init=0)
    watching.sample()
    assert starts(watching) == 1


def test_a_driver_that_was_unloaded_under_us_is_opened_anew(nvml, sampler):
    nvml.play(H200)
    watching = sampler()
    watching.sample()
    nvml.change(0, utilization="error 1")
    assert watching.trouble().problem is SamplerProblem.OTHER
    nvml.forget_calls()
    nvml.change(0, utilization=7)
    assert watching.sample().utilization == 0.07
    assert "nvmlInitWithFlags" in [n for _, n, _ in nvml.calls()]


def test_without_a_library_nothing_is_started(tmp_path, monkeypatch, sampler):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    if find_library(os.environ) is not None:
        pytest.skip("this machine has NVML")
    watching = sampler()
    assert watching.gone().problem is SamplerProblem.NO_LIBRARY
    assert starts(watching) == 0


def test_a_file_that_is_no_library_is_named(tmp_path, monkeypatch, sampler):
    (tmp_path / LIBRARY).write_text("not an ELF file\n")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert sampler().trouble().problem is SamplerProblem.NO_LIBRARY


def test_the_bus_names_what_the_driver_should_answer_for(tmp_path):
    def device(name, vendor, kind, driver=None):
        folder = tmp_path / "devices" / name
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(vendor + "\n")
        (folder / "class").write_text(kind + "\n")
        if driver:
            (tmp_path / driver).mkdir(exist_ok=True)
            (folder / "driver").symlink_to(tmp_path / driver)

    device("0000:0a:00.0", "0x10de", "0x030200", "nvidia")
    device("0000:0b:00.0", "0x10de", "0x030000")
    device("0000:0c:00.0", "0x10de", "0x030200", "vfio-pci")
    device("0000:0d:00.0", "0x10de", "0x040300", "snd_hda_intel")
    device("0000:0e:00.0", "0x8086", "0x030000", "i915")
    assert gpus_on_bus(tmp_path / "devices") == {"0000:0a:00.0", "0000:0b:00.0"}
    assert gpus_on_bus(tmp_path / "nothing") is None


VENDOR = """
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.spec import hookimpl
from pfid.spec.gpu_sampler import GpuDriver, GpuReading


class Rocm:
    name = "rocm"

    def open(self, skip, touch):
        return GpuDriver(driver="6.14")

    def read(self, at_s, monotonic_s):
        fact = GpuFacts(uuid="GPU-amd-00000000", index=0, name="MI300X",
                        pci_bus_id="0000:1a:00.0", vendor="amd")
        return GpuReading(samples=(GpuSample(uuid=fact.uuid, at_s=at_s, utilization=0.5),),
                          facts=(fact,))

    def close(self):
        pass


class Wrong:
    name = "nvml"


@hookimpl
def pfid_gpu_samplers():
    yield Wrong()
    yield Rocm()
"""


def test_a_plugin_brings_the_gpus_of_another_vendor(tmp_path, sampler):
    good, bad = tmp_path / "amd.py", tmp_path / "bad.py"
    good.write_text(VENDOR)
    bad.write_text("raise RuntimeError('no')\n")
    places = tuple(PluginPlace(name=f.stem, place=str(f), is_file=True) for f in (bad, good))
    watching = sampler(plugins=places)
    said = {watching.trouble().sampler for _ in range(2)}
    assert said == {"amd", "bad"}
    assert watching.opened().sampler == "rocm"
    read = watching.read()
    assert (read.sampler, read.samples[0].utilization) == ("rocm", 0.5)
    assert watching.facts["GPU-amd-00000000"].vendor == "amd"


def test_after_a_fatal_error_no_plugin_asks_its_driver_before_an_operator_says_so(
    tmp_path, sampler
):
    fatal = VENDOR.replace("GpuFacts, GpuSample", "GpuFacts, GpuSample, XidEvent").replace(
        "facts=(fact,))", "facts=(fact,), xids=(XidEvent(uuid=fact.uuid, code=79, at_s=at_s),))"
    )
    (tmp_path / "amd.py").write_text(fatal)
    places = (PluginPlace(name="amd", place=str(tmp_path / "amd.py"), is_file=True),)
    watching = sampler(plugins=places)
    watching.read(lambda r: r.xids)
    assert watching.gone().problem is SamplerProblem.FATAL_XID
    assert starts(watching) == 1
    (tmp_path / "amd.py").write_text(VENDOR)
    watching.worker.try_again()
    assert watching.sample().utilization == 0.5
    assert starts(watching) == 2


def test_plugins_without_a_sampler_cost_one_look(tmp_path, sampler):
    file = tmp_path / "checks_only.py"
    file.write_text(textwrap.dedent("x = 1\n"))
    watching = sampler(plugins=(PluginPlace(name="x", place=str(file), is_file=True),))
    watching.until(
        lambda e: isinstance(e, GpuSaid) and isinstance(e.report, Trouble) and e.report.leaving
    )
    assert watching.worker._wait_s() > 60
    assert starts(watching) == 1


FULL = """
import os, queue, sys
from pfid.adapters.gpu_worker import GpuSaid, GpuSamplerGone, GpuWorker
from pfid.wire.gpu import Read
events, taken = queue.SimpleQueue(), []
worker = GpuWorker(events.put, interval_s=0.1)
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("full", error.errno, flush=True)
worker.start()
while not isinstance(said := events.get(timeout=60), GpuSamplerGone):
    pass
print(said.problem.value, flush=True)
for fd in taken:
    os.close(fd)
while not (isinstance(said := events.get(timeout=60), GpuSaid) and isinstance(said.report, Read)):
    pass
print(len(said.report.samples), flush=True)
worker.close()
"""


@pytest.mark.full
def test_without_a_descriptor_left_there_is_no_sampler_until_there_is_one(nvml):
    nvml.play(H200)
    script = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n{FULL}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **nvml.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.stdout.splitlines() == ["full 24", "crashed", "1"], done.stderr
