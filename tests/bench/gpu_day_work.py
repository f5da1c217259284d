"""What a card shows: idle, under matrix work, under none; and whose power it counts."""

import time
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import pynvml
from gpu_day import Day

from pfid.analysis.gemm import reference_of
from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.bootstrap.gemm import IDLE_S, SIZE, load
from pfid.bootstrap.gpu_look import OwnLook
from pfid.cli.gpu_shapes import gpus_json
from pfid.domain.gpu import XIDS, AbsentReason
from pfid.workers import nvml_calls as nvml
from pfid.workers.nvml_power import OWN_MARGIN_W, OWN_SHARE


def idle(day: Day) -> None:
    """The card as pfid sees it with nobody on it."""
    with OwnLook() as own:
        view = own.look(2 * IDLE_S)
        day.figures["idle"] = gpus_json(view)
        (card, *_) = view.gpus
        day.uuid = card.facts.uuid
        last = card.last
        day.believe(
            "an idle card is idle", last is not None and last.utilization == 0.0, card.kind.value
        )
        day.believe("nobody is on an idle card", card.holders == (), len(card.holders or ()))
        day.believe(
            "errors of the card are told", XIDS not in card.facts.absent, _named(card.facts.absent)
        )
        counted = None if last is None else last.tensor_activity is not None
        if (card.facts.capability or (0, 0)) >= (9, 0):
            day.believe(
                "Hopper and later tell tensor activity",
                counted,
                _named(last.absent if last else {}),
            )


def loads(day: Day) -> None:
    """Matrix work and none, as pfid tells them apart; and whose power the energy counter counts."""
    with OwnLook() as own:
        own.look(IDLE_S)
        driver = own.box.samplers["nvml"].driver
        limits = WorkLimits(window_s=day.load_s / 2)
        seen = load(own, day.uuid, day.python, "gemm", day.load_s)
        reference = reference_of(seen.blocks, SIZE, seen.samples, driver)
        said = {"tflops": round(reference.tflops, 1), "power_w": round(reference.power_w, 1)}
        day.figures["gemm"] = said
        _judged(
            day,
            "dense matrix work is told as such",
            "matmul_bound",
            seen.samples,
            reference,
            limits,
        )
        energy = [s.power_source.value for s in seen.samples if s.power_source is not None]
        day.believe(
            "power comes from the energy counter", set(energy[4:]) == {"energy"}, _counts(energy)
        )
        shares = [s.tensor_activity for s in seen.samples if s.tensor_activity is not None]
        day.figures["tensor_share_of_gemm"] = round(median(shares), 3) if shares else None
        spun = load(own, day.uuid, day.python, "spin", day.load_s).samples
        _judged(day, "busy without matrix work is not taken for it", None, spun, reference, limits)
    _is_the_cards(day)


def _judged(
    day: Day, name: str, wanted: str | None, samples: Any, reference: Any, limits: WorkLimits
) -> None:
    window = newest_window(samples, limits.window_s)
    found = classify(window, reference, limits).work.value
    bad = {"sm_busy_tensor_idle", "busy_at_low_power"}
    holds = (
        found == wanted
        if wanted
        else True
        if found in bad
        else None
        if "unknown" in found
        else False
    )
    day.believe(
        name,
        holds,
        {
            "work": found,
            "utilization": window.utilization,
            "power_w": window.power_w,
            "tensor": window.tensor_activity,
            "sm": window.sm_activity,
            "throttle": sorted(window.throttle or ()),
        },
    )


def _is_the_cards(day: Day) -> None:
    """Mean of the counter over a second against the driver's own figure, on the idle card again."""
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        time.sleep(3.0)
        before_mj, began_s = nvml.energy_mj(handle), time.monotonic()
        time.sleep(2.0)
        mean_w = (nvml.energy_mj(handle) - before_mj) / 1e3 / (time.monotonic() - began_s)
        average_w, instant_w = (
            nvml.average_power_mw(handle) / 1e3,
            nvml.instant_power_mw(handle) / 1e3,
        )
    finally:
        pynvml.nvmlShutdown()
    own = mean_w - average_w <= OWN_MARGIN_W or mean_w <= OWN_SHARE * average_w
    seen = {"energy_w": round(mean_w, 1), "average_w": average_w, "instant_w": instant_w}
    day.believe("the energy counter is the card's own", own, seen)


def _named(absent: Mapping[str, AbsentReason]) -> dict[str, str]:
    return {field: reason.value for field, reason in absent.items()}


def _counts(words: Iterable[str]) -> dict[str, int]:
    listed = list(words)
    return {word: listed.count(word) for word in sorted(set(listed))}
