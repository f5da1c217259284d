"""The page between loop and readers: made when somebody reads it, beside the loop, served as bytes.

Five hundred runs take tens of milliseconds to render. The loop only takes the snapshot; a thread
makes the text of it, so that a death that comes meanwhile is seen at once.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from pfid.adapters.http_server import PageServer, Status
from pfid.adapters.page import Page
from pfid.adapters.page.live import NO_CHANNELS
from pfid.adapters.status_page import POLICY, status_page
from pfid.domain.snapshot import Snapshot

RENDER_AT_LEAST_S: Final = 5.0
SOON_S: Final = 1.0
"""From one page to the next, where a reader or the news will not wait longer: at the least."""
RENDER_SHARE: Final = 0.02
"""So much of a core at the most goes into pages, however many read them: each takes the interpreter
from the loop, and fifty scrapers a minute apart look like one that scrapes all the time."""
JITTER_S: Final = 0.5
"""So much before its time a page is old enough: the next call may come a whole interval later."""
OFTEN_S: Final = 4.0
"""Who scrapes more often than that is shown each time what is new; for everybody else a page that
is made every five seconds is newer than one made after the scrape before."""
SCRAPED_WITHIN_S: Final = 120.0
UNREAD_S: Final = 15.0
"""A page that nobody reads is made anew so often: whoever looks first must not see the start."""
HEALTHY_WITHIN_S: Final = 30.0
"""A loop that has not gone round for so long is not healthy."""


@dataclass(slots=True, eq=False, kw_only=True)
class PageJoint:
    """Has a page rendered when somebody reads it and something is new; one at a time."""

    server: PageServer
    page: Page
    rendered_s: float = 0.0
    served_s: float = 0.0
    scrapes_seen: int = 0
    notices: Callable[[], Mapping[str, tuple[int, int]]] = lambda: NO_CHANNELS
    _urgent: bool = False
    _cost_s: float = 0.0
    _making: Future[None] | None = None
    _maker: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="pfid-render")
    )

    def healthy(self) -> bool:
        """Whether the loop goes round; asked by the server's own thread."""
        return time.monotonic() - self.served_s < HEALTHY_WITHIN_S

    def serve(self, snapshot: Callable[[], Snapshot], urgent: bool) -> float:  # noqa: FBT001 - a hook
        """The first page of all is there when this returns; seconds until it wants to be called."""
        now_s = self.served_s = time.monotonic()
        self._urgent |= urgent
        if not self._busy() and self._wanted(now_s):
            self._begin(snapshot, now_s)
        read = self._read(now_s)
        if not read or not (self._urgent or self._often(now_s)):
            return RENDER_AT_LEAST_S
        return max(SOON_S, self._dear_s - (now_s - self.rendered_s))

    @property
    def _dear_s(self) -> float:
        """How long the last page has to last for what it cost."""
        return min(self._cost_s / RENDER_SHARE, RENDER_AT_LEAST_S)

    def _begin(self, snapshot: Callable[[], Snapshot], now_s: float) -> None:
        first = not self.rendered_s
        self._urgent = False
        self.scrapes_seen = self.server.scrapes
        self.rendered_s = now_s
        shown = snapshot()
        self._making = self._maker.submit(self._make, shown)
        if first:
            self._making.result()

    def close(self) -> None:
        """Wait for the page that is being made; no other will be."""
        self._maker.shutdown()

    def _busy(self) -> bool:
        """Whether one is being made; what went wrong with the last one is raised here."""
        making = self._making
        if making is None:
            return False
        if not making.done():
            return True
        self._making = None
        making.result()
        return False

    def _wanted(self, now_s: float) -> bool:
        if not self.rendered_s:
            return True
        read = self._read(now_s)
        age_s = now_s - self.rendered_s
        stale = age_s >= (RENDER_AT_LEAST_S if read else UNREAD_S) - JITTER_S
        if stale or age_s < self._dear_s - JITTER_S:
            return stale
        scraped = self._often(now_s) and self.server.scrapes != self.scrapes_seen
        return scraped or (read and self._urgent)

    def _read(self, now_s: float) -> bool:
        last_s = self.server.last_scrape_s
        return last_s is not None and now_s - last_s < SCRAPED_WITHIN_S

    def _often(self, now_s: float) -> bool:
        """Whether the last two scrapes were close, and not long ago."""
        last_s, gap_s = self.server.last_scrape_s, self.server.scrape_gap_s
        if last_s is None or gap_s is None:
            return False
        return gap_s < OFTEN_S and now_s - last_s < 2 * OFTEN_S

    def _make(self, shown: Snapshot) -> None:
        """Render, and pack what is asked for packed: not in the thread that has to answer."""
        began_s = time.thread_time()
        self.server.publish(self.page.render(shown))
        self._cost_s = time.thread_time() - began_s
        self.server.publish_selftest(self._drills(shown))
        self.server.publish_status(
            Status(make=lambda healthy: status_page(shown, healthy=healthy), policy=POLICY)
        )

    def _drills(self, shown: Snapshot) -> bytes | None:
        """What a live self-test made, on a page of its own."""
        if not any(run.synthetic for run in shown.runs):
            return None
        return Page(synthetic=True).render(shown)
