"""What is told to people when a verdict changes; public, like a verdict's sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One change of a settled verdict: to FAIL, or away from it.

    What failed of a run that is over ends when a run of its name and user is started again: reason
    ``followed``.

    Attributes:
        event_id: of the event on this box; with ``check`` and ``about`` it tells notices apart: the
            same one may arrive twice, never as another.
        host: the box's name.
        at_s: wall time, Unix seconds.
        check: whose verdict.
        kind: of what it is about (``run``, ``gpu``, ``box``).
        about: its id.
        name: of the run it is about, "" where it is about none. Untrusted text.
        user: whose run that is.
        before: outcome until now, "" if there was none.
        outcome: the new one.
        reason: code from the check's fixed set.
        summary: the public sentence.
        figures: numbers it rests on, by name.
    """

    event_id: int
    host: str
    at_s: float
    check: str
    kind: str
    about: str
    before: str
    outcome: str
    reason: str
    summary: str
    figures: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    user: str = ""
