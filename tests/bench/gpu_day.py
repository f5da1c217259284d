"""A day with a GPU: what was believed and found, and how much time there is left."""

import time
from collections.abc import Callable
from typing import Any, Final

BUDGET_S: Final = 520.0
CARD_PARTS: Final = frozenset({"loads", "watched", "commands", "burn"})


class Day:
    """What was found, and how much time there is left."""

    def __init__(self, python: str, load_s: float) -> None:
        """Begin the clock; work is done for ``load_s`` seconds at a time, by that torch."""
        self.python, self.load_s = python, load_s
        self.began_s = time.monotonic()
        self.beliefs: list[dict[str, Any]] = []
        self.figures: dict[str, Any] = {}
        self.left_out: dict[str, str] = {}
        self.uuid = ""

    def believe(self, name: str, holds: object, seen: object) -> None:
        """Note whether something holds here: true, false, or null."""
        self.beliefs.append({"belief": name, "holds": holds, "seen": seen})

    def part(self, name: str, needs_s: float, act: Callable[["Day"], None]) -> None:
        """Do one part, if there is time; whatever it raises is told and costs no other part."""
        if name in CARD_PARTS and not self.uuid:
            self.left_out[name] = "no card was found"
            return
        if BUDGET_S - (time.monotonic() - self.began_s) < needs_s:
            self.left_out[name] = "no time was left"
            return
        began_s = time.monotonic()
        try:
            act(self)
        except Exception as error:  # noqa: BLE001 - the day goes on
            self.left_out[name] = f"{type(error).__name__}: {error}"
        self.figures.setdefault("seconds", {})[name] = round(time.monotonic() - began_s, 1)

    def told(self) -> dict[str, Any]:
        """Everything."""
        return {
            "schema": 1,
            "beliefs": self.beliefs,
            "figures": self.figures,
            "left_out": self.left_out,
        }
