"""How an engine that was started to prove a serving path came out."""

from enum import Enum


class Shape(Enum):
    """What is served."""

    ADAPTER = "adapter"
    """The base, with adapters swapped in."""
    MERGED = "merged"
    """Weights as they lie."""


class ServingEnd(Enum):
    """How the trial ended, as far as it says something of the path."""

    READY = "ready"
    """It answered a completion, and went on living."""
    REFUSED = "refused"
    """It ended by itself before it answered."""
    OUT_OF_MEMORY = "out_of_memory"
    """It, or the kernel, said that memory did not suffice."""
    KILLED = "killed"
    """A signal ended it, nobody knows whose."""
    ERRORS = "answers_errors"
    """It listens and answers, and not with a completion."""
    DIED = "ended_after_ready"
    """It answered a completion and ended by itself."""
    HUNG = "hung"
    """It neither answered nor ended in time."""
