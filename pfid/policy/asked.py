"""What was asked of a model's implementations: what lies below one takes the request of the whole.

A library hands a requested implementation down to every configuration inside; one that settled on
another is as much a silent downgrade below as at the top (playbook section 4.3).
"""

from collections.abc import Mapping
from typing import Any, Final

IMPLEMENTATIONS: Final = ("attn_implementation", "experts_implementation")


def is_implementation(name: str) -> bool:
    """Whether a field is an implementation's, of the model or of a configuration below it."""
    return name.split(".", 1)[0] in IMPLEMENTATIONS


def asked_of(name: str, requested: Mapping[str, Any]) -> Any:
    """What was asked for in a field; None if nobody asked.

    Args:
        name: of the field, dotted below an implementation: ``attn_implementation.vision_config``.
        requested: what was asked for by the fields' own names.
    """
    asked = requested.get(name)
    while asked is None and "." in name and is_implementation(name):
        name = name.rpartition(".")[0]
        asked = requested.get(name)
    return asked
