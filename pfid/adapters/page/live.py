"""The few families that are made at the moment of a scrape, by the server's own thread.

The page is rendered by the loop. If the clock on it were too, a loop that hangs would stop the
clock with it, and no rule could tell.
"""

from typing import Final

from pfid.adapters.page.family import COUNTER, GAUGE, Family, Spec

TIME: Final = Spec("pfid_time_seconds", GAUGE, "The box's clock now; subtract timestamps from it.")
REQUESTS: Final = Spec("pfid_http_requests_total", COUNTER, "Requests answered, of any kind.")
EVICTED: Final = Spec(
    "pfid_http_connections_evicted_total", COUNTER, "Connections cut for being slow or too many."
)


def live_text(now_s: float, *, requests: int, evicted: int) -> bytes:
    """The families as text; ``now_s`` is wall time in Unix seconds."""
    made = []
    for spec, value in ((TIME, now_s), (REQUESTS, requests), (EVICTED, evicted)):
        family = Family(spec)
        family.add(value)
        made.append(family.text)
    return "".join(made).encode()
