"""What a call on paper knows while it is under way."""

from dataclasses import dataclass, field
from typing import Final

from pfid.formats.engine_source.values import Made, Value, Values
from pfid.formats.python_source.names import ClassRef

STEPS_MAX: Final = 300_000
DEPTH_MAX: Final = 40


class TooLargeError(Exception):
    """The source is larger than anybody would follow."""


@dataclass(eq=False)
class Frame:
    """One call under way.

    Attributes:
        module: whose names it sees.
        local: its own names.
        outer: the frame it was defined in.
        owner: the class whose method it is.
        me: what it is called on.
        store: attributes of what is being constructed; None where nothing is.
        returned: what it gives back.
        branch: how many conditions stand around the statement.
    """

    module: str
    local: dict[str, Values] = field(default_factory=dict)
    outer: "Frame | None" = None
    owner: ClassRef | None = None
    me: Made | None = None
    store: dict[str, Values] | None = None
    returned: set[Value] = field(default_factory=set)
    branch: int = 0
    ended: bool = False


Call = tuple[list[Values], dict[str, Values], bool]
"""Positional arguments, named ones, and whether more were passed by ``*`` or ``**``."""
