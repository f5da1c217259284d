"""What a run says about itself: sampled at its launch, completed at its end.

Every field is always written, null where nothing is to be said: present-and-null is a statement,
absent is an accident (playbook section 4.8). Nothing here is read again later: what stands in a
manifest was true when the run was launched, whatever has moved since (section 4.4.1).
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from msgspec import Struct, field

from pfid.domain.repository import GitChange, GitSubmodule

SCHEMA: Final = 1


class CommandIdentity(Struct, frozen=True, kw_only=True):
    """What was started, where.

    Attributes:
        argv: the command, secrets masked.
        masked: how many of its words hold a mask.
        cwd: its working directory.
        environ: allow-listed variables, secrets masked; null where one is not set.
        user: who launched it.
        pfid: version that sampled all this.
    """

    argv: tuple[str, ...] = ()
    masked: int = 0
    cwd: str = ""
    environ: Mapping[str, str | None] = field(default_factory=dict)
    user: str | None = None
    pfid: str = ""


class GpuIdentity(Struct, frozen=True, kw_only=True):
    """One GPU, as its driver tells anybody."""

    uuid: str | None
    model: str | None
    pci_bus_id: str | None


class HostIdentity(Struct, frozen=True, kw_only=True):
    """The machine and what it lay in.

    Attributes:
        hostname: its name.
        machine_id: systemd's.
        boot_id: of this boot.
        kernel: its release.
        contained: whether the launch was inside a container; null where that cannot be told.
        container_tag: image of that container, as declared or as the container says.
        container_source: who said so.
        driver: version of the GPU driver.
        gpus: the GPUs of the box.
        gpus_problem: why they cannot be told ("no_driver").
    """

    hostname: str | None = None
    machine_id: str | None = None
    boot_id: str | None = None
    kernel: str | None = None
    contained: bool | None = None
    container_tag: str | None = None
    container_source: str | None = None
    driver: str | None = None
    gpus: tuple[GpuIdentity, ...] = ()
    gpus_problem: str | None = None


class CodeIdentity(Struct, frozen=True, kw_only=True):
    """The repository around the working directory (pfid.spec.ports.git says what each means).

    Attributes:
        problem: why nothing can be told; null if it can.
        detail: git's own words about that.
        root: top of the working tree.
        commit: HEAD.
        describe: ``git describe --always --dirty``.
        branch: null where HEAD is detached.
        dirty: whether tracked files differed from the commit.
        diff_sha256: of how they differed.
        changes: which, as far as they are named.
        changes_n: how many.
        untracked: files neither tracked nor ignored, as far as they are named.
        untracked_n: how many.
        submodules: every one.
        filters_off: content filters of the repository's own that were not run.
    """

    problem: str | None = None
    detail: str | None = None
    root: str | None = None
    commit: str | None = None
    describe: str | None = None
    branch: str | None = None
    dirty: bool | None = None
    diff_sha256: str | None = None
    changes: tuple[GitChange, ...] = ()
    changes_n: int = 0
    untracked: tuple[str, ...] = ()
    untracked_n: int = 0
    submodules: tuple[GitSubmodule, ...] = ()
    filters_off: tuple[str, ...] = ()


class InterpreterIdentity(Struct, frozen=True, kw_only=True):
    """The interpreter that trains and what is installed in it, as it says itself.

    Attributes:
        problem: why it was not asked or did not answer ("python_hung", "not_a_python"); null if
            it did.
        detail: its last words about that.
        python: its path.
        version: "3.12.4".
        implementation: "CPython".
        prefix: of its environment.
        base_prefix: of the installation that environment was made from.
        distributions: version by name; null where it did not answer.
        unreadable: installed distributions whose metadata cannot be read.
    """

    problem: str | None = None
    detail: str | None = None
    python: str | None = None
    version: str | None = None
    implementation: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    distributions: Mapping[str, str | None] | None = None
    unreadable: int | None = None


class FileRole(Enum):
    """What a declared file is to the run."""

    CONFIG = "config"
    DATASET = "dataset"
    AUXILIARY = "auxiliary"
    ARTEFACT = "artefact"
    """Written by the run: digested at its end."""


class FileIdentity(Struct, frozen=True, kw_only=True):
    """One declared file or folder, by its content.

    Attributes:
        role: what it is to the run.
        path: absolute.
        sha256: of its content; of names and contents for a folder, those behind its links as well.
            Null if there is a problem.
        size_bytes: of all content.
        files: how many files that is; 1 for a file.
        problem: why there is no digest ("missing", "unreadable", "changed_while_read",
            "dangling_link", "link_loop", ...).
        cached: whether the digest was kept from an earlier reading, trusting inode, size and times.
    """

    role: FileRole
    path: str
    sha256: str | None = None
    size_bytes: int | None = None
    files: int | None = None
    problem: str | None = None
    cached: bool = False


class Source(Struct, frozen=True, kw_only=True):
    """Who said a value, and when.

    Attributes:
        kind: ``declared`` (the spec), ``launcher`` (an option of ``pfid run``), ``process`` (one
            of the run's own), ``step_files``, ``log``.
        pid: of that process, as it sees itself.
        rank: its rank.
        at_s: wall time, Unix seconds.
        detail: which file, which option, how many processes agreed.
    """

    kind: str
    pid: int | None = None
    rank: int | None = None
    at_s: float | None = None
    detail: str | None = None


class Field(Struct, frozen=True, kw_only=True):
    """One field, its columns side by side.

    Attributes:
        requested: what somebody asked for.
        resolved: what the library settled on when it looked at what there was.
        observed: a consequence, seen by another process than the one that assigned the value. A
            list of all different values where processes saw different ones.
        requested_by: who asked; null if nobody did, as with the next two.
        resolved_by: who looked.
        observed_by: who saw.
        refused: what the assigning process claims to have seen of its own value.
        conflicting: whether different processes observed different values.
        self_observed: the field that is to show this one's consequence, where nobody observed it
            but the processes that assigned this value: it is no pair.
    """

    requested: Any = None
    resolved: Any = None
    observed: Any = None
    requested_by: Source | None = None
    resolved_by: Source | None = None
    observed_by: Source | None = None
    refused: Any = None
    conflicting: bool = False
    self_observed: str | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How the run ended, as its launcher saw it, and whether all it had said could be read.

    Attributes:
        exit_code: null if a signal ended it.
        signal: that ended it.
        at_s: when.
        bad_observations: lines of observations that are none.
        steps_problem: why there is no distribution of step times; null if there is one.
    """

    exit_code: int | None
    signal: int | None
    at_s: float
    bad_observations: int = 0
    steps_problem: str | None = None


class Manifest(Struct, frozen=True, kw_only=True):
    """Everything, as it lies in ``provenance.json``.

    Attributes:
        schema: of this file.
        run_id: which run.
        name: what its owner calls it.
        attempt: 1 for the first launch.
        complete: whether the end was written; a crash of the launcher leaves false.
        sampled_at_s: when, Unix seconds: before the run's process existed.
        command: what was started.
        host: on what.
        code: from which code.
        interpreter: in which environment.
        files: declared inputs, and artefacts once the run has ended.
        fields: every standard field and every one that somebody spoke of, by name.
        expected: names of fields whose consequence the spec wants to see, with the field that
            shows it.
        end: null until the run has ended.
    """

    schema: int = SCHEMA
    run_id: str
    name: str
    attempt: int
    complete: bool = False
    sampled_at_s: float
    command: CommandIdentity
    host: HostIdentity
    code: CodeIdentity
    interpreter: InterpreterIdentity
    files: tuple[FileIdentity, ...] = ()
    fields: Mapping[str, Field]
    expected: Mapping[str, str] = field(default_factory=dict)
    end: Ending | None = None
