"""May a run start on these GPUs? Not where memory is held and nobody who lives holds it.

Asked of a daemon's settled, proven verdicts; without a daemon the launcher looks itself. Who cannot
look refuses nobody.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pfid.domain.gpu_view import GpusView, GpuView
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import Snapshot, VerdictView
from pfid.domain.verdict import EntityKind
from pfid.policy.hysteresis import UNSEEN

CHECK: Final = "gpu_memory_orphaned"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_HIP: Final = "HIP_VISIBLE_DEVICES"
_CHOSEN_BY: Final = {
    "nvidia": ((VISIBLE,),),
    "amd": (("ROCR_VISIBLE_DEVICES",), (_HIP, VISIBLE)),
}
"""By vendor, what chooses one after the other; of several names the first that is set. HIP heeds
CUDA's as its own. Where nobody knows how a vendor's cards are chosen, a run may use each."""
NO_CARD: Final = frozenset({"", "-1"})


def hides_nvidia(environ: Mapping[str, str]) -> bool:
    """Whether a run with this environment is shown no GPU of NVIDIA's; others' may heed nothing."""
    return environ.get(VISIBLE) in NO_CARD


def refusal(snapshot: Snapshot, environ: Mapping[str, str]) -> str:
    """Why a run may not start, "" if nothing speaks against it.

    Args:
        snapshot: of the daemon that watches the GPUs.
        environ: of the run; where it chooses nothing, every GPU.
    """
    if snapshot.gpus is None:
        return ""
    stands = {v.entity.id: v.summary for v in snapshot.verdicts if _stands(v)}
    chosen = chosen_gpus(snapshot.gpus, environ)
    return held([(g, stands[g.facts.uuid]) for g in chosen if g.facts.uuid in stands])


def held(cards: Sequence[tuple[GpuView, str]]) -> str:
    """The refusal for these cards, each with what its verdict says; "" for none."""
    if not cards:
        return ""
    said = "; ".join(f"GPU {gpu.facts.index}: {summary}" for gpu, summary in cards)
    return (
        f"{said}. The run would run out of memory there: free it (`pfid checks explain {CHECK}`), "
        f"or choose other GPUs with {VISIBLE}"
    )


def _stands(verdict: VerdictView) -> bool:
    """Whether it fails, may be believed, and was seen to lately."""
    about = verdict.check == CHECK and verdict.entity.kind is EntityKind.GPU
    fails = verdict.outcome is Outcome.FAIL and verdict.counts and not verdict.synthetic
    return about and fails and UNSEEN not in verdict.label


def chosen_gpus(gpus: GpusView, environ: Mapping[str, str]) -> Sequence[GpuView]:
    """The GPUs that a program would be shown: by CUDA, and by what others have in its place.

    Numbers are taken in the driver's order, which is CUDA's own on a box of like cards.
    """
    present = [g for g in gpus.gpus if g.present]
    found: list[GpuView] = []
    for vendor in dict.fromkeys(g.facts.vendor for g in present):
        found += _of_vendor([g for g in present if g.facts.vendor == vendor], vendor, environ)
    return found


def _of_vendor(
    cards: Sequence[GpuView], vendor: str, environ: Mapping[str, str]
) -> Sequence[GpuView]:
    numbered = {gpu.facts.index: gpu for gpu in cards}
    for names in _CHOSEN_BY.get(vendor, ()):
        text = next((environ[name] for name in names if name in environ), None)
        if text is not None:  # what comes after it counts those that are left
            numbered = dict(enumerate(_chosen(numbered, text)))
    return tuple(numbered.values())


def _chosen(numbered: Mapping[int, GpuView], text: str) -> Sequence[GpuView]:
    """As CUDA does: up to the first name that is none."""
    found: list[GpuView] = []
    for name in (part.strip() for part in text.split(",")):
        named = _named(numbered, name)
        if named is None:
            break
        found.append(named)
    return found


def _named(numbered: Mapping[int, GpuView], name: str) -> GpuView | None:
    if name.isdecimal():
        return numbered.get(int(name))
    if not name.startswith("GPU-") or len(name) < len("GPU-") + 4:
        return None
    return next((g for g in numbered.values() if g.facts.uuid.startswith(name)), None)
