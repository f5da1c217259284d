"""How many steps a manifest has times of, whoever wrote them down."""

from collections.abc import Mapping
from typing import Any


def timed_steps(figures: Any) -> int:
    """Count them in an observed ``step_seconds``: the first step and an unfilled window as well.

    Args:
        figures: as ``pfid.trainer.step_time_summary`` or the end of a run writes them; anything
            else has no times.
    """
    if not isinstance(figures, Mapping):
        return 0
    window = figures.get("window")
    held = _count(window.get("steps")) if isinstance(window, Mapping) else 0
    first = any(_is_number(figures.get(key)) for key in ("first", "first_inside"))
    return _count(figures.get("n")) + held + first


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
