"""What surrounds the launch: a smoke run before it, its log, its GPUs, its masks, its serving."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, field

from pfid.config.table import Table


class Smoke(Table, frozen=True, kw_only=True):
    """A one-step smoke run at this commit, whose manifest is judged.

    Attributes:
        run: its name; the newest run of that name counts.
        manifest: its provenance.json, where it was not launched by this user.
        keys: keys that must be there beside pfid's own, dotted; null where unused.
        resolves: fields that must say what the library settled on, asked for or not; an empty list
            says that this project's library chooses no implementation.
    """

    run: str = ""
    manifest: str = ""
    keys: list[str] = field(default_factory=list)
    resolves: list[str] = field(default_factory=lambda: ["attn_implementation"])

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        if bool(self.run) == bool(self.manifest):
            yield ": needs either `run` or `manifest`"


class Log(Table, frozen=True, kw_only=True):
    """The run's log.

    Attributes:
        path: where it lies.
        rotate: a rotation of your own, with the path of the log as its last argument; pfid's own
            if empty.
    """

    path: str
    rotate: list[str] = field(default_factory=list)


class Gpus(Table, frozen=True, kw_only=True):
    """The GPUs the run will use.

    Attributes:
        count: how many must be free.
    """

    count: Annotated[int, Meta(ge=1, le=1_024)] = 1


class AttentionMask(Table, frozen=True, kw_only=True):
    """The model whose attention masks are looked at.

    Attributes:
        model: folder, configuration file or hub id.
        attention: implementation the run will use; what the configuration asks for if empty.
    """

    model: Annotated[str, Meta(min_length=1)]
    attention: str = ""


class Serving(Table, frozen=True, kw_only=True):
    """How it is known that what will be trained can be served, in the shape that is meant.

    Attributes:
        model: folder of the base: a proof that ``pfid viability prove-serving`` made of it counts
            before any command; else one that the command names.
        serves: what will be served; by the command's options if empty, else adapters.
        command: ends with 0 if the engine can serve what will be trained: the engine started with
            the feature's flag alone shows it (``--enable-lora`` needs no adapter to be refused).
            Run where no proof counts.
        deadline_s: after which it is ended.
    """

    model: str = ""
    serves: Literal["", "adapter", "merged"] = ""
    command: list[str] = field(default_factory=list)
    deadline_s: Annotated[float, Meta(gt=0, le=86_400)] = 300.0

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        if not self.model and not self.command:
            yield ": needs `model` or `command`"
