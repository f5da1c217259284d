"""Which parser a stream gets."""

from typing import Any

from pfid.wire.reader import Configure, Follow, StreamKind
from pfid.workers.steps_text import StepsText
from pfid.workers.text_parser import TextParser


def parser_for(order: Follow, _configure: Configure, state: Any) -> TextParser:
    """Return the parser of a stream, fresh or going on from ``state``.

    Raises:
        Exception: whatever restoring a state that is none raises.
    """
    if order.kind is StreamKind.STEPS:
        return StepsText(order.begins_at) if state is None else StepsText.restore(state)
    return StepsText(order.begins_at) if state is None else StepsText.restore(state)
