"""What the host knows of plugins: where they come from, what they gave, what is wrong."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName, check_name, slug
from pfid.spec.check import AnyCheck

UNKNOWN_STAGE: Final = "unknown"


class PluginKind(Enum):
    """Where a plugin comes from. Only shipped ones run in the daemon's own process."""

    SHIPPED = "shipped"
    ENTRY_POINT = "entry_point"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSource:
    """A plugin that may be loaded.

    Attributes:
        name: of the plugin; a file's stem, an entry point's name.
        kind: where it comes from.
        place: module, ``module:attribute`` or path.
        version: of the distribution, "" for a file.
    """

    name: str
    kind: PluginKind
    place: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A check with where it comes from.

    Attributes:
        check: the check, under its configured limits.
        plugin: name of its plugin.
        source: digest of the file that defines it, as it was loaded.
        file: that file, None if there is none.
    """

    check: AnyCheck
    plugin: str
    source: str
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a plugin, or one of its checks, cannot be used. Everything else runs.

    Attributes:
        plugin: its name.
        what: what is wrong and what to do.
        check: name of the check, or what it would have been called.
        stage: value of its stage, ``unknown`` if nobody can tell.
    """

    plugin: str
    what: str
    check: str = ""
    stage: str = UNKNOWN_STAGE

    def gate(self) -> Gate:
        """The gate of a check that cannot even be tried: named, and unproven."""
        return Gate(
            check=_label(self.check or self.plugin),
            stage=self.stage,
            state=GateState.UNPROVEN,
            proven_to=ProvenTo(controls=False),
            why=f"plugin {self.plugin}: {self.what}",
        )


def _label(text: str) -> CheckName:
    """Make a check's name of whatever a plugin is called."""
    return check_name(slug(text).replace("-", "_").lstrip("_0123456789") or "plugin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Everything that was found.

    Attributes:
        checks: usable, in order of stage and name; names are unique.
        problems: of what is not.
        foreign: third-party plugins, which are loaded in the plugin worker and nowhere else.
        sources: every plugin that was looked at.
    """

    checks: tuple[Registered, ...] = ()
    problems: tuple[Problem, ...] = ()
    foreign: tuple[PluginSource, ...] = ()
    sources: tuple[PluginSource, ...] = field(default=())

    def named(self, name: str) -> Registered | None:
        """Return the check of that name, None if there is none."""
        return next((r for r in self.checks if r.check.name == name), None)
