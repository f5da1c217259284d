"""What the training interpreter is asked: its tests, its cache key, its arguments, its metrics."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from pfid.config.table import Table

Target = Annotated[str, Meta(pattern=r"\A[\w.]+:[\w.]+\Z")]
"""``module:attribute``."""


class Tests(Table, frozen=True, kw_only=True):
    """The project's own tests, run by the training interpreter.

    Attributes:
        runner: which; it must be installed in the training environment.
        args: given to it.
        run: whether to run them where there is no result for this commit.
        deadline_s: after which they are ended.
    """

    runner: Literal["pytest", "unittest"] = "pytest"
    args: list[str] = field(default_factory=list)
    run: bool = True
    deadline_s: Annotated[float, Meta(gt=0, le=86_400)] = 300.0


class CacheKey(Table, frozen=True, kw_only=True):
    """The project's own cache key.

    Attributes:
        function: computes it.
        kwargs: constant arguments. Each is tried with another value too, and must change the key.
        files: auxiliary files and folders (a tokenizer's), by argument.
        given_as: what the function is given of a file.
        must_change: other values of arguments among ``kwargs``, where one made up will not do.
        may_stay: arguments among ``kwargs`` that mean nothing (a number of workers).
        deadline_s: for all calls.
    """

    function: Target
    kwargs: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    given_as: Literal["path", "sha256", "text", "bytes"] = "path"
    must_change: dict[str, Any] = field(default_factory=dict)
    may_stay: list[str] = field(default_factory=list)
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 60.0

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        for name in self.must_change:
            if name not in self.kwargs:
                yield f".must_change.{name}: stands in no kwargs: change what is given there"
        for name in self.may_stay:
            if name not in self.kwargs or name in self.must_change:
                yield f".may_stay: {name} stands in no kwargs, or in must_change too"
        for name in self.files:
            if name in self.kwargs:
                yield f".files.{name}: is among kwargs too"
        if not self.files and not set(self.kwargs) - set(self.may_stay):
            yield ": names nothing that must change the key"


class Kwargs(Table, frozen=True, kw_only=True):
    """Keyword arguments that a class of the installed library must take.

    Attributes:
        target: the class or function.
        arguments: as they will be given.
        file: a TOML or JSON file that more of them stand in.
        table: of that file, dotted; all of it if empty.
    """

    target: Target
    arguments: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    table: str = ""


class KnownAnswer(Table, frozen=True, kw_only=True):
    """An input whose answer is known.

    Attributes:
        args: positional arguments.
        kwargs: by name.
        expect: the answer.
        tolerance: how far it may be away.
    """

    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    expect: float
    tolerance: Annotated[float, Meta(ge=0)] = 1e-9


class Metric(Table, frozen=True, kw_only=True):
    """A metric with inputs whose answers are known.

    Attributes:
        function: returns a number.
        controls: at least one whose answer is not zero.
        deadline_s: for all of them.
    """

    function: Target
    controls: Annotated[list[KnownAnswer], Meta(min_length=1)]
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 60.0
