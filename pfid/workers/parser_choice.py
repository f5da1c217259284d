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
        return _steps_parser(order, state)
    return _log_parser(order, configure, state)


def _steps_parser(order: Follow, state: Any) -> TextParser:
    if state is not None:
        return StepsText.restore(state, order.facts)
    return StepsText(order.begins_at) if order.facts is None else StepsText.after(order.facts)


def _log_parser(order: Follow, configure: Configure, state: Any) -> TextParser:
    from pfid.formats.log_stream import LogParser  # a reader of step files alone stays smaller

    if state is None and order.facts is not None:
        return LogParser.after(
            order.facts, regex_dialects=configure.regex_dialects, jsonl_keys=configure.jsonl_keys
        )
    if state is None:
        return LogParser(
            size_at_start=order.size_at_start,
            regex_dialects=configure.regex_dialects,
            jsonl_keys=configure.jsonl_keys,
        )
    return LogParser.restore(
        state, regex_dialects=configure.regex_dialects, jsonl_keys=configure.jsonl_keys
    )
