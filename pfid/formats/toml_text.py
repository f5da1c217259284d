"""Text as TOML writes it."""

import json


def quoted(text: str) -> str:
    """Return a TOML string of a text: what prints stays as it is, the rest is escaped.

    Half a surrogate is no character and has no spelling in TOML: it becomes U+FFFD.
    """
    return "".join(_character(c) for c in json.dumps(text, ensure_ascii=False))


def _character(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if character.isprintable():
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
