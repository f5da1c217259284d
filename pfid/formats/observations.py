"""The observations of a run (pfid.trainer.observe): read, and paired with what was configured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

MAX_LINE_BYTES: Final = 64 * 1024
Process = tuple[int, int | None]
"""Pid and start: a reused pid is another process."""


class Kind(Enum):
    """Which half of a pair a line is."""

    CONFIGURED = "configured"
    OBSERVED = "observed"


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One line.

    Attributes:
        key: what it is about.
        value: any JSON value.
        pid: of the process that wrote it, as it sees itself.
        at_s: wall time, Unix seconds.
        kind: which half of a pair it is.
        started: the process's start in clock ticks, None if not known.
        rank: of the process, None if not known.
    """

    key: str
    value: Any
    pid: int
    at_s: float
    kind: Kind
    started: int | None = None
    rank: int | None = None

    @property
    def process(self) -> Process:
        """Which process wrote it."""
        return self.pid, self.started


class Pairing(Enum):
    """What the two halves of a key come to."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    INTENT_ONLY = "intent_only"
    """Configured, and nobody saw a consequence."""
    SELF_OBSERVED = "self_observed"
    """Every observation is by the process that assigned the value: refused as a pair."""
    OBSERVED_ONLY = "observed_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One key and its two halves.

    Attributes:
        key: what it is about.
        pairing: what they come to.
        configured: the last assignment, None if there is none.
        observed: what other processes saw, in the order of the file.
        refused: what the assigning process itself claims to have seen.
        assigners: every process that assigned a value.
    """

    key: str
    pairing: Pairing
    configured: Observation | None
    observed: tuple[Observation, ...]
    refused: tuple[Observation, ...]
    assigners: frozenset[Process]


_decoder: Final = msgspec.json.Decoder(Observation)


def read_observations(lines: Iterable[bytes]) -> tuple[list[Observation], int]:
    """Return the observations and how many lines are none; a torn last line is one of these."""
    found: list[Observation] = []
    bad = 0
    for line in lines:
        text = line.strip(b"\0 \r\n\t")
        if not text:
            continue
        try:
            if len(text) > MAX_LINE_BYTES:
                raise ValueError("too long")  # noqa: TRY301 - one answer to every bad line
            found.append(_decoder.decode(text))
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError):
            bad += 1
    return found, bad


def pair_up(observations: Iterable[Observation]) -> list[Pair]:
    """Pair what was configured with what was observed, in the order keys first appear.

    Any observation of another process that differs from the last configured value contradicts it.
    """
    by_key: dict[str, list[Observation]] = {}
    for observation in observations:
        by_key.setdefault(observation.key, []).append(observation)
    return [_pair(key, group) for key, group in by_key.items()]


def _pair(key: str, group: Sequence[Observation]) -> Pair:
    assigned = [o for o in group if o.kind is Kind.CONFIGURED]
    seen = [o for o in group if o.kind is Kind.OBSERVED]
    last = assigned[-1] if assigned else None
    own = frozenset(o.process for o in assigned)
    refused = tuple(o for o in seen if o.process in own)
    observed = tuple(o for o in seen if o.process not in own)
    return Pair(
        key=key,
        pairing=_pairing(last, observed, refused),
        configured=last,
        observed=observed,
        refused=refused,
        assigners=own,
    )


def _pairing(
    last: Observation | None,
    observed: Sequence[Observation],
    refused: Sequence[Observation],
) -> Pairing:
    if last is None:
        return Pairing.OBSERVED_ONLY
    if any(o.value != last.value for o in observed):
        return Pairing.CONTRADICTS
    if observed:
        return Pairing.AGREES
    return Pairing.SELF_OBSERVED if refused else Pairing.INTENT_ONLY
