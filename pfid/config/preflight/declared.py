"""What can be told of a configuration before tokenizer, encode and weights."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, field

from pfid.config.table import Table


class Range(Table, frozen=True, kw_only=True):
    """A number of a configuration file.

    Attributes:
        file: TOML or JSON.
        key: dotted.
        min: the smallest allowed.
        max: the largest allowed.
    """

    file: str
    key: str
    min: float | None = None
    max: float | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        if self.min is None and self.max is None:
            yield ": needs `min` or `max`"
        elif self.min is not None and self.max is not None and self.min > self.max:
            yield ": min is above max"


class Choice(Table, frozen=True, kw_only=True):
    """A word of a configuration file.

    Attributes:
        file: TOML or JSON.
        key: dotted.
        among: allowed words.
        of: an enumeration of the installed library whose values are allowed.
    """

    file: str
    key: str
    among: list[str] = field(default_factory=list)
    of: Annotated[str, Meta(pattern=r"\A([\w.]+:[\w.]+)?\Z")] = ""

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        if bool(self.among) == bool(self.of):
            yield ": needs either `among` or `of`"


class Declared(Table, frozen=True, kw_only=True):
    """What is declared of it.

    Attributes:
        paths: files and folders that must exist.
        ranges: numbers.
        choices: words.
    """

    paths: list[str] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        for i, choice in enumerate(self.choices):
            yield from (f".choices[{i}]{problem}" for problem in choice.problems())
        for i, a_range in enumerate(self.ranges):
            yield from (f".ranges[{i}]{problem}" for problem in a_range.problems())


class Checkpoints(Table, frozen=True, kw_only=True):
    """Where checkpoints go.

    Attributes:
        folder: of them; it or a folder above it exists.
        size_gb: of one, in GB of 10^9 bytes.
        keep: how many lie there at a time, the one being written among them.
    """

    folder: str
    size_gb: Annotated[float, Meta(gt=0)]
    keep: Annotated[int, Meta(ge=1)] = 2
