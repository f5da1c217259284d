"""Worlds for the alerts straight from series."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pfid.domain.gpu import THROTTLE_REASONS
from pfid.monitoring.trial import BOX, LENGTH, Series, Trial, always, level

_MIB: Final = 1 << 20
_RUN: Final = ',run="r"'
_WHO: Final = always("pfid_run_info", 1, ',run="r",name="n",username="u"')
_ENDED: Final = always("pfid_run_state", 1, ',run="r",state="exited"')
_ABOUT_RUN: Final = {"run": "r", "name": "n", "username": "u"}


def _memory(held: float, left: float | None) -> Series:
    """A run, with what it holds and what is left in hundredths of its limit."""
    told = (
        (always("pfid_run_memory_limit_bytes", 100 * _MIB, _RUN),)
        if left is None
        else (
            always("pfid_run_memory_limit_bytes", 100 * _MIB, _RUN),
            always("pfid_run_memory_available_bytes", left * _MIB, _RUN),
        )
    )
    return (_WHO, always("pfid_run_resident_memory_bytes", held * _MIB, _RUN), *told)


_GPU: Final = ',uuid="g"'


def _gpu(processes: int, used: float, utilization: float | None) -> Series:
    """A card, with what is used in hundredths of its memory."""
    series = (
        always("pfid_gpu_processes", processes, _GPU),
        always("pfid_gpu_memory_used_bytes", used * _MIB, _GPU),
        always("pfid_gpu_memory_total_bytes", 100 * _MIB, _GPU),
    )
    if utilization is None:
        return series
    return (*series, always("pfid_gpu_utilization_ratio", utilization, _GPU))


def _throttled(**active: int) -> Series:
    return tuple(
        always("pfid_gpu_throttle_active", value, f'{_GPU},reason="{reason}"')
        for reason, value in active.items()
    )


_NO_HARDWARE: Final = {reason: 0 if reason.startswith("hw_") else 1 for reason in THROTTLE_REASONS}
_UP: Final = always("pfid_gpu_up", 1, _GPU)
_BUSY_ONCE: Final = (f"pfid_gpu_utilization_ratio{{{BOX}{_GPU}}}", f"0x20 0.5 0x{LENGTH - 21}")

OF_SERIES: Final[Mapping[str, Trial]] = {
    "PfidRunHostMemoryHigh": Trial(
        fires=_memory(80, 9),
        also={
            "just little enough, and just much": Trial(
                fires=_memory(10.5, 9.5), about=_ABOUT_RUN, says="9.5%"
            )
        },
        quiet={
            "enough is left": _memory(80, 10.5),
            "others hold it": _memory(9.5, 5),
            "nobody can tell": _memory(80, None),
        },
        about=_ABOUT_RUN,
        says="9%",
    ),
    "PfidRunHostMemoryUnknown": Trial(
        fires=_memory(80, None),
        quiet={"it is told": _memory(80, 5), "it has ended": (*_memory(0, None), _ENDED)},
        about=_ABOUT_RUN,
    ),
    "PfidGpuHeldIdle": Trial(
        fires=_gpu(2, 6, 0),
        also={
            "one process that holds just enough": Trial(
                fires=_gpu(1, 5.25, 0.0095), about={"uuid": "g"}, says="1"
            )
        },
        quiet={
            "it computes": _gpu(2, 6, 0.0105),
            "it did now and then": (*_gpu(2, 6, None), _BUSY_ONCE),
            "next to nothing is held": _gpu(2, 4.75, 0),
            "nobody holds it": _gpu(0, 6, 0),
            "nobody can tell": _gpu(2, 6, None),
        },
        about={"uuid": "g"},
        says="2",
    ),
    "PfidGpuHeldIdleUnknown": Trial(
        fires=_gpu(1, 6, None),
        quiet={"it is told": _gpu(2, 6, 0), "nobody holds it": _gpu(0, 6, None)},
        about={"uuid": "g"},
    ),
    "PfidGpuThrottled": Trial(
        fires=_throttled(hw_thermal=1, sw_thermal=0),
        also={
            f"by {reason}": Trial(
                fires=_throttled(**{reason: 1}), about={"uuid": "g", "reason": reason}
            )
            for reason in ("hw_slowdown", "hw_power_brake")
        },
        quiet={
            "by settings or software": _throttled(**_NO_HARDWARE),
            "nobody can tell": (_UP,),
        },
        about={"uuid": "g", "reason": "hw_thermal"},
    ),
    "PfidGpuThrottledUnknown": Trial(
        fires=(_UP,),
        quiet={"it is told": (_UP, *_throttled(hw_thermal=0))},
        about={"uuid": "g"},
    ),
    "PfidGpuThrottledBySoftware": Trial(
        fires=_throttled(sw_thermal=1),
        quiet={"by hardware": _throttled(sw_thermal=0, hw_thermal=1), "nobody can tell": (_UP,)},
        about={"uuid": "g", "reason": "sw_thermal"},
    ),
    "PfidGpuTemperatureHigh": replace(
        level("pfid_gpu_temperature_celsius", 91, 90, uuid="g"), says="91"
    ),
}
