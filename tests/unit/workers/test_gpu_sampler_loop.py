"""What the sampler says it touches, for whoever has to end it."""

from types import SimpleNamespace

import pytest

from pfid.domain.gpu import GpuSample
from pfid.spec.gpu_sampler import GpuDriver, GpuReading
from pfid.wire.gpu import Configure, Read, decode_report
from pfid.workers.gpu_sampler import SamplerLoop, Watched, next_due_s
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
