"""What a step file says beside its steps: who writes it, what counts, what dynamo did."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pfid.domain.inside import Inside
from pfid.domain.log_facts import Marker, MarkerSeen
from pfid.formats.untrusted import printable

OPTIMIZERS_MAX: Final = 16
ACCOUNTING_MAX_CHARS: Final = 160
CUSTOM: Final = "custom"
"""A class of the user's own: its name is theirs, and what is shown of a run is public."""
_TORCH: Final = "torch.optim."
_DYNAMO: Final = ("graphs", "frames", "frames_ok", "graph_breaks", "limit_hits")
_COUNT_MAX: Final = 2**53
_LIMIT_HITS: Final = "limit_hits"
_SAID: Final = "reported from inside: dynamo gave up compiling a function (recompile limit)"


class InsideNotes:
    """Takes notes and counters in the order of the file."""

    __slots__ = ("_said", "limit", "phase", "reported")

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said = Inside()
        self.reported = 0
        self.limit: MarkerSeen | None = None
        self.phase: str | None = None

    def note(self, about: str, said: Mapping[str, Any]) -> None:
        """Take a line that is no step; what is not known is passed over."""
        inside = self._said
        if about == "instrumented":
            self._said = replace(inside, asked=True)
        elif about == "attached":
            self._said = replace(inside, attached=inside.attached + 1)
        elif about == "optimizer":
            self._said = replace(inside, optimizers=_met(inside.optimizers, said.get("kind")))
        elif about == "reporter":
            self._said = replace(inside, explicit=True, given_up=False)
        elif about == "given_up":
            self._said = replace(inside, given_up=True)
        elif about == "lost":
            self._said = replace(inside, lost=max(inside.lost, _count(said.get("lines"))))
        elif about == "accounting":
            self._said = _accounted(inside, said)
        elif about == "phase":
            phase = said.get("phase")
            self.phase = phase if isinstance(phase, str) else None

    @property
    def inside(self) -> Inside:
        """What the file has said so far."""
        return replace(self._said, reported=self.reported)

    def dynamo(self, changes: Mapping[str, int], line: int, step: int, at_s: float | None) -> None:
        """Add up what dynamo did since the line before."""
        known = self._said.dynamo
        grown = {name: known.get(name, 0) + _count(changes.get(name)) for name in _DYNAMO}
        self._said = replace(self._said, dynamo=grown)
        hits = _count(changes.get(_LIMIT_HITS))
        if hits:
            first = self.limit or MarkerSeen(
                count=0, first_line=line, first_at_s=at_s, first_step=step, line=_SAID
            )
            self.limit = replace(first, count=first.count + hits, last_at_s=at_s)

    @property
    def markers(self) -> dict[Marker, MarkerSeen]:
        """What the counters come to in the words of a log."""
        return {} if self.limit is None else {Marker.RECOMPILE_LIMIT: self.limit}

    @classmethod
    def of(cls, inside: Inside, limit: MarkerSeen | None) -> "InsideNotes":
        """Go on from what was said."""
        notes = cls()
        notes._said, notes.reported, notes.limit = inside, inside.reported, limit
        return notes

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> "InsideNotes":
        """Go on from a state of an earlier version.

        Raises:
            TypeError: if it is none of ours; KeyError likewise.
        """
        notes = cls()
        inside = {**state["inside"], "optimizers": tuple(state["inside"]["optimizers"])}
        notes._said = Inside(**inside)
        notes.reported = notes._said.reported
        notes.limit = None if state["limit"] is None else MarkerSeen(**state["limit"])
        notes.phase = state["phase"]
        return notes


def _count(value: object) -> int:
    """A number of something; whatever else stands there is none."""
    return value if isinstance(value, int) and 0 <= value <= _COUNT_MAX else 0


def _met(known: tuple[str, ...], kind: object) -> tuple[str, ...]:
    """Add an optimizer's class, once."""
    path = kind if isinstance(kind, str) else ""
    name = path.rsplit(".", 1)[-1] if path.startswith(_TORCH) else CUSTOM
    shown = printable(name, 40)
    return known if shown in known or len(known) >= OPTIMIZERS_MAX else (*known, shown)


def _accounted(inside: Inside, said: Mapping[str, Any]) -> Inside:
    name, peak = said.get("name"), said.get("peak_flops_per_s")
    good = isinstance(peak, int | float) and 0 < peak < float("inf")
    return replace(
        inside,
        accounting=printable(str(name or ""), ACCOUNTING_MAX_CHARS),
        peak_flops_per_s=float(peak) if good and peak is not None else None,
    )
