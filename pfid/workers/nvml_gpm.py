"""GPM counters of one GPU (Hopper and later): shares of the time between two reads.

They take no lock that a user's profiler waits for, other than DCGM's profiling fields.
"""

import ctypes
from typing import Any, Final

import pynvml

from pfid.domain.gpu import AbsentReason
from pfid.workers import nvml_values as values
from pfid.workers.nvml_calls import Handle, reading, reason_of

METRICS: Final = {
    "sm_activity": pynvml.NVML_GPM_METRIC_SM_UTIL,
    "tensor_activity": pynvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL,
    "dram_activity": pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
}
Shares = dict[str, values.Value]


class Gpm:
    """Two samples that take turns; what changed between them is the answer."""

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._why: AbsentReason | None = AbsentReason.BLANK
        self._before: Any = None
        self._now: Any = None
        self._taken = False
        self._query: Any = None
        self._told: dict[str, tuple[ctypes.c_uint, ctypes.c_double]] = {}

    @property
    def unsure(self) -> bool:
        """Whether the device did not say that it has none, and there are none all the same."""
        return self._why is not None and self._why is not AbsentReason.NOT_SUPPORTED

    def open(self, handle: Handle) -> None:
        """Find out whether the device has them, and make room for two samples."""
        support = reading(pynvml.nvmlGpmQueryDeviceSupport, handle)
        if isinstance(support, AbsentReason):
            self._why = support
            return
        if support.version != pynvml.NVML_GPM_SUPPORT_VERSION or not support.isSupportedDevice:
            self._why = AbsentReason.NOT_SUPPORTED
            return
        self._before = reading(pynvml.nvmlGpmSampleAlloc)
        self._now = reading(pynvml.nvmlGpmSampleAlloc)
        failed = [s for s in (self._before, self._now) if isinstance(s, AbsentReason)]
        self._why = failed[0] if failed else None
        if not failed:
            self._query, self._told = _query()

    def read(self, handle: Handle) -> Shares:
        """Shares since the last read; the first read after a gap has nothing to compare with."""
        if self._why is not None:
            return dict.fromkeys(METRICS, self._why)
        self._before, self._now = self._now, self._before
        sample = reading(pynvml.nvmlGpmSampleGet, handle, self._now)
        if isinstance(sample, AbsentReason):
            self._taken = False
            return dict.fromkeys(METRICS, sample)
        had_one, self._taken = self._taken, True
        return self._compared() if had_one else dict.fromkeys(METRICS, AbsentReason.BLANK)

    def _compared(self) -> Shares:
        query = self._query
        query.sample1, query.sample2 = self._before, self._now
        got = reading(pynvml.nvmlGpmMetricsGet, query)
        if isinstance(got, AbsentReason):
            return dict.fromkeys(METRICS, got)
        shares: Shares = {}
        for name, (code, value) in self._told.items():
            if code.value == pynvml.NVML_SUCCESS:
                shares[name] = values.activity(value.value)
            else:
                shares[name] = reason_of(code.value)
        return shares

    def close(self) -> None:
        """Give both samples back."""
        for sample in (self._before, self._now):
            if sample is not None and not isinstance(sample, AbsentReason):
                reading(pynvml.nvmlGpmSampleFree, sample)
        self._before = self._now = None
        self._why = AbsentReason.BLANK


def _query() -> tuple[Any, dict[str, tuple[ctypes.c_uint, ctypes.c_double]]]:
    """A question, and where the return code and the value of each answer will stand.

    The bindings' own structures take a microsecond for each look at one of their fields.
    """
    query = pynvml.c_nvmlGpmMetricsGet_t()
    query.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    query.numMetrics = len(METRICS)
    kind = pynvml.c_nvmlGpmMetric_t
    first, size = pynvml.c_nvmlGpmMetricsGet_t.metrics.offset, ctypes.sizeof(kind)
    told = {}
    for position, (name, metric) in enumerate(METRICS.items()):
        query.metrics[position].metricId = metric
        at = first + position * size
        told[name] = (
            ctypes.c_uint.from_buffer(query, at + kind.nvmlReturn.offset),
            ctypes.c_double.from_buffer(query, at + kind.value.offset),
        )
    return query, told
