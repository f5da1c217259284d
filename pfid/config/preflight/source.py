"""What is held against the source itself: superseded figures, and deliberate breaks."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, field

from pfid.config.table import Table


class Claims(Table, frozen=True, kw_only=True):
    """The ledger of claims, whose superseded figures must not stand anywhere.

    Attributes:
        file: claims.toml.
        vendored: folders that are somebody else's text.
    """

    file: str = "claims.toml"
    vendored: list[str] = field(default_factory=list)


class Mutation(Table, frozen=True, kw_only=True):
    """One deliberate break and the test that must notice it.

    Attributes:
        name: what is broken.
        file: in the repository.
        old: text that stands there exactly once.
        new: what it is replaced by.
        test: what the runner is given.
    """

    name: str = ""
    file: str
    old: Annotated[str, Meta(min_length=1)]
    new: str
    test: Annotated[str, Meta(min_length=1)]

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        if self.old == self.new:
            yield ": old and new are the same"
