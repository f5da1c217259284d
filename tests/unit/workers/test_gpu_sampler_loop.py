"""What the sampler says it touches, for whoever has to end it."""

from types import SimpleNamespace

from pfid.domain.gpu import GpuSample
from pfid.spec.gpu_sampler import GpuDriver, GpuReading
from pfid.wire.gpu import Configure, Read, decode_report
from pfid.workers.gpu_sampler import SamplerLoop, Watched
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
