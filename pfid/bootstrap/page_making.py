"""Makes the page and the server that serves it."""

import time
from collections.abc import Callable

from pfid.adapters.http_server import PageServer
from pfid.adapters.own_log import OwnLog
from pfid.adapters.page import Page, live_text
from pfid.bootstrap.page_joint import RENDER_AT_LEAST_S, PageJoint
from pfid.bootstrap.place import Place
from pfid.bootstrap.reloading import certificates
from pfid.config.model import Config
from pfid.domain.snapshot import Snapshot


def page_joint(place: Place, config: Config, log: OwnLog) -> PageJoint | None:
    """Bind its addresses; None where there are none.

    Raises:
        ListenError: if an address cannot be had.
        ConfigError: if the certificates cannot be used.
    """
    if not place.listen:
        return None
    secure = certificates(config, log, embedded=place.engine_of is not None)

    def healthy() -> bool:
        return joint.healthy()

    server = PageServer(
        place.listen,
        live=lambda s: live_text(
            time.time(), requests=s.requests, evicted=s.evicted, notices=joint.notices()
        ),
        healthy=healthy,
        secure=secure,
    )
    page = Page(
        exported_runs_max=config.page.exported_runs_max,
        ended_run_linger_s=config.page.ended_run_linger_s,
    )
    joint = PageJoint(server=server, page=page)
    return joint


def no_page(snapshot: Callable[[], Snapshot], urgent: bool) -> float:  # noqa: ARG001, FBT001 - a hook
    """No address to serve a page at: nothing to call again for."""
    return RENDER_AT_LEAST_S
