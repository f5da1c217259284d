"""Answers as bytes: status line, strict headers, body."""

from collections.abc import Mapping
from http import HTTPStatus
from time import gmtime
from typing import Final

PLAIN: Final = "text/plain; charset=utf-8"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
LANDING: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pfid</title></head>
<body><h1>pfid</h1><ul>
<li><a href="/metrics">metrics</a></li>
<li><a href="/-/healthy">healthy</a></li>
<li><a href="/-/ready">ready</a></li>
</ul></body></html>
"""
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
POLICY: Final = "Content-Security-Policy"
_STRICT: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    POLICY: "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


def response(
    status: HTTPStatus,
    body: bytes,
    *,
    content_type: str = PLAIN,
    keep_alive: bool,
    head_only: bool = False,
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """A whole answer. A HEAD's says the length of the body it leaves out.

    ``extra`` headers may replace the strict ones, which every answer has.
    """
    all_headers = {**_STRICT, **(extra or {})}
    headers = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Date: {http_date()}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n"
        f"{headers}\r\n"
    ).encode()
    return head if head_only else head + body


def plain(status: HTTPStatus, *, keep_alive: bool, head_only: bool = False) -> bytes:
    """An answer that only says its status."""
    body = f"{status.phrase}\n".encode()
    return response(status, body, keep_alive=keep_alive, head_only=head_only)


def http_date(at_s: float | None = None) -> str:
    """Now, as RFC 9110 5.6.7 wants it, in English whatever the locale.

    ``email.utils.formatdate`` says the same and keeps a mebibyte of mail parsers for it.
    """
    year, month, day, hour, minute, second, weekday, *_ = gmtime(at_s)
    when = f"{day:02} {_MONTHS[month - 1]} {year:04} {hour:02}:{minute:02}:{second:02}"
    return f"{_DAYS[weekday]}, {when} GMT"
