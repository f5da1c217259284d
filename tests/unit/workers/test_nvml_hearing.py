"""What is heard is lost neither when a set breaks nor when the driver goes."""

import time

import pytest

from pfid.domain.gpu import XidEvent
from pfid.spec.gpu_sampler import GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem
from pfid.workers import nvml_hearing
from pfid.workers.kernel_xids import KernelXids
from pfid.workers.nvml_events import XidEvents
from pfid.workers.nvml_hearing import Hearing

PLACE = "0000:0a:00.0"
EARLIER = XidEvent(uuid="GPU-a", code=13, at_s=1.0)


class Events(XidEvents):
    """A set that tells what it is given, and fails in the end where it is told to."""

    def __init__(self):
        super().__init__()
        self.asked, self.tells, self.fails = 0, (), False

    def _listen(self, _at_s):
        self.asked += 1
        self.keep(self.tells)
        self.tells = ()
        if self.fails:
            raise GpuSamplerError(SamplerProblem.NO_DRIVER)


class Heard:
    def __init__(self, path):
        self.path, self.number = path, -1
        path.touch()
        self.events = Events()
        self.hearing = Hearing(self.events, KernelXids(path))
        self.hearing.of({"GPU-a": PLACE})

    def log(self, code, pid=7):
        self.number += 1
        with self.path.open("a") as file:
            what = f"NVRM: Xid (PCI:0000:0a:00): {code}, pid={pid}, name=python"
            file.write(f"4,{self.number},1,-;{what}\n")

    def told(self):
        return [(x.uuid, x.code, x.pid) for x in self.hearing.read(2.0)]


@pytest.fixture
def heard(tmp_path):
    return Heard(tmp_path / "kmsg")


def test_an_error_that_the_set_does_not_tell_is_told_by_the_log(heard):
    heard.log(48)
    assert heard.told() == [(f"PCI-{PLACE}", 48, 7)]


def test_its_event_is_no_second_error_when_it_comes_a_turn_later(heard):
    heard.log(48)
    assert len(heard.told()) == 1
    heard.events.tells = (XidEvent(uuid="GPU-a", code=48, at_s=62.0),)
    assert heard.told() == []


def test_what_was_heard_before_the_driver_went_is_told_when_it_is_back(heard):
    heard.log(48)
    heard.events.tells = (EARLIER,)
    heard.events.fails = True
    with pytest.raises(GpuSamplerError):
        heard.told()
    heard.events.fails = False
    assert heard.told() == [("GPU-a", 13, None), (f"PCI-{PLACE}", 48, 7)]
    assert heard.told() == []


def test_once_something_fatal_stands_in_the_log_the_set_is_not_asked(heard):
    heard.hearing.keep((EARLIER,))
    heard.log(79)
    assert heard.told() == [("GPU-a", 13, None), (f"PCI-{PLACE}", 79, 7)]
    assert heard.events.asked == 0


@pytest.mark.parametrize("opened", [False, True])
def test_a_fatal_error_while_nobody_listened_is_told_with_what_was_heard_before(heard, opened):
    heard.hearing.keep((EARLIER,))
    heard.log(79)
    with pytest.raises(GpuSamplerError) as error:
        heard.hearing.bridge(2.0, opened=opened)
    assert [x.code for x in error.value.xids] == [13, 79]


def test_records_that_were_written_over_are_said_to_be_missing_once(heard):
    heard.log(48)
    assert (len(heard.told()), heard.hearing.heard().torn) == (1, False)
    heard.number += 500
    heard.log(31)
    assert [code for _, code, _ in heard.told()] == [31]
    assert [heard.hearing.heard().torn, heard.hearing.heard().torn] == [True, False]


def test_while_the_set_is_broken_what_the_log_lost_went_unheard(heard, monkeypatch):
    monkeypatch.setattr(nvml_hearing, "MOMENT_S", 0.0)
    for lost in (0, 500):
        heard.events.heard_s, heard.events.broken = time.monotonic() - 9.0, True
        heard.number += lost
        heard.log(48)
        heard.told()
        heard.hearing.bridge(3.0, opened=True)
        unheard_s = heard.hearing.unheard_s()
        assert unheard_s == 0 if lost == 0 else unheard_s >= 9.0
