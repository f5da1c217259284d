"""One table of a file of TOML, of which every key is known."""

import msgspec


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table; a key that is none of its own is refused."""
