"""Bytes that are no text (an argument, a file name of another time) in what must be text."""

from typing import Any


def text_only(value: Any) -> Any:
    r"""Return plain data with such bytes as their escapes, ``\udcff`` for 0xff."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {text_only(str(key)): text_only(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [text_only(item) for item in value]
    return value
