"""What installers wrote down beside the libraries, read without ``importlib.metadata``.

That loads parsers of mail, of tables and of archives: 15 ms of the daemon's start, and a megabyte
it would keep for weeks. Whatever is no plain folder is left to it all the same.
"""

# ruff: noqa: PTH113, PTH118, PTH123, PTH208 - pathlib would cost as much as all the rest

import os
import sys
from collections.abc import Iterator

_KINDS = (".dist-info", ".egg-info")


def told(file: str, distribution: str = "") -> Iterator[str]:
    """Text of ``file`` of every distribution that has one, in the order of ``sys.path``.

    Args:
        file: its name.
        distribution: as its folder's name begins before the version; every one if not given.
    """
    begin = f"{distribution}-" if distribution else ""
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith(begin) and name.lower().endswith(_KINDS):
                text = _text(os.path.join(place, name, file))
                if text is not None:
                    yield text


def may_have_entry_points(group: str) -> bool:
    """Whether any distribution names this group, or lies where only the library finds it."""
    if any(map(_knows_more, sys.meta_path)) or any(map(_is_packed, sys.path)):
        return True
    return any(group in text for text in told("entry_points.txt"))


def _knows_more(finder: object) -> bool:
    """Whether this is an import hook of somebody else's that knows of distributions."""
    own = getattr(finder, "__module__", "") == "_frozen_importlib_external"
    return hasattr(finder, "find_distributions") and not own


def _is_packed(place: str) -> bool:
    return place.lower().endswith(".egg") or os.path.isfile(place)


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None
