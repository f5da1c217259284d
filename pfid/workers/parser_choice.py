"""Which parser a stream gets."""

from typing import Any

from pfid.wire.reader import Configure, Follow, StreamKind
from pfid.workers.steps_text import StepsText
from pfid.workers.text_parser import TextParser


def parser_for(order: Follow, configure: Configure, state: Any) -> TextParser:
    """Return the parser of a stream, fresh or going on from ``state``.

    Raises:
        Exception: whatever restoring a state that is none raises.
    """
    if order.kind is StreamKind.STEPS:
        fresh = state is None
        return StepsText(order.begins_at) if fresh else StepsText.restore(state, order.facts)
    return _log_parser(order, configure, state)


def _log_parser(order: Follow, configure: Configure, state: Any) -> TextParser:
    from pfid.formats.log_stream import LogParser  # a reader of step files alone stays smaller

    if state is None:
        return LogParser(
            size_at_start=order.size_at_start,
            regex_dialects=configure.regex_dialects,
            jsonl_keys=configure.jsonl_keys,
        )
    return LogParser.restore(
        state, regex_dialects=configure.regex_dialects, jsonl_keys=configure.jsonl_keys
    )
