"""What dynamo has done since it was last asked, out of its own counters.

The counters answer "did it happen"; only step times answer "how much" (a recompile limit counts
one per code object and then stays, however slow every further step is).
"""

import sys
from typing import Any, Dict, Mapping, Optional, Tuple

NAMES = ("graphs", "frames", "frames_ok", "graph_breaks", "limit_hits")
"""Compiled graphs; frames looked at and compiled; graph breaks; code objects at their limit."""
_LIMIT = "Dynamo recompile limit exceeded"
_NONE = (0, 0, 0, 0, 0)


class DynamoCounters:
    """Differences against what stood there when this was made. Never imports torch."""

    __slots__ = ("_counters", "_last")

    def __init__(self) -> None:
        self._counters: Optional[Mapping[str, Mapping[str, int]]] = None
        self._last = self._read()

    def changes(self) -> Optional[Dict[str, int]]:
        """What changed since the last call, by name; None if nothing did, or nothing compiles."""
        now, last = self._read(), self._last
        if now == last:
            return None
        self._last = now
        # Counters that went down were cleared by the program: what they hold now is new.
        grown = ((name, b - a if b >= a else b) for name, a, b in zip(NAMES, last, now))
        return {name: change for name, change in grown if change} or None

    def _read(self) -> Tuple[int, ...]:
        counters = self._counters
        if counters is None:
            module = sys.modules.get("torch._dynamo.utils")
            counters = self._counters = getattr(module, "counters", None)
            if counters is None:
                return _NONE
        stats, frames = counters.get("stats"), counters.get("frames")
        breaks, limits = counters.get("graph_break"), counters.get("unimplemented")
        return (
            stats.get("unique_graphs", 0) if stats else 0,
            frames.get("total", 0) if frames else 0,
            frames.get("ok", 0) if frames else 0,
            sum(list(breaks.values())) if breaks else 0,
            _limit_hits(limits) if limits else 0,
        )


def _limit_hits(unimplemented: Any) -> int:
    found = list(unimplemented.items())
    return sum(times for text, times in found if isinstance(text, str) and text.startswith(_LIMIT))
