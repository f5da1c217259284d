"""Serves the metrics page; a silent, half-open or slow client costs a descriptor and no more.

``prometheus_client.start_http_server`` is stopped by one silent TLS client and pins a thread for
ever for each half-sent request (METRICS, finding 2). Here one thread serves bytes that are ready.
"""

from pfid.adapters.http_server.listeners import ListenError
from pfid.adapters.http_server.server import CONNECTIONS_MAX, PageServer, Securing
from pfid.adapters.http_server.site import Status

__all__ = ["CONNECTIONS_MAX", "ListenError", "PageServer", "Securing", "Status"]
