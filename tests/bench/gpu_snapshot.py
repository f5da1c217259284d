"""GPUs for a snapshot made up: cards that work, each held by its share of the runs."""

from dataclasses import replace

from pfid.domain.gpu import GpuFacts, GpuSample, PowerSource
from pfid.domain.gpu_view import GpusView, GpuView, HolderView
from pfid.domain.snapshot import RunView, Snapshot


def with_gpus(snapshot: Snapshot, at_s: float, count: int) -> Snapshot:
    """The same moment on a box with so many cards, its runs spread over them."""
    cards = tuple(_card(i, at_s, snapshot.runs[i::count]) for i in range(count))
    view = GpusView(up=True, driver="1", library="1", expected=count, visible=count, gpus=cards)
    return replace(snapshot, gpus=view)


def _card(index: int, at_s: float, held: tuple[RunView, ...]) -> GpuView:
    uuid = f"GPU-00000000-0000-0000-0000-{index:012d}"
    holders = tuple(
        HolderView(pid=1, memory_bytes=1 << 30, visible=True, run_id=view.run.run_id)
        for view in held
    )
    sample = GpuSample(
        uuid=uuid,
        at_s=at_s,
        utilization=0.9,
        power_w=612.0,
        power_source=PowerSource.ENERGY,
        power_limit_w=700.0,
        energy_j=at_s,
        throttle=frozenset(),
        memory_used_bytes=90 << 30,
        temperature_c=61.0,
        sm_activity=0.9,
        tensor_activity=0.6,
        dram_activity=0.4,
        ecc_uncorrected=0,
        processes=(),
    )
    facts = GpuFacts(
        uuid=uuid,
        index=index,
        name="GPU",
        pci_bus_id=f"0000:{index:02x}:00.0",
        memory_total_bytes=141 << 30,
    )
    return GpuView(facts=facts, present=True, last=sample, holders=holders)
