"""Keeps what a GPU did during a run within bounds, however long the run is."""

from typing import Final, Self

from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.domain.gpu_past import GpuPast
from pfid.domain.gpu_reference import GpuReference

KEPT_MAX: Final = 240
"""Pairs that are kept: every second of four minutes, about every sixth of half an hour."""
SHARE_DIGITS, WATT_DIGITS = 3, 1


class GpuPastKeeper:
    """Takes every n-th pair; when there are too many, every second of them goes and n doubles."""

    __slots__ = ("_every", "_facts", "_limit_w", "_power_w", "_reference", "_seen", "_utilization")

    def __init__(self, uuid: str, index: int, name: str) -> None:
        """Keep nothing yet of the GPU that is called so."""
        self._facts = (uuid, index, name)
        self._utilization: list[float] = []
        self._power_w: list[float] = []
        self._seen = 0
        self._every = 1
        self._limit_w: float | None = None
        self._reference: GpuReference | None = None

    @classmethod
    def of(cls, facts: GpuFacts) -> Self:
        """Begin with a GPU."""
        return cls(facts.uuid, facts.index, facts.name)

    @property
    def seen(self) -> int:
        """Samples that had both values."""
        return self._seen

    def add(self, sample: GpuSample, reference: GpuReference | None) -> bool:
        """Take a sample in; False if it lacks one of the two values and so says nothing."""
        if sample.utilization is None or sample.power_w is None:
            return False
        if self._seen % self._every == 0:
            self._keep(sample.utilization, sample.power_w)
        self._seen += 1
        self._limit_w, self._reference = sample.power_limit_w, reference
        return True

    def _keep(self, utilization: float, power_w: float) -> None:
        if len(self._power_w) == KEPT_MAX:
            del self._utilization[1::2]
            del self._power_w[1::2]
            self._every *= 2
        self._utilization.append(round(utilization, SHARE_DIGITS))
        self._power_w.append(round(power_w, WATT_DIGITS))

    def past(self) -> GpuPast:
        """Return what there is."""
        uuid, index, name = self._facts
        return GpuPast(
            uuid=uuid,
            index=index,
            name=name,
            utilization=tuple(self._utilization),
            power_w=tuple(self._power_w),
            seen=self._seen,
            power_limit_w=self._limit_w,
            reference=self._reference,
        )

    @classmethod
    def restored(cls, past: GpuPast) -> Self:
        """Go on where ``past`` ends."""
        made = cls(past.uuid, past.index, past.name)
        pairs = list(zip(past.utilization, past.power_w, strict=False))[:KEPT_MAX]
        made._utilization = [u for u, _ in pairs]
        made._power_w = [p for _, p in pairs]
        made._seen = max(past.seen, len(pairs))
        made._limit_w, made._reference = past.power_limit_w, past.reference
        while pairs and made._every * len(pairs) < made._seen:
            made._every *= 2
        return made
