"""NVML, called field by field: each call gives a value or the reason why there is none.

The only importer of pynvml. Only documented calls, so that any library that speaks NVML will do,
and none that takes a lock others wait for (profiling through DCGM does, GPM counters do not).
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import pynvml

from pfid.domain.gpu import AbsentReason
from pfid.spec.gpu_sampler import GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem

T = TypeVar("T")
Handle = Any

_REASONS: Final = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: AbsentReason.NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: AbsentReason.NOT_SUPPORTED,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: AbsentReason.NOT_SUPPORTED,
    pynvml.NVML_ERROR_DEPRECATED: AbsentReason.NOT_SUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION: AbsentReason.NO_PERMISSION,
    pynvml.NVML_ERROR_GPU_IS_LOST: AbsentReason.LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED: AbsentReason.LOST,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: AbsentReason.LOST,
    pynvml.NVML_ERROR_TIMEOUT: AbsentReason.TIMEOUT,
}
_PROBLEMS: Final = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: SamplerProblem.NO_LIBRARY,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: SamplerProblem.NO_DRIVER,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: SamplerProblem.DRIVER_MISMATCH,
    pynvml.NVML_ERROR_NO_PERMISSION: SamplerProblem.NO_PERMISSION,
}
_SESSION_OVER: Final = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
"""The driver was unloaded or replaced: nothing but a new start helps."""

UNSUPPORTED: Final = (
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    pynvml.NVML_ERROR_DEPRECATED,
)

NO_SUCH_STRUCT: Final = frozenset(
    {*UNSUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT, pynvml.NVML_ERROR_NOT_SUPPORTED}
)
"""How a driver says that it does not know the newer of two structures."""


def problem(error: Exception) -> GpuSamplerError:
    """What an error of the whole driver means."""
    code = getattr(error, "value", None)
    said = SamplerProblem.OTHER if code is None else _PROBLEMS.get(code, SamplerProblem.OTHER)
    detail = type(error).__name__ if code is None else f"NVML error {code}"
    return GpuSamplerError(said, detail)


def reading(call: Callable[..., T], *arguments: Any) -> T | AbsentReason:
    """Call NVML for one value.

    Raises:
        GpuSamplerError: if the driver as a whole is gone.
    """
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        code = error.value
        if code in _SESSION_OVER:
            raise problem(error) from error
        return reason_of(code)
    except (ValueError, TypeError, OverflowError):  # text or a structure that makes no sense
        return AbsentReason.BLANK


def reason_of(code: int) -> AbsentReason:
    """Why there is no value; an error without a meaning of its own is a blank."""
    return _REASONS.get(code, AbsentReason.BLANK)


def newest(handle: Handle, *names: str, asked: tuple[Any, ...] = ()) -> Any:
    """Call the first of several names of one question that both sides know.

    Args:
        handle: of the device.
        names: of the function.
        asked: arguments after the handle.

    Raises:
        GpuSamplerError: if the driver as a whole is gone.
        NVMLError: whatever the call says otherwise.
    """
    missing: Exception | None = None
    for name in names:
        function = getattr(pynvml, name, None)
        if function is None:
            continue
        try:
            return function(handle, *asked)
        except pynvml.NVMLError as error:
            if error.value not in UNSUPPORTED:
                raise
            missing = error
    raise missing or pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


_WHOLE: Final = {
    pynvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
}
"""Where a field's whole number stands, by the type it says it has."""


def energy_mj(handle: Handle) -> int:
    """The energy counter, millijoules since the driver was loaded."""
    return int(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))


def instant_power_mw(handle: Handle) -> int:
    """Power at this moment (NVML_FI_DEV_POWER_INSTANT)."""
    field = pynvml.NVML_FI_DEV_POWER_INSTANT
    (value,) = pynvml.nvmlDeviceGetFieldValues(handle, [field])
    if value.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(value.nvmlReturn)
    if value.fieldId != field or value.valueType not in _WHOLE:
        raise ValueError("another field or another type than was asked for")
    return int(getattr(value.value, _WHOLE[value.valueType]))


def average_power_mw(handle: Handle) -> int:
    """A running mean: of about a second on newer parts."""
    return int(pynvml.nvmlDeviceGetPowerUsage(handle))


def power_limit_mw(handle: Handle) -> int:
    """The limit enforced now."""
    return int(pynvml.nvmlDeviceGetEnforcedPowerLimit(handle))


def default_power_limit_mw(handle: Handle) -> int:
    """The limit that the card has when nobody sets one."""
    return int(pynvml.nvmlDeviceGetPowerManagementDefaultLimit(handle))


def utilization_percent(handle: Handle) -> int:
    """Share of the last moment in which any kernel ran."""
    return int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def sm_clock_mhz(handle: Handle) -> int:
    """SM clock."""
    return int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))


def clock_reasons(handle: Handle) -> int:
    """Bits of what holds the clocks back, under their new or their old name."""
    names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    return int(newest(handle, *names))


def temperature_c(handle: Handle) -> int:
    """Core temperature, under the name that goes with CUDA 14 or the one that stays."""
    names = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
    return int(newest(handle, *names, asked=(pynvml.NVML_TEMPERATURE_GPU,)))


def ecc_uncorrected(handle: Handle) -> int:
    """Uncorrected errors since the driver was loaded."""
    kind, since = pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    return int(pynvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))


def memory(handle: Handle) -> tuple[int, int, int | None]:
    """Total, used and reserved bytes; reserved is None where it is part of used."""
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2)
        if info.version == pynvml.nvmlMemory_v2:
            return int(info.total), int(info.used), int(info.reserved)
    except pynvml.NVMLError as error:
        if error.value not in NO_SUCH_STRUCT:
            raise
    info = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return int(info.total), int(info.used), None


def processes(handle: Handle, kind: str) -> list[tuple[int, int | None, int | None]]:
    """Pid, bytes and MIG instance of every process on it, of one of the KINDS."""
    names = (f"nvmlDeviceGet{kind}RunningProcesses_v3", f"nvmlDeviceGet{kind}RunningProcesses_v2")
    return [
        (int(p.pid), p.usedGpuMemory, _instance(getattr(p, "gpuInstanceId", None)))
        for p in newest(handle, *names)
    ]


KINDS: Final = ("Compute", "MPSCompute", "Graphics")
"""Lists a process may stand in: clients of MPS need not be in the first."""


def _instance(number: int | None) -> int | None:
    return None if number in {None, 0xFFFFFFFF} else number
