"""The GPUs the run would use: from whoever samples already, else looked at for a moment."""

import time
from typing import Final

from pfid.adapters.gpu_worker import pids_are_ours
from pfid.bootstrap.gpu_look import OwnLook, told_by
from pfid.bootstrap.gpu_plugins import own_sampler_plugins
from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.sources import gather
from pfid.domain.gpu_view import GpusView, GpuView
from pfid.policy.gpu_guard import chosen_gpus
from pfid.spec.ports.gpus import SamplerProblem
from pfid.spec.ports.preflight import CardFacts, CardsFacts

LOOK_S: Final = 1.5
DRIVERS_OWN_BYTES: Final = 512 * 1024**2
"""A driver keeps some memory for itself (plugins/watch/gpu_memory_orphaned.py)."""
NONE_HERE: Final = frozenset({SamplerProblem.NO_LIBRARY.value, SamplerProblem.NO_DRIVER.value})


def cards_facts(project: Project) -> CardsFacts | None:
    """Look at the cards that the run would be shown; None where the spec asks for none."""
    gpus = project.spec.gpus
    if gpus is None:
        return None
    found = gather(project.environ, now_s=time.time(), ended_after_s=0.0)
    looked = told_by(found)
    if looked is not None:
        return _facts(looked.view, gpus.count, project)
    with OwnLook(found.sources, own_sampler_plugins(project.environ)) as own:
        return _facts(own.look(LOOK_S), gpus.count, project)


def _facts(view: GpusView, needed: int, project: Project) -> CardsFacts:
    chosen = chosen_gpus(view, project.environ)
    if not view.up and not any(gpu.last is not None for gpu in chosen):
        absent = view.problem in NONE_HERE and not view.expected
        return CardsFacts(needed=needed, problem="" if absent else "cannot_look")
    return CardsFacts(
        needed=needed, cards=tuple(_card(gpu, ours=pids_are_ours()) for gpu in chosen)
    )


def _card(gpu: GpuView, *, ours: bool = True) -> CardFacts:
    holders = gpu.holders
    if holders is None or any(h.visible is None for h in holders):
        return CardFacts(uuid=gpu.facts.uuid, holders=None)
    living = [h for h in holders if h.visible and not h.zombie]
    dead = [h for h in holders if not h.visible or h.zombie]
    used = gpu.last.memory_used_bytes if gpu.last is not None else None
    orphaned = sum(h.memory_bytes or 1 for h in dead)
    if not holders and used is not None and used > DRIVERS_OWN_BYTES:
        if not ours:  # a driver leaves the processes of other namespaces out
            return CardFacts(uuid=gpu.facts.uuid, holders=None)
        orphaned = used
    return CardFacts(uuid=gpu.facts.uuid, holders=len(living), orphaned_bytes=orphaned)
