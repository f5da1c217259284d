"""The few families that are made at the moment of a scrape, by the server's own thread.

The page is rendered by the loop. If the clock on it were too, a loop that hangs would stop the
clock with it, and no rule could tell.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pfid.adapters.page.family import COUNTER, GAUGE, Family, Labels, Spec, untrusted

TIME: Final = Spec("pfid_time_seconds", GAUGE, "The box's clock now; subtract timestamps from it.")
REQUESTS: Final = Spec("pfid_http_requests_total", COUNTER, "Requests answered, of any kind.")
EVICTED: Final = Spec(
    "pfid_http_connections_evicted_total", COUNTER, "Connections cut for being slow or too many."
)
NOTICES: Final = Spec(
    "pfid_notifications_total", COUNTER, "Attempts to tell somebody of a failure."
)
NOTICES_FAILED: Final = Spec(
    "pfid_notifications_failed_total", COUNTER, "Attempts that failed, and notices given up."
)
NO_CHANNELS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({})


def live_text(
    now_s: float,
    *,
    requests: int,
    evicted: int,
    notices: Mapping[str, tuple[int, int]] = NO_CHANNELS,
) -> bytes:
    """The families as text.

    Args:
        now_s: wall time in Unix seconds.
        requests: answered so far.
        evicted: connections cut so far.
        notices: attempts and failures by channel.
    """
    made = []
    for spec, value in ((TIME, now_s), (REQUESTS, requests), (EVICTED, evicted)):
        family = Family(spec)
        family.add(value)
        made.append(family.text)
    told, failed = Family(NOTICES), Family(NOTICES_FAILED)
    for channel, (attempts, failures) in notices.items():
        told.add(attempts, Labels(channel=untrusted(channel)))
        failed.add(failures, Labels(channel=untrusted(channel)))
    made += [told.text, failed.text]
    return "".join(made).encode()
