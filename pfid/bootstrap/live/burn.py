"""The burn: a real card under a dense GEMM, a spinning kernel, and the GEMM again.

Opt-in: it loads an idle card for most of a minute. It proves on real hardware what a stand-in for
the driver cannot: that this card's own sensors tell the two kinds of busy apart.
"""

import os
import time
from dataclasses import replace
from typing import Final

from pfid.adapters.probe_process import ProbeError
from pfid.analysis.gemm import NotMeasuredError, burn_of, reference_of, why_not_idle
from pfid.bootstrap.gemm import IDLE_S, SECONDS, SIZE, load
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.live.session import DrillResult
from pfid.bootstrap.sources import gather
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpusView, GpuView
from pfid.host.registry import Where, discover
from pfid.policy.evaluate import run_check
from pfid.spec.check import AnyCheck, Stage
from pfid.spec.fakes import CONTROL_SUBJECT, FixedSteps, moving, run_world
from pfid.spec.fakes_gpus import gpu_state, gpus
from pfid.spec.world import World

CHECK: Final = "gpu_work_kind"
UNTRIED: Final = DrillResult(drill="burn", check=CHECK, ok=None, adapters=("nvml", "real_gpu"))


def burn(python: str) -> DrillResult:
    """Load the first idle card with the training interpreter's torch."""
    now_s = time.time()
    with OwnLook(gather(os.environ, now_s=now_s, ended_after_s=now_s).sources) as own:
        view = own.look(IDLE_S)
        card = next((g for g in view.gpus if not why_not_idle(g)), None)
        if card is None:
            return replace(UNTRIED, why=_why_none(view))
        try:
            return _burn(own, card, python, view.driver)
        except (NotMeasuredError, ProbeError) as error:
            return replace(UNTRIED, why=str(error))


def _why_none(view: GpusView) -> str:
    if not view.up:
        return f"the driver cannot be read: {view.problem or 'no answer'}"
    said = [f"GPU {g.facts.index}: {why_not_idle(g)}" for g in view.gpus]
    return f"no idle GPU: {'; '.join(said) or 'there is none'}"


def _burn(own: OwnLook, card: GpuView, python: str, driver: str) -> DrillResult:
    """Have the gate itself judge what the card shows; each time as of a run that trains on it."""
    gate = _gate()
    reference: GpuReference | None = None

    def shown(work: str) -> str:
        nonlocal reference
        loaded = load(own, card.facts.uuid, python, work)
        if reference is None:
            reference = reference_of(loaded.blocks, SIZE, loaded.samples, driver)
        return _reason(gate, card.facts, loaded.samples, reference)

    found = burn_of(shown)
    return replace(UNTRIED, ok=found.proven, why=found.why)


def _gate() -> AnyCheck:
    """The check, over windows that fit into the time for which the card is loaded."""
    where = Where(stages=(Stage.WATCH,), entry_points=False)
    found = discover(where, {CHECK: {"window_s": SECONDS / 2}}).checks
    return next(each.check for each in found if each.check.name == CHECK)


def _reason(
    gate: AnyCheck, facts: GpuFacts, samples: tuple[GpuSample, ...], reference: GpuReference
) -> str:
    state = gpu_state(samples, facts=facts, reference=reference)
    world = World(
        subject=CONTROL_SUBJECT,
        run=run_world().run,
        steps=FixedSteps(moves=moving(since_progress_s=1.0)),
        gpus=gpus(state),
    )
    return run_check(gate, world).reason
