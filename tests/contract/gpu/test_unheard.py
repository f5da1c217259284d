"""Errors while nobody listened: had from the kernel's log where it can be read, else said so."""

import os
import signal
import time
from pathlib import Path

import pytest
from nvml_shim import CRASH, H200, LOST, uuid

from pfid.adapters.gpu_gate import GpuGate
from pfid.spec.ports.gpus import SamplerProblem

PLACES = ("0000:0a:00", "0000:0b:00")


class Log:
    """A file in the kernel's format."""

    def __init__(self, path):
        self.path, self.number = path, 0
        self.say("an old line")

    def say(self, text):
        self.number += 1
        with self.path.open("a") as file:
            file.write(f"4,{self.number},{self.number * 1000},-;{text}\n")

    def xid(self, place, code, pid=1234):
        self.say(f"NVRM: Xid (PCI:{place}): {code}, pid={pid}, name=python, whatever")


def reading(path):
    """A gate whose sampler reads this log."""
    return GpuGate(monotonic_s=time.monotonic, kernel_log=path)


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "kmsg")


@pytest.fixture
def watching(nvml, sampler, log):
    nvml.play(H200, H200)
    watching = sampler(gate=reading(log.path))
    watching.read(lambda r: len(r.samples) == 2)
    return watching


class Stopped:
    """The reader, stopped: nobody listens till it is killed and the next one has begun."""

    def __init__(self, watching):
        self.pid = watching.worker.owner._process.pid
        os.kill(self.pid, signal.SIGSTOP)
        while _state(self.pid) != "T":
            time.sleep(0.001)
        while not watching.events.empty():
            watching.events.get()

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_fatal_error_between_two_readers_is_heard_before_the_driver_is_asked_anything(
    nvml, watching, log
):
    reader = Stopped(watching)
    log.xid(PLACES[1], 79)
    reader.kill()
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code, event.pid) == (f"PCI-{PLACES[1]}.0", 79, 1234)
    assert watching.trouble().problem is SamplerProblem.FATAL_XID
    assert watching.worker._gate.stop.stands()
    assert {pid for pid, _, _ in nvml.calls()} == {reader.pid}, "the next one asked nothing"


def test_an_error_between_two_readers_that_is_not_fatal_is_told_and_nothing_went_unheard(
    watching, log
):
    reader = Stopped(watching)
    log.xid(PLACES[0], 48)
    log.xid("0000:77:00", 48)
    reader.kill()
    read = watching.read(lambda r: r.xids)
    assert [(x.uuid, x.code) for x in read.xids] == [(f"PCI-{PLACES[0]}.0", 48)]
    assert read.unheard_s == 0
    assert watching.read().xids == ()


def test_the_fatal_error_that_was_told_is_not_told_again_to_whoever_is_started_later(
    nvml, watching, log
):
    log.xid(PLACES[0], 79)
    nvml.xid(0, 79)
    watching.read(lambda r: r.xids)
    assert watching.trouble().problem is SamplerProblem.FATAL_XID
    watching.worker.try_again()
    read = watching.read()
    assert (len(read.samples), read.xids, read.unheard_s) == (2, (), 0)


def test_a_log_that_can_only_be_read_now_does_not_tell_of_before(nvml, sampler, tmp_path):
    nvml.play(H200)
    path = tmp_path / "later"
    watching = sampler(gate=reading(path))
    watching.read()
    reader = Stopped(watching)
    Log(path)
    reader.kill()
    assert watching.read(lambda r: r.samples).unheard_s > 0


def test_without_the_log_the_time_between_two_readers_is_told_as_unheard(nvml, sampler, tmp_path):
    nvml.play(H200)
    watching = sampler(gate=reading(tmp_path / "nothing"))
    assert watching.read().unheard_s == 0, "before the first one there was nobody to go on from"
    reader = Stopped(watching)
    reader.kill()
    assert watching.read(lambda r: r.unheard_s).heard.record is None
    assert watching.read().unheard_s == 0, "once"


def test_a_log_that_was_written_over_meanwhile_remembers_nothing(watching, log):
    reader = Stopped(watching)
    log.number += 50
    log.say("a later line")
    reader.kill()
    assert watching.read(lambda r: r.samples).unheard_s > 0


def test_an_error_of_a_card_that_is_held_back_is_had_from_the_log(nvml, watching, log):
    nvml.change(1, temperature=CRASH)
    watching.gone()
    read = watching.read(lambda r: r.facts is not None)
    assert [f.uuid for f in read.facts] == [uuid(0)]
    reader = Stopped(watching)
    log.xid(PLACES[0], 48)
    nvml.xid(0, 48)
    reader.go_on()
    (event,) = watching.read(lambda r: r.xids).xids
    assert event.uuid == uuid(0)
    assert watching.read().xids == (), "one that is listened to is told once, though by both"
    log.xid(PLACES[1], 119)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code) == (f"PCI-{PLACES[1]}.0", 119)
    assert watching.trouble().problem is SamplerProblem.FATAL_XID


def test_opening_the_driver_anew_is_bridged_by_the_log(nvml, watching, log):
    nvml.change(0, utilization="error 1")
    watching.trouble()
    log.xid(PLACES[0], 48)
    nvml.change(0, utilization=100)
    read = watching.read(lambda r: r.xids)
    assert [x.code for x in read.xids] == [48]
    assert read.unheard_s == 0


def test_a_fatal_error_is_told_though_the_set_breaks_before_it_tells_it(nvml, watching, log):
    reader = Stopped(watching)
    log.xid(PLACES[1], 79)
    nvml.change(1, state=LOST)
    reader.go_on()
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code, event.pid) == (f"PCI-{PLACES[1]}.0", 79, 1234)
    assert watching.trouble().problem is SamplerProblem.FATAL_XID
    assert watching.worker._gate.stop.stands()


def test_an_error_of_another_card_is_told_though_the_set_breaks_before_it_tells_it(
    nvml, watching, log
):
    reader = Stopped(watching)
    log.xid(PLACES[0], 48)
    nvml.change(1, state=LOST)
    reader.go_on()
    read = watching.read(lambda r: r.xids)
    assert [(x.uuid, x.code) for x in read.xids] == [(f"PCI-{PLACES[0]}.0", 48)]
    assert watching.read(lambda r: r.lost).xids == ()


def test_an_error_that_log_and_set_tell_has_its_process_and_its_card_and_comes_once(
    nvml, watching, log
):
    reader = Stopped(watching)
    log.xid(PLACES[0], 31, pid=4321)
    nvml.xid(0, 31)
    reader.go_on()
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code, event.pid) == (uuid(0), 31, 4321)
    assert watching.read().xids == ()
