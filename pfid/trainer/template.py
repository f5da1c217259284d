"""The chat template that a tokenizer carries, and what comes of it when it renders.

``configured_template(tokenizer)`` belongs where the template is assigned, ``observe_template``
into the encode *worker*: another process, reached across a pickle boundary, where a setting that
did not arrive leaves the checkpoint's own template in force and raises nothing (playbook section
4.3). Both write the digest of the template's text, and that of a small conversation as this very
tokenizer renders it, which a tokenizer that renders otherwise in spite of the same text changes.

Standard library only, Python 3.9 syntax, never raises into a training.
"""

import hashlib
import json
from typing import Any, Callable, Optional

CARRIED = "template.sha256"
RENDERED = "template.rendered_sha256"
CONVERSATION = (
    {"role": "user", "content": "What does pfid see? <|im_end|>\n"},
    {"role": "assistant", "content": " What was rendered: {{ 1 }} "},
    {"role": "user", "content": "Again."},
    {"role": "assistant", "content": "As before."},
)
"""Turns that every template takes: alternating, begun by a user, without a system's."""
_CLOCK = "strftime_now"
"""A template that writes today's date renders something else tomorrow."""


def template_sha256(tokenizer: Any) -> Optional[str]:
    """Digest of the chat template that a tokenizer carries now; None where it has none."""
    text = _carried(tokenizer)
    return None if text is None else _sha256(text)


def rendered_sha256(tokenizer: Any) -> Optional[str]:
    """Digest of a conversation as a tokenizer renders it now.

    None where it renders none, and where its template looks at the clock.
    """
    if _CLOCK in (_carried(tokenizer) or ""):
        return None
    try:
        turns = [dict(turn) for turn in CONVERSATION]
        text = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception:  # noqa: BLE001 - no template, no renderer, or one that refuses these turns
        return None
    return _sha256(text) if isinstance(text, str) else None


def configured_template(tokenizer: Any) -> bool:
    """Say that this process assigned the template which this tokenizer carries."""
    from .observe import configured

    return _written(configured, tokenizer)


def observe_template(tokenizer: Any) -> bool:
    """Write down which template this process's tokenizer carries, and what it renders."""
    from .observe import observe

    return _written(observe, tokenizer)


def _written(write: Callable[[str, Any], bool], tokenizer: Any) -> bool:
    try:
        carried = write(CARRIED, template_sha256(tokenizer))
        return write(RENDERED, rendered_sha256(tokenizer)) and carried
    except Exception:  # noqa: BLE001 - a foreign class may raise anything
        return False


def _carried(tokenizer: Any) -> Optional[str]:
    template = getattr(tokenizer, "chat_template", None)
    if template is None or isinstance(template, str):
        return template
    return json.dumps(template, sort_keys=True)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
