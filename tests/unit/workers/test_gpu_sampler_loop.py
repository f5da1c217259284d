"""What the sampler says it touches, for whoever has to end it."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from pfid.adapters.gpu_worker import RULES
from pfid.domain.gpu import GpuSample
from pfid.spec.gpu_sampler import GpuDriver, GpuReading, GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import Beat, Configure, Read, Trouble, decode_report, encode
from pfid.workers import gpu_sampler
from pfid.workers.gpu_sampler import BEAT_S, SamplerLoop, Watched, next_due_s
from pfid.workers.touch_cell import TouchCell


class OneCard:
    name = "nvml"

    def open(self, _skip, touch):
        self.touch = touch
        return GpuDriver()

    def read(self, at_s, _monotonic_s):
        self.touch(3)
        return GpuReading(samples=(GpuSample(uuid="GPU-a", at_s=at_s),))

    def close(self):
        pass


def test_whoever_is_held_up_in_telling_is_at_no_device():
    """The daemon may be slow to take it, or somebody stops the process: no card's fault."""
    cell = TouchCell.create()
    told = []

    def send(body):
        told.append((decode_report(body), cell.get()))

    SamplerLoop(SimpleNamespace(send=send), cell)._attend(Watched(OneCard()), Configure())
    assert [at for report, at in told if isinstance(report, Read)] == [None]
    cell.close()


@pytest.mark.parametrize(
    ("now_s", "every_s", "due_s"),
    [
        (100.0, 1.0, 101.0),
        (100.003, 1.0, 101.0),
        (100.4, 1.0, 101.0),
        (100.6, 1.0, 102.0),
        (100.999, 1.0, 102.0),
        (100.2, 5.0, 105.0),
        (103.0, 5.0, 110.0),
    ],
)
def test_readings_come_at_multiples_of_their_interval_and_never_close_together(
    now_s, every_s, due_s
):
    assert next_due_s(now_s, every_s) == pytest.approx(due_s)
    assert next_due_s(now_s, every_s) - now_s >= every_s / 2


class Hour:
    """A loop's clock, its owner's end, and what it says when, until the owner hangs up."""

    pending_bytes = 0

    def __init__(self, monkeypatch, interval_s, sampler):
        self.now_s, self.said, self.polls = 1000.3, [], 0
        self.orders = [encode(Configure(interval_s=interval_s))]
        clock = SimpleNamespace(monotonic=lambda: self.now_s, time=lambda: self.now_s)
        monkeypatch.setattr(gpu_sampler, "time", clock)
        self.loop = SamplerLoop(self, TouchCell.create())
        self.loop._poll = self
        monkeypatch.setattr(self.loop, "_samplers", lambda _: [sampler])
        self.loop.run()

    closed = property(lambda self: self.now_s > 4600.0)

    def register(self, *_):
        pass

    def fileno(self):
        return 0

    def flush(self):
        pass

    def poll(self, rest_ms):
        self.polls += 1
        self.now_s += rest_ms / 1000 + 0.001

    def receive(self):
        found, self.orders = self.orders, []
        return found

    def send(self, body):
        self.said.append((self.now_s, decode_report(body)))

    def times(self, *kinds):
        return [at_s for at_s, report in self.said if isinstance(report, kinds or object)]


def gaps(times):
    return [after - before for before, after in pairwise(times)]


@pytest.mark.parametrize("interval_s", [1.0, 3.0, 5.0, 7.0, 10.0, 60.0])
def test_a_sampler_that_has_nothing_to_read_for_long_is_not_silent(monkeypatch, interval_s):
    hour = Hour(monkeypatch, interval_s, OneCard())
    assert max(gaps(hour.times())) <= 2 * BEAT_S + 0.1 < RULES.deadline_s / 2
    reads = gaps(hour.times(Read))
    assert max(reads[1:]) == pytest.approx(interval_s, abs=0.01), "it reads as it was told to"
    assert reads[0] <= 1.5 * interval_s + 0.01
    beats = len(hour.times(Beat)) - 2  # before it knows what to read
    assert (beats > 1) is (interval_s > 2 * BEAT_S), "a reading is a beat"
    assert hour.polls <= len(reads) + max(beats, 0) + 4, "it wakes for nothing else"


class NoDriver(OneCard):
    def open(self, *_):
        raise GpuSamplerError(SamplerProblem.NO_DRIVER)


def test_what_is_wrong_is_repeated_with_the_beat_however_long_the_interval(monkeypatch):
    hour = Hour(monkeypatch, 60.0, NoDriver())
    assert max(gaps(hour.times(Trouble))) <= 2 * BEAT_S + 0.1
