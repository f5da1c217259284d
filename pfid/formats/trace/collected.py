"""What a trace holds that pfid needs: device rows, steps, categories seen, operators watched.

Both ways of reading end here, so that a row means the same whoever found it.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, TypeGuard

from pfid.domain.kernel import DeviceCategory, KernelKey
from pfid.domain.trace_rows import DeviceRows, StepWindow, TraceNames, Track
from pfid.formats.trace.malformed import Malformed, why_no_times
from pfid.formats.trace.number_text import (
    MAX_DURATION_NS,
    column_to_ns,
    number_in,
    number_to_ns,
)

CATEGORIES: Final = {category.value: category for category in DeviceCategory}
ANNOTATION: Final = "user_annotation"
OPERATION: Final = "cpu_op"
STEP: Final = "ProfilerStep#"
OPERATORS: Final = frozenset(
    {
        "transformers::grouped_mm_fallback",
        "aten::_grouped_mm",
        "aten::_scaled_grouped_mm",
        "aten::_scaled_dot_product_attention_math",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_softmax",
        "aten::_safe_softmax",
    }
)
"""Host operators that tell which way experts and attention went (a config's string does not).

SDPA's unfused way launches what eager attention launches: only the host tells them apart.
"""
CALLS: Final = frozenset({"cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime"})
"""Categories of the calls that launch device rows, each under the correlation of its row."""
MAX_CORRELATION: Final = 2**62
PROCESSES_KEPT: Final = 1_024
HOST_CATEGORIES: Final = frozenset(
    {"cpu_op", "user_annotation", "python_function", "cpu_instant_event", "fwdbwd", "overhead"}
)
"""Categories that torch's profiler writes without any GPU."""
_STEP_DIGITS: Final = 16


class Collected:
    """Takes rows, interned."""

    def __init__(self) -> None:
        """Begin empty."""
        self.names = TraceNames()
        self.steps: dict[int, StepWindow] = {}
        self.operators: dict[str, int] = {}
        self.categories: set[str] = set()
        self.launching: set[str] = set()
        self.stepping: set[str] = set()
        self.malformed = Malformed()
        self.device_rows = 0
        self._rows = DeviceRows()
        self._kernels: dict[KernelKey, int] = {}
        self._tracks: dict[Track, int] = {}

    def take_rows(self) -> DeviceRows:
        """Hand over the rows since the last call."""
        rows, self._rows = self._rows, DeviceRows()
        return rows

    def add_event(self, event: dict[str, Any]) -> None:
        """Take one parsed event."""
        category, name = event.get("cat"), event.get("name")
        if not isinstance(category, str):
            return
        self.categories.add(category)
        if event.get("ph") != "X" or not isinstance(name, str):
            return
        if category in CATEGORIES:
            place = self.place(category, name, event.get("pid"), event.get("tid"))
            launch = correlation_of(event.get("args"))
            self._add_row(*place, event.get("ts"), event.get("dur"), launch)
        elif category in CALLS:
            self.see_launching((event.get("pid"),))
            self._add_call(correlation_of(event.get("args")), number_to_ns(event.get("ts")))
        elif category == ANNOTATION and name.startswith(STEP):
            self.see_stepping((event.get("pid"),))
            self._add_step(name, event.get("ts"), event.get("dur"))
        else:
            self.see_operator(category, name)

    def see_operator(self, category: str, name: str) -> None:
        """Count an operator of the host if it is watched."""
        if category == OPERATION and name in OPERATORS:
            self.operators[name] = self.operators.get(name, 0) + 1

    @property
    def processes(self) -> int:
        """How many processes of the host the trace is of: more than one where ranks were merged."""
        return max(1, len(self.launching), len(self.stepping))

    def see_launching(self, pids: Iterable[object]) -> None:
        """Keep which processes call the runtime."""
        if len(self.launching) < PROCESSES_KEPT:
            self.launching.update(place_text(pid) for pid in pids)

    def see_stepping(self, pids: Iterable[object]) -> None:
        """Keep which processes have steps."""
        if len(self.stepping) < PROCESSES_KEPT:
            self.stepping.update(place_text(pid) for pid in pids)

    def place(self, category: str, name: str, pid: object, tid: object) -> tuple[int, int]:
        """Return the indices of a kernel and of its track."""
        kernel = self._kernel(KernelKey(CATEGORIES[category], name))
        return kernel, self._track(Track(place_text(pid), place_text(tid)))

    def add_rows(
        self,
        places: list[tuple[int, int]],
        starts: list[bytes],
        durations: list[bytes],
        launches: list[int],
    ) -> None:
        """Take rows in columns: kernel and track, times as written, and the correlation."""
        starts_ns, durations_ns = column_to_ns(starts), column_to_ns(durations)
        if not _times(starts_ns) or not _durations(durations_ns):
            rows = zip(places, starts, durations, launches, strict=True)
            for (kernel, track), start, duration, launch in rows:
                self._add_row(kernel, track, number_in(start), number_in(duration), launch)
            return
        columns = self._rows
        columns.start_ns.fromlist(starts_ns)
        columns.duration_ns.fromlist(durations_ns)
        columns.kernel.fromlist([kernel for kernel, _ in places])
        columns.track.fromlist([track for _, track in places])
        columns.launch.fromlist(launches)
        self.device_rows += len(places)

    def add_calls(self, correlations: list[int], starts: list[bytes]) -> None:
        """Take calls of the runtime, their times as written."""
        starts_ns = column_to_ns(starts)
        if all(correlations) and _times(starts_ns):
            self._rows.call.fromlist(correlations)
            self._rows.call_ns.fromlist(starts_ns)
            return
        for one in zip(correlations, starts_ns, strict=True):
            self._add_call(*one)

    def _add_call(self, correlation: int, start_ns: int | None) -> None:
        if correlation and start_ns is not None:
            self._rows.call.append(correlation)
            self._rows.call_ns.append(start_ns)

    def add_step(self, name: str, start: bytes, duration: bytes) -> None:
        """Take a step's window, its times as written."""
        self._add_step(name, number_in(start), number_in(duration))

    def _add_row(
        self, kernel: int, track: int, start: object, duration: object, launch: int
    ) -> None:
        start_ns, duration_ns = number_to_ns(start), number_to_ns(duration)
        if start_ns is None or duration_ns is None or not 0 <= duration_ns <= MAX_DURATION_NS:
            why = why_no_times(start, duration)
            self.malformed.reject(self.names.kernels[kernel].name, why)
            return
        rows = self._rows
        rows.start_ns.append(start_ns)
        rows.duration_ns.append(duration_ns)
        rows.kernel.append(kernel)
        rows.track.append(track)
        rows.launch.append(launch)
        self.device_rows += 1

    def _add_step(self, name: str, start: object, duration: object) -> None:
        start_ns, duration_ns = number_to_ns(start), number_to_ns(duration)
        digits = name.removeprefix(STEP)
        if not (digits.isascii() and digits.isdecimal() and len(digits) < _STEP_DIGITS):
            self.malformed.reject(name, "it is no number of a step")
            return
        if start_ns is None or duration_ns is None or not 0 <= duration_ns <= MAX_DURATION_NS:
            self.malformed.reject(name, why_no_times(start, duration))
            return
        number, end_ns = int(digits), start_ns + duration_ns
        known = self.steps.get(number)
        if known is not None:
            start_ns, end_ns = min(start_ns, known.start_ns), max(end_ns, known.end_ns)
        self.steps[number] = StepWindow(number, start_ns, end_ns)

    def _kernel(self, key: KernelKey) -> int:
        index = self._kernels.get(key)
        if index is None:
            index = self._kernels[key] = len(self.names.kernels)
            self.names.kernels.append(key)
        return index

    def _track(self, key: Track) -> int:
        index = self._tracks.get(key)
        if index is None:
            index = self._tracks[key] = len(self.names.tracks)
            self.names.tracks.append(key)
        return index


def _times(column: list[int] | list[int | None]) -> TypeGuard[list[int]]:
    return None not in column


def _durations(column: list[int] | list[int | None]) -> TypeGuard[list[int]]:
    if not column or not _times(column):
        return not column
    return min(column) >= 0 and max(column) <= MAX_DURATION_NS


def correlation_of(arguments: object) -> int:
    """Return the correlation that a record's arguments tell, 0 where they tell none."""
    return correlation(arguments.get("correlation")) if isinstance(arguments, dict) else 0


def correlation(value: object) -> int:
    """Return what is a correlation, 0 for everything else."""
    return value if type(value) is int and 0 < value < MAX_CORRELATION else 0


def place_text(value: object) -> str:
    """Return a pid or tid as the trace writes it: digits, or a quoted string."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
