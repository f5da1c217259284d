"""A table of GATES.toml as a type: frozen, and without keys that nobody knows."""

import msgspec


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every table. Ranges stand in ``msgspec.Meta``; errors name the key's path."""

    def problems(self) -> list[str]:
        """What is wrong with keys that are each right: ``.key: what`` or ``: what``."""
        return []
