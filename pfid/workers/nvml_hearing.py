"""Everything that is heard of errors: by a set of events, and by the kernel's log beside it.

The log speaks for what no set tells: in the time between two sets, of cards that are held back or
whose errors are not told, and when a set breaks before it has told what happened. It names the
process, too. Where it cannot be read, how long nobody listened is said instead.
"""

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pfid.domain.gpu import FATAL_XIDS, XidEvent
from pfid.policy.xid_pairs import BY_PLACE, by_log, paired
from pfid.spec.gpu_sampler import GpuSamplerError, Heard
from pfid.spec.ports.gpus import SamplerProblem
from pfid.workers.kernel_xids import KernelXids
from pfid.workers.nvml_events import XidEvents

MOMENT_S: Final = 3.0
"""Opening the driver anew, or a set that broke, is not counted up to here; the end of a process,
which a card may have caused, always is."""


class Hearing:
    """Errors of the cards that are ours. The two ``read``s may be called from another thread."""

    def __init__(
        self,
        events: XidEvents,
        log: KernelXids | None = None,
        before: Heard | None = None,
        places: Collection[str] = (),
    ) -> None:
        """Go on from where somebody else heard them, if anybody did.

        Args:
            events: the set.
            log: of the kernel.
            before: up to where a process before this one heard errors.
            places: PCI addresses of our cards, as far as they are known; the log has everybody's.
        """
        self._events = events
        self._log = log
        self._lock = threading.Lock()
        self._ours = set(places)
        self._places: dict[str, str] = {}
        self._log_alone: tuple[XidEvent, ...] = ()
        self._unheard_s = 0.0
        self._torn = False
        self._patchy = before is not None and before.record is None
        self._inherited = before is not None
        events.heard_s = None if before is None else before.monotonic_s

    def of(self, places: Mapping[str, str]) -> None:
        """These cards are ours: PCI addresses by uuid."""
        self._places.update(places)
        self._ours.update(places.values())

    def read(self, at_s: float) -> tuple[XidEvent, ...]:
        """What has happened, without waiting; the log first, since it is told first.

        Once something fatal stands there, no set is asked: it may hang, or break and tell nothing.

        Raises:
            GpuSamplerError: if the driver as a whole is gone; what was heard is kept.
        """
        logged, whole = self._logged(at_s)
        self._patchy |= self._events.broken and not whole
        self._events.keep(logged)
        found = self._events.taken() if fatal(logged) else self._events.read(at_s)
        if not all(map(by_log, found)):  # what was told meanwhile stands in the log by now
            found += self._logged(at_s)[0]
        told, self._log_alone = paired(found, self._log_alone, lambda u: self._places.get(u, ""))
        return told

    def keep(self, events: tuple[XidEvent, ...]) -> None:
        """Give back what was read, for whoever reads next."""
        self._events.keep(events)

    def bridge(self, at_s: float, *, opened: bool) -> None:
        """Take what the log has of the time since errors were last heard, all cards' alike.

        Args:
            at_s: wall time.
            opened: whether a set listens again. What was unheard till now is over then, and counts
                if the log does not tell of it.

        Raises:
            GpuSamplerError: if something fatal happened: nothing may be asked any more.
        """
        found, whole = self._logged(at_s)
        if fatal(found):
            raise GpuSamplerError(SamplerProblem.FATAL_XID, xids=self._events.taken() + found)
        self._events.keep(found)
        self._patchy |= not whole
        if opened:
            self._listens_again()

    def _listens_again(self) -> None:
        now_s, since_s = time.monotonic(), self._events.heard_s
        unheard_s = 0.0 if since_s is None else now_s - since_s
        if self._patchy and (self._inherited or unheard_s > MOMENT_S):
            self._unheard_s += unheard_s
        self._patchy = self._inherited = False
        self._events.heard_s = now_s

    def unheard_s(self) -> float:
        """Seconds in which nobody listened, since this was last asked."""
        told, self._unheard_s = self._unheard_s, 0.0
        return told

    def heard(self) -> Heard:
        """Up to where errors are heard now, since this was last asked."""
        torn, self._torn = self._torn, False
        since_s = self._events.heard_s
        return Heard(
            monotonic_s=time.monotonic() if since_s is None else since_s,
            record=None if self._log is None else self._log.last,
            torn=torn,
        )

    def _logged(self, at_s: float) -> tuple[tuple[XidEvent, ...], bool]:
        if self._log is None:
            return (), False
        with self._lock:
            found, whole = self._log.read()
        self._torn |= not whole
        events = tuple(
            XidEvent(uuid=f"{BY_PLACE}{x.place}", code=x.code, at_s=at_s, pid=x.pid)
            for x in found
            if not self._ours or x.place in self._ours
        )
        return events, whole


def fatal(events: Iterable[XidEvent]) -> bool:
    """Whether one of them forbids further calls."""
    return any(event.code in FATAL_XIDS for event in events)
