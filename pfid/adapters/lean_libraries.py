"""Loads the daemon's libraries without what they load for uses it never makes of them.

structlog brings asyncio and a renderer for terminals, prometheus_client an HTTP server and a client
with TLS, APScheduler its process pools and the time zones of the world: 15 MiB and a tenth of a
second, in a program that runs for weeks under a budget (``pfid.workers.lean_imports`` says how it
is done). Where asyncio loggers, ``start_http_server`` or a pool executor are wanted, the libraries
are imported as they are.
"""

import datetime as dt
import time
from typing import Final

from pfid.workers import lean_imports

UNUSED: Final = {
    "html": ("html.entities",),
    "structlog": (
        "asyncio",
        "pickle",
        "structlog.dev",
        "structlog.stdlib",
        "structlog.testing",
        "structlog.threadlocal",
        "structlog.tracebacks",
    ),
    "prometheus_client": (
        "http.server",
        "socketserver",
        "ssl",
        "urllib.error",
        "urllib.request",
        "wsgiref",
        "wsgiref.simple_server",
    ),
    "apscheduler.schedulers.background": (
        "asyncio",
        "concurrent.futures.process",
        "multiprocessing",
        "tzlocal",
        "zoneinfo",
    ),
    "apscheduler.triggers.interval": ("tzlocal",),
}
"""By library, what it loads at its top and needs for nothing that the daemon uses."""


def _timegm(utc: time.struct_time) -> int:
    return int(dt.datetime(*utc[:6], tzinfo=dt.UTC).timestamp())


TOLD: Final[dict[str, dict[str, dict[str, object]]]] = {
    "apscheduler.schedulers.background": {
        "calendar": {"timegm": _timegm},
        "importlib.metadata": {"version": lambda _: "0", "entry_points": lambda **_: ()},
    }
}
"""By library, what it asks others at its top, and the answer it gets: a time in seconds, without
the names of months in every language; which version it is, and who adds kinds of triggers, none of
which is used. The real ones load locales and parsers of mail and archives."""
ABSENT: Final = {"structlog": ("rich",), "hashlib": ("_hashlib",), "shutil": ("bz2", "lzma")}
"""By library, what it does without where it is not there: colours; OpenSSL, 3 MiB, for digests that
Python brings itself; kinds of archives."""


def load_lean() -> None:
    """Import the libraries, each without what it does not need here."""
    lean_imports.load_lean()
    lean_imports.load_without(UNUSED, ABSENT, TOLD)
