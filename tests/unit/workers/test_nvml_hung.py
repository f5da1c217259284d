"""Whoever listens beside a call that hangs."""

import queue

import pytest

from pfid.domain.gpu import XidEvent
from pfid.spec.gpu_sampler import GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem
from pfid.workers import nvml_hung
from pfid.workers.nvml_events import XidEvents
from pfid.workers.nvml_hung import HungListener

WAIT_S = 60.0
PAGE_FAULT = XidEvent(uuid="GPU-0", code=31, at_s=1.0)
FIRMWARE = XidEvent(uuid="GPU-0", code=119, at_s=2.0)


class Told:
    """A driver's events, told one after the other, and what became of them."""

    def __init__(self, *told):
        self.told = list(told)
        self.kept = queue.SimpleQueue()

    def read(self, _at_s):
        found = self.told.pop(0) if self.told else ()
        if isinstance(found, Exception):
            raise found
        return found

    def keep(self, events):
        if events:
            self.kept.put(events)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(nvml_hung, "LATE_S", 0.0)
    monkeypatch.setattr(nvml_hung, "EACH_S", 0.001)


def test_a_fatal_error_is_told_beside_the_call_with_what_came_before_it():
    heard = queue.SimpleQueue()
    listener = HungListener(Told((PAGE_FAULT, FIRMWARE)), heard.put)
    with listener.round():
        assert heard.get(timeout=WAIT_S) == (PAGE_FAULT, FIRMWARE)


def test_another_error_is_kept_for_whoever_reads_when_the_call_has_come_back():
    events, heard = Told((PAGE_FAULT,)), queue.SimpleQueue()
    with HungListener(events, heard.put).round():
        assert events.kept.get(timeout=WAIT_S) == (PAGE_FAULT,)
    assert heard.empty()
    real = XidEvents()
    real.keep((PAGE_FAULT,))
    assert [real.read(3.0), real.read(4.0)] == [(PAGE_FAULT,), ()]


def test_a_driver_that_fails_meanwhile_does_not_end_the_listening():
    gone = GpuSamplerError(SamplerProblem.NO_DRIVER)
    heard = queue.SimpleQueue()
    with HungListener(Told(gone, (FIRMWARE,)), heard.put).round():
        assert heard.get(timeout=WAIT_S) == (FIRMWARE,)


def test_within_a_round_that_is_part_of_another_the_longer_one_counts(monkeypatch):
    monkeypatch.setattr(nvml_hung, "LATE_S", 3600.0)
    listener = HungListener(Told(), print)
    with listener.round():
        began_s = listener._began_s
        with listener.round():
            assert listener._began_s == began_s
        assert listener._began_s == began_s
    assert listener._began_s is None


@pytest.mark.parametrize(
    ("began_s", "rest_s"), [(None, 2.0), (99.5, 1.5), (98.1, 0.25), (98.0, 0.25), (90.0, 0.25)]
)
def test_it_wakes_when_a_round_can_be_late_and_no_sooner(monkeypatch, began_s, rest_s):
    monkeypatch.setattr(nvml_hung, "LATE_S", 2.0)
    monkeypatch.setattr(nvml_hung, "EACH_S", 0.25)
    events = Told((PAGE_FAULT,))
    listener = HungListener(events, print)
    listener._began_s = began_s
    assert listener._turn(100.0) == pytest.approx(rest_s)
    assert bool(events.told) is (began_s is None or 100.0 - began_s < 2.0)
