"""What installers wrote down beside the libraries, read without ``importlib.metadata``.

That loads parsers of mail, of tables and of archives: 15 ms of the daemon's start, and a megabyte
it would keep for weeks. Whatever is no plain folder is left to it all the same.
"""

# ruff: noqa: PTH113, PTH118, PTH123, PTH208 - pathlib would cost as much as all the rest

import os
import sys
from collections.abc import Iterator

GROUP = "pfid.plugins"
"""Of the entry points that bring plugins."""
_KINDS = (".dist-info", ".egg-info")


def told(distribution: str, file: str) -> str | None:
    """Text of ``file`` of the distribution that is imported; None where there is none."""
    folder = next((f for f, name in _folders() if name.startswith(f"{distribution}-")), None)
    return None if folder is None else _text(os.path.join(folder, file))


def may_have_entry_points(group: str) -> bool:
    """Whether any distribution names this group, or lies where only the library finds it."""
    if any(map(_knows_more, sys.meta_path)) or any(map(_is_packed, sys.path)):
        return True
    texts = (_text(os.path.join(folder, "entry_points.txt")) for folder, _ in _folders())
    return any(group in (text or "") for text in texts)


def _folders() -> Iterator[tuple[str, str]]:
    """Place and name of each one's folder, in the order of ``sys.path``."""
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in names:
            if name.lower().endswith(_KINDS):
                yield os.path.join(place, name), name


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
