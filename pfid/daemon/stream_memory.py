"""What all files of one run may keep together, however many they are and whatever stands in them.

A log can make its reader's state large on purpose, and a run may have a step file of many ranks.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pfid.daemon.tracked import Stream
from pfid.policy import log_facts
from pfid.wire.packed_facts import pack_facts

STREAMS_MAX: Final = 64
"""Files of a run that are followed; more are left out, which is counted and shown."""
KEPT_BYTES: Final = 18_000
"""Of states and facts in sum; a log and 63 ranks that report all they can keep 16,600."""


def spare(streams: Sequence[Stream]) -> bool:
    """Keep no more than may be kept; whether anything had to be let go of.

    First of what readers go on from, the largest before the others: a reader that ends then goes
    on from the facts alone. Then of the facts what is not counted.
    """
    over = _kept(streams) > KEPT_BYTES
    if not over:
        return False
    for stream in sorted(streams, key=_state_bytes, reverse=True):
        if _kept(streams) <= KEPT_BYTES:
            return True
        stream.parser_state = None
    for stream in sorted(streams, key=_facts_bytes, reverse=True):
        if _kept(streams) <= KEPT_BYTES:
            return True
        if (facts := stream.facts) is not None:
            stream.packed = pack_facts(log_facts.counted_alone(facts))
    return True


def _kept(streams: Iterable[Stream]) -> int:
    return sum(_state_bytes(stream) + _facts_bytes(stream) for stream in streams)


def _state_bytes(stream: Stream) -> int:
    state = stream.parser_state
    return len(state) if isinstance(state, bytes) else 0


def _facts_bytes(stream: Stream) -> int:
    return 0 if stream.packed is None else len(stream.packed)
