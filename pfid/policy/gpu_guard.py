"""May a run start on these GPUs? Not where memory is held and nobody who lives holds it.

Asked of a daemon's settled, proven verdicts; without a daemon the launcher looks itself. Who cannot
look refuses nobody.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pfid.domain.gpu_view import GpusView, GpuView
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import Snapshot, VerdictView
from pfid.domain.verdict import EntityKind
from pfid.policy.hysteresis import UNSEEN

CHECK: Final = "gpu_memory_orphaned"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"


def refusal(snapshot: Snapshot, visible: str | None) -> str:
    """Why a run may not start, "" if nothing speaks against it.

    Args:
        snapshot: of the daemon that watches the GPUs.
        visible: the run's CUDA_VISIBLE_DEVICES, None where it is not set: every GPU.
    """
    if snapshot.gpus is None:
        return ""
    stands = {v.entity.id: v.summary for v in snapshot.verdicts if _stands(v)}
    chosen = chosen_gpus(snapshot.gpus, visible)
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


def chosen_gpus(gpus: GpusView, visible: str | None) -> Sequence[GpuView]:
    """The GPUs that CUDA would show a program; as CUDA does, up to the first name that is none.

    Numbers are taken in the driver's order, which is CUDA's own on a box of like cards.
    """
    present = [g for g in gpus.gpus if g.present]
    if visible is None:
        return present
    found: list[GpuView] = []
    for name in (part.strip() for part in visible.split(",")):
        named = next(iter(_named(present, name)), None)
        if named is None:
            break
        found.append(named)
    return found


def _named(gpus: Iterable[GpuView], name: str) -> Iterable[GpuView]:
    if name.isdecimal():
        return (g for g in gpus if g.facts.index == int(name))
    if not name.startswith("GPU-") or len(name) < len("GPU-") + 4:
        return ()
    return (g for g in gpus if g.facts.uuid.startswith(name))
