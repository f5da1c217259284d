"""What stands at which path. Everything is there already: no request waits for anything.

``/-/selftest`` shows what a live self-test made and nothing real, as ``/metrics`` shows what is
real and nothing made: a drill is seen through to the page without standing on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from pfid.adapters.http_server.prepared import PreparedPage
from pfid.adapters.http_server.request import Request
from pfid.adapters.http_server.response import (
    HTML,
    LANDING,
    METRICS,
    POLICY,
    plain,
    response,
)

METHODS: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the page for people is made, when somebody asks.

    Attributes:
        make: of whether the daemon goes round; must read nothing but what it was made with.
        policy: content security policy of what it makes.
    """

    make: Callable[[bool], bytes]
    policy: str


class Site:
    """The page and two small answers about the daemon."""

    def __init__(self, *, live: Callable[[], bytes], healthy: Callable[[], bool]) -> None:
        """Take what is made at the moment of a scrape, and whether the daemon goes round."""
        self.page: PreparedPage | None = None
        self.selftest: PreparedPage | None = None
        self.status: Status | None = None
        self.ready = False
        self._made: tuple[Status, bool, PreparedPage] | None = None
        self.scrapes = 0
        self.packs = False
        self._live = live
        self._healthy = healthy

    def answer(self, request: Request) -> bytes:
        """Answer one request."""
        make = {
            "/metrics": lambda asked: self._metrics(asked, self.page),
            "/-/selftest": self._drills,
            "/-/healthy": self._health,
            "/-/ready": self._readiness,
            "/": self._front,
        }.get(request.path)
        if make is None:
            return _status(HTTPStatus.NOT_FOUND, request)
        if request.method not in METHODS:
            return response(
                HTTPStatus.METHOD_NOT_ALLOWED,
                b"GET or HEAD\n",
                keep_alive=request.keep_alive,
                extra={"Allow": ", ".join(METHODS)},
            )
        return make(request)

    def _metrics(self, request: Request, page: PreparedPage | None) -> bytes:
        if page is None:
            return _status(HTTPStatus.SERVICE_UNAVAILABLE, request)
        self.scrapes += 1
        self.packs = request.gzip
        live = self._live()
        return response(
            HTTPStatus.OK,
            page.gzip(live) if request.gzip else page.plain(live),
            content_type=METRICS,
            keep_alive=request.keep_alive,
            head_only=request.method == "HEAD",
            extra={"Vary": "Accept-Encoding"}
            | ({"Content-Encoding": "gzip"} if request.gzip else {}),
        )

    def _drills(self, request: Request) -> bytes:
        """What a self-test made; being asked counts, so that the loop renders for a drill."""
        if self.selftest is None:
            self.scrapes += 1
        return self._metrics(request, self.selftest)

    def _front(self, request: Request) -> bytes:
        """The page for people; being asked counts, so that the loop shows what is new."""
        status = self.status
        if status is None:
            return _landing(request)
        self.scrapes += 1
        page = self._prepared(status)
        packed = {"Content-Encoding": "gzip"} if request.gzip else {}
        return response(
            HTTPStatus.OK,
            page.gzip(b"") if request.gzip else page.plain(b""),
            content_type=HTML,
            keep_alive=request.keep_alive,
            head_only=request.method == "HEAD",
            extra={"Vary": "Accept-Encoding", POLICY: status.policy, **packed},
        )

    def _prepared(self, status: Status) -> PreparedPage:
        """Made once for a status; whoever asks again and again gets the same bytes."""
        good = self._healthy()
        made = self._made
        if made is None or made[0] is not status or made[1] is not good:
            made = self._made = (status, good, PreparedPage(status.make(good)))
        return made[2]

    def _health(self, request: Request) -> bytes:
        good = self._healthy()
        return _status(HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE, request)

    def _readiness(self, request: Request) -> bytes:
        return _status(HTTPStatus.OK if self.ready else HTTPStatus.SERVICE_UNAVAILABLE, request)


def _landing(request: Request) -> bytes:
    return response(
        HTTPStatus.OK,
        LANDING,
        content_type=HTML,
        keep_alive=request.keep_alive,
        head_only=request.method == "HEAD",
    )


def _status(status: HTTPStatus, request: Request) -> bytes:
    return plain(status, keep_alive=request.keep_alive, head_only=request.method == "HEAD")
