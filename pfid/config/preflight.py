"""The spec of a project's pre-launch checks: what ``pfid preflight`` is told, with its defaults.

Paths are relative to the folder of the spec. What is left out is not checked, and said so.
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from pfid.config.provenance import Provenance
from pfid.config.toml_file import load_file, loads_table
from pfid.domain.names import RUN_NAME_MAX_CHARS

FILE_NAME: Final = "preflight.toml"
Target = Annotated[str, Meta(pattern=r"\A[\w.]+:[\w.]+\Z")]
"""``module:attribute``."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Tests(_Table, frozen=True, kw_only=True):
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


class CacheKey(_Table, frozen=True, kw_only=True):
    """The project's own cache key.

    Attributes:
        function: computes it.
        kwargs: constant arguments.
        files: auxiliary files, by argument.
        given_as: what the function is given of a file.
        must_change: other values of arguments among ``kwargs``, each of which must change the key.
        deadline_s: for all calls.
    """

    function: Target
    kwargs: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    given_as: Literal["path", "sha256", "text", "bytes"] = "path"
    must_change: dict[str, Any] = field(default_factory=dict)
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 60.0


class Kwargs(_Table, frozen=True, kw_only=True):
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


class Range(_Table, frozen=True, kw_only=True):
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


class Choice(_Table, frozen=True, kw_only=True):
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


class Checkpoints(_Table, frozen=True, kw_only=True):
    """Where checkpoints go.

    Attributes:
        folder: of them; it or a folder above it exists.
        size_gb: of one, in GB of 10^9 bytes.
        keep: how many lie there at a time, the one being written among them.
    """

    folder: str
    size_gb: Annotated[float, Meta(gt=0)]
    keep: Annotated[int, Meta(ge=1)] = 2


class Declared(_Table, frozen=True, kw_only=True):
    """What can be told before tokenizer, encode and weights.

    Attributes:
        paths: files and folders that must exist.
        ranges: numbers.
        choices: words.
    """

    paths: list[str] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)


class Smoke(_Table, frozen=True, kw_only=True):
    """A one-step smoke run at this commit, whose manifest is judged.

    Attributes:
        run: its name; the newest run of that name counts.
        manifest: its provenance.json, where it was not launched by this user.
        keys: keys that must be there beside pfid's own, dotted; null where unused.
    """

    run: str = ""
    manifest: str = ""
    keys: list[str] = field(default_factory=list)


class Log(_Table, frozen=True, kw_only=True):
    """The run's log.

    Attributes:
        path: where it lies.
        rotate: a rotation of your own, with the path of the log as its last argument; pfid's own
            if empty.
    """

    path: str
    rotate: list[str] = field(default_factory=list)


class KnownAnswer(_Table, frozen=True, kw_only=True):
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


class Metric(_Table, frozen=True, kw_only=True):
    """A metric with inputs whose answers are known.

    Attributes:
        function: returns a number.
        controls: at least one whose answer is not zero.
        deadline_s: for all of them.
    """

    function: Target
    controls: Annotated[list[KnownAnswer], Meta(min_length=1)]
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 60.0


class Claims(_Table, frozen=True, kw_only=True):
    """The ledger of claims, whose superseded figures must not stand anywhere.

    Attributes:
        file: claims.toml.
        vendored: folders that are somebody else's text.
    """

    file: str = "claims.toml"
    vendored: list[str] = field(default_factory=list)


class Gpus(_Table, frozen=True, kw_only=True):
    """The GPUs the run will use.

    Attributes:
        count: how many must be free.
    """

    count: Annotated[int, Meta(ge=1, le=1_024)] = 1


class AttentionMask(_Table, frozen=True, kw_only=True):
    """The model whose attention masks are looked at.

    Attributes:
        model: folder, configuration file or hub id.
        attention: implementation the run will use; what the configuration asks for if empty.
    """

    model: Annotated[str, Meta(min_length=1)]
    attention: str = ""


class Serving(_Table, frozen=True, kw_only=True):
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


class Mutation(_Table, frozen=True, kw_only=True):
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


class Spec(_Table, frozen=True, kw_only=True):
    """Everything a project says about itself before a launch.

    Attributes:
        name: of the run that will be launched.
        python: the training interpreter.
        optional: checks that may be UNKNOWN.
    """

    name: Annotated[str, Meta(min_length=1, max_length=RUN_NAME_MAX_CHARS)] = ""
    python: str = ""
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
    return loads_table(Spec, text, _problems)


def _problems(spec: Spec) -> list[str]:
    return [f"{where}: {what}" for where, what in _rules(spec)]


def _rules(spec: Spec) -> list[tuple[str, str]]:
    """What is wrong with keys that are each right."""
    found = _rules_of_key(spec.cache_key) if spec.cache_key is not None else []
    config = spec.config or Declared()
    for i, choice in enumerate(config.choices):
        if bool(choice.among) == bool(choice.of):
            found.append((f"config.choices[{i}]", "needs either `among` or `of`"))
    for i, a_range in enumerate(config.ranges):
        low, high = a_range.min, a_range.max
        if low is None and high is None:
            found.append((f"config.ranges[{i}]", "needs `min` or `max`"))
        elif low is not None and high is not None and low > high:
            found.append((f"config.ranges[{i}]", "min is above max"))
    if spec.serving is not None and not (spec.serving.model or spec.serving.command):
        found.append(("serving", "needs `model` or `command`"))
    if spec.smoke is not None and bool(spec.smoke.run) == bool(spec.smoke.manifest):
        found.append(("smoke", "needs either `run` or `manifest`"))
    same = [i for i, mutation in enumerate(spec.mutations) if mutation.old == mutation.new]
    return [*found, *((f"mutations[{i}]", "old and new are the same") for i in same)]


def _rules_of_key(key: CacheKey) -> list[tuple[str, str]]:
    found = [
        (f"cache_key.must_change.{name}", "stands in no kwargs: change what is given there")
        for name in key.must_change
        if name not in key.kwargs
    ]
    both = [name for name in key.files if name in key.kwargs]
    found += [(f"cache_key.files.{name}", "is among kwargs too") for name in both]
    if not key.files and not key.must_change:
        found.append(("cache_key", "names nothing that must change the key"))
    return found
