"""Which distributions are installed where training runs: names and versions, nothing is imported.

Asked: nothing. Answer: ``{"distributions": {name: version or null}, "unreadable": number,
"implementation", "prefix", "base_prefix", "flags"}``. The first of two of one name is the one that
would be imported, and the one that is told.
"""

import importlib.metadata
import platform
import sys
from typing import Any, Dict


def answer(_: Dict[str, Any]) -> Dict[str, Any]:
    """Read the metadata of everything on the path."""
    found: Dict[str, Any] = {}
    unreadable = 0
    for distribution in importlib.metadata.distributions():
        try:
            metadata = distribution.metadata
            name, version = metadata["Name"], metadata["Version"]
        except Exception:  # noqa: BLE001 - one broken installation hides no other
            name, version = None, None
        if name:
            found.setdefault(str(name), version)
        else:
            unreadable += 1
    return {
        "distributions": found,
        "unreadable": unreadable,
        "implementation": platform.python_implementation(),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
    }
