"""Power of one GPU: the exact mean of its energy counter, if that is this card's own.

On a superchip (GH200) the energy counter is that of the whole module, processor and memory with it
(zeus#172), while limit and momentary power are the GPU's: held against each other they would
acquit what idles. So the first means are held against the driver's own figure for the GPU. A
figure three times the enforced limit is none (some drivers hand out energy for power).
"""

import time
from collections.abc import Callable
from typing import Final

from pfid.domain.gpu import AbsentReason, PowerSource
from pfid.workers import nvml_calls as nvml
from pfid.workers import nvml_values as values
from pfid.workers.nvml_calls import Handle, reading

OWN_SHARE: Final = 1.12
OWN_MARGIN_W: Final = 15.0
"""How far the mean of a counter may lie above the driver's own figure for the GPU, both together:
the two are not of the same instant."""
OWN_AFTER: Final = 3
FOREIGN_AFTER: Final = 8
"""Comparisons in a row after which the counter is believed for good, or never."""
ABSURD: Final = 3.0
"""Draw exceeds the limit briefly and by little; so many times the limit is no draw."""
Power = tuple[values.Value, values.Value, PowerSource | None]


class PowerMeter:
    """The energy counter of one GPU, and what was concluded of it."""

    def __init__(self, handle: Handle, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        """Believe nothing yet. The clock is read beside the counter: others may be slow to read."""
        self._handle = handle
        self._monotonic_s = monotonic_s
        self._energy_j: float | None = None
        self._at_s = 0.0
        self._own = 0
        self._foreign = 0

    def forget(self) -> None:
        """There is a gap: the next reading has nothing to be compared with."""
        self._energy_j = None

    def read(self, limit_w: values.Value) -> Power:
        """Energy since the driver was loaded, power, and how power was had.

        Args:
            limit_w: enforced now, if that is known.

        Raises:
            GpuSamplerError: if the driver as a whole is gone.
        """
        most_w = values.MAX_W if isinstance(limit_w, AbsentReason) else ABSURD * limit_w
        energy_j, mean_w = self._mean(most_w)
        if mean_w is not None and (self._own >= OWN_AFTER or self._is_own(mean_w, most_w)):
            return energy_j, mean_w, PowerSource.ENERGY
        instant_w = values.watts(reading(nvml.instant_power_mw, self._handle), most_w)
        if not isinstance(instant_w, AbsentReason):
            return energy_j, instant_w, PowerSource.INSTANT
        average_w = values.watts(reading(nvml.average_power_mw, self._handle), most_w)
        source = None if isinstance(average_w, AbsentReason) else PowerSource.AVERAGE
        return energy_j, average_w, source

    def _mean(self, most_w: float) -> tuple[values.Value, float | None]:
        if self._foreign >= FOREIGN_AFTER:
            return AbsentReason.NOT_SUPPORTED, None
        before_j, before_s = self._energy_j, self._at_s
        self._at_s = self._monotonic_s()
        energy_j = values.joules(reading(nvml.energy_mj, self._handle))
        self._energy_j = None if isinstance(energy_j, AbsentReason) else energy_j
        mean_w = values.mean_power_w(before_j, energy_j, self._at_s - before_s)
        return energy_j, mean_w if mean_w is not None and mean_w <= most_w else None

    def _is_own(self, mean_w: float, most_w: float) -> bool:
        """Whether the mean agrees with the driver's figure; counted until that is settled."""
        said_w = values.watts(reading(nvml.average_power_mw, self._handle), most_w)
        if isinstance(said_w, AbsentReason):  # nothing to hold it against
            return True
        if mean_w - said_w > OWN_MARGIN_W and mean_w > OWN_SHARE * said_w:
            self._own, self._foreign = 0, self._foreign + 1
            return False
        self._own, self._foreign = self._own + 1, 0
        return True
