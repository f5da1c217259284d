"""What a kernel table tells by its names: generations, slow kinds, names that are cut."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pfid.analysis.kernel_decomposition import by_generation
from pfid.analysis.kernel_table import KernelTally
from pfid.formats.kernel_names.capability import Device

Note = tuple[str, str]
WORTH_SAYING: Final = 0.01
"""Share of device time below which a generation or a tier is not worth a sentence."""
MAJOR: Final = 10


def generation_notes(device: Device, used: Sequence[KernelTally]) -> Iterator[Note]:
    """Say which kernels are of an older generation than the device."""
    if device.amd:
        yield "generation_not_applicable", "AMD: kernel names carry no generation; unknown"
        return
    if device.capability is None:
        yield (
            "capability_unknown",
            "the trace does not tell the device's compute capability; --capability X.Y does",
        )
        return
    for one in by_generation(used):
        older = one.generation is not None and one.generation // MAJOR < device.capability // MAJOR
        if older and one.share >= WORTH_SAYING:
            yield (
                "older_generation",
                (
                    f"sm{one.generation} kernels on sm_{device.capability}: {one.share:.1%} of"
                    f" device time ({', '.join(one.families)}); {_newer(known=one.newer_known)}"
                ),
            )


def _newer(*, known: bool | None) -> str:
    if known is None:
        return "whether newer ones exist is not known; it can be deliberate"
    if known:
        return "newer ones exist for some of them; it can be deliberate all the same"
    return "no newer one exists for this family in torch 2.14.1"


def kind_notes(used: Sequence[KernelTally]) -> Iterator[Note]:
    """Say which kernels are of a slow kind, and of how many the name is cut."""
    total_ns = sum(tally.total_ns for tally in used) or 1
    simt = _share([t for t in used if t.identity.simt_f32 or _scudnn(t)], total_ns)
    if simt >= WORTH_SAYING:
        yield "f32_cores", f"{simt:.1%} of device time is FP32 matrix work without tensor cores"
    slow = _share([tally for tally in used if tally.identity.tier == "gmem"], total_ns)
    if slow >= WORTH_SAYING:
        yield (
            "slow_tier",
            (
                f"{slow:.1%} of device time is mem-efficient attention's gmem tier, its fallback"
                " through global memory"
            ),
        )
    cut = _share([tally for tally in used if tally.identity.truncated], total_ns)
    if cut:
        yield "names_cut", f"names of {cut:.1%} of device time are cut off: generation unknown"


def _scudnn(tally: KernelTally) -> bool:
    return "scudnn" in tally.key.name


def _share(tallies: list[KernelTally], total_ns: int) -> float:
    return sum(tally.total_ns for tally in tallies) / total_ns


def generations_json(used: Sequence[KernelTally]) -> list[dict[str, Any]]:
    """Device time by generation."""
    return [
        {
            "generation": generation_text(one.generation),
            "sum_us": one.sum_ns / 1000,
            "share": one.share,
            "families": one.families,
            "newer_known": one.newer_known,
        }
        for one in by_generation(used)
    ]


def generation_text(generation: int | None) -> str | None:
    """Return ``sm80``."""
    return None if generation is None else f"sm{generation}"
