"""Text as TOML writes it."""

import json


def quoted(text: str) -> str:
    """Return a TOML string of a text; TOML's basic strings take every escape of JSON's."""
    return json.dumps(text).replace("\x7f", "\\u007f")
