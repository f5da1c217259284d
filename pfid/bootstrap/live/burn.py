"""The burn: a real card under a dense GEMM, a spinning kernel, and the GEMM again.

Opt-in: it loads an idle card for most of a minute. It proves on real hardware what a stand-in for
the driver cannot: that this card's own sensors tell the two kinds of busy apart.
"""

import os
import time
from dataclasses import replace
from typing import Final

from pfid.adapters.probe_process import ProbeError
from pfid.analysis.gemm import NotMeasuredError, burnt, reference_of, why_not_idle
from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.analysis.gpu_work_reading import Work
from pfid.bootstrap.gemm import IDLE_S, SECONDS, SIZE, load
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.live.session import DrillResult
from pfid.bootstrap.sources import gather
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpusView, GpuView

LIMITS: Final = WorkLimits(window_s=SECONDS / 2)
UNTRIED: Final = DrillResult(
    drill="burn", check="gpu_work_kind", ok=None, adapters=("nvml", "real_gpu")
)


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
    uuid = card.facts.uuid
    first = load(own, uuid, python)
    reference = reference_of(first.blocks, SIZE, first.samples, driver)
    window = newest_window(first.samples, LIMITS.window_s)
    before = classify(window, reference, LIMITS).work
    spinning = _worked(own, uuid, python, "spin", reference)
    after = _worked(own, uuid, python, "gemm", reference)
    found = burnt(before, spinning, after)
    return replace(UNTRIED, ok=found.proven, why=found.why)


def _worked(own: OwnLook, uuid: str, python: str, work: str, reference: GpuReference) -> Work:
    samples = load(own, uuid, python, work).samples
    return classify(newest_window(samples, LIMITS.window_s), reference, LIMITS).work
