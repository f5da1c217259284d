"""The daemon's own log: one JSON object a line on stderr, counted by level."""

import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

# structlog's development renderer loads rich and pygments where it finds them: 5 MiB that a
# daemon which writes JSON would carry for weeks. None makes their import fail, as if not there.
_hidden = {name: sys.modules.get(name) for name in ("rich",)}
sys.modules.update(dict.fromkeys(_hidden))  # type: ignore[arg-type]
try:
    import structlog
finally:
    for _name, _module in _hidden.items():
        if _module is None:
            del sys.modules[_name]
        else:
            sys.modules[_name] = _module

LEVELS: Final = ("debug", "info", "warning", "error", "critical")


class OwnLog:
    """Says things to the operator. Untrusted text is escaped by the JSON renderer."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to ``stream``, stderr by default."""
        self._counts = dict.fromkeys(LEVELS, 0)
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(stream or sys.stderr),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(ensure_ascii=True, default=repr),
            ],
            wrapper_class=structlog.BoundLogger,
            cache_logger_on_first_use=True,
        )

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines so far, by level."""
        return dict(self._counts)

    def say(self, level: str, event: str, **fields: Any) -> None:
        """Write a line; a full disk or a closed pipe must not stop the watch."""
        self._counts[level] += 1
        try:
            self._log.msg(event, level=level, **fields)
        except (OSError, ValueError):
            self._counts["error"] += 1
