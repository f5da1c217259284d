"""A plugin that brings another vendor's card, as text to be written where plugins are found."""

ROCM = """
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.spec import hookimpl
from pfid.spec.gpu_sampler import GpuDriver, GpuReading, GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem

CARD = GpuFacts(uuid="GPU-amd-00000000", index=0, name="MI300X",
                pci_bus_id="0000:1a:00.0", vendor="amd")

class Rocm:
    name = "rocm"
    def open(self, skip, touch):
        return GpuDriver(driver="6.14")
    def read(self, at_s, monotonic_s):
        now = GpuSample(uuid=CARD.uuid, at_s=at_s, utilization=0.5)
        return GpuReading(samples=(now,), facts=(CARD,))
    def close(self):
        pass

@hookimpl
def pfid_gpu_samplers():
    yield Rocm()
"""
