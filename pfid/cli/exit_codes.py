"""What the commands' exit statuses mean (DESIGN, section 9)."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit status of every command but ``pfid run``, which answers with its child's."""

    OK = 0
    FAILED = 1
    """A check failed."""
    USAGE = 2
    """The command line or the configuration cannot be used."""
    UNKNOWN = 3
    """Could not look: something required is UNKNOWN, and nothing failed."""
