"""The whole spec, and how its file is read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, field

from pfid.config.preflight.asked import CacheKey, Kwargs, Metric, Tests
from pfid.config.preflight.declared import Checkpoints, Declared
from pfid.config.preflight.launched import AttentionMask, Gpus, Log, Serving, Smoke
from pfid.config.preflight.source import Claims, Mutation
from pfid.config.provenance import Provenance
from pfid.config.table import Table
from pfid.config.toml_file import load_file, loads_table
from pfid.domain.names import RUN_NAME_MAX_CHARS

FILE_NAME: Final = "preflight.toml"


class Spec(Table, frozen=True, kw_only=True):
    """Everything a project says about itself before a launch.

    Attributes:
        name: of the run that will be launched.
        python: the training interpreter.
        command: what will be launched, from the folder of the spec; ``pfid run --preflight`` knows
            it by itself.
        optional: checks that may be UNKNOWN.
    """

    name: Annotated[str, Meta(min_length=1, max_length=RUN_NAME_MAX_CHARS)] = ""
    python: str = ""
    command: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    tests: Tests | None = None
    cache_key: CacheKey | None = None
    kwargs: list[Kwargs] = field(default_factory=list)
    config: Declared | None = None
    checkpoints: Checkpoints | None = None
    smoke: Smoke | None = None
    log: Log | None = None
    metrics: list[Metric] = field(default_factory=list)
    claims: Claims | None = None
    gpus: Gpus | None = None
    attention_mask: AttentionMask | None = None
    serving: Serving | None = None
    mutations: list[Mutation] = field(default_factory=list)
    provenance: Provenance | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong with keys that are each right."""
        for name in ("cache_key", "config", "serving", "smoke"):
            section = getattr(self, name)
            if section is not None:
                yield from (f"{name}{problem}" for problem in section.problems())
        for i, mutation in enumerate(self.mutations):
            yield from (f"mutations[{i}]{problem}" for problem in mutation.problems())


def load_spec(path: Path) -> Spec:
    """Read a spec.

    Raises:
        ConfigError: with every problem found, or saying why it cannot be read.
    """
    return load_file(path, loads_spec, "spec", hint="; `pfid preflight --init` writes one")


def loads_spec(text: str) -> Spec:
    """Read the text of a spec.

    Raises:
        ConfigError: with every problem found.
    """
    return loads_table(Spec, text, Spec.problems)
