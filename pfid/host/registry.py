"""Find every check: the shipped ones loaded here, third-party plugins listed for the worker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pfid.domain.errors import CheckDefinitionError
from pfid.host.foreign import foreign_plugins
from pfid.host.plugins import PluginSource, Problem, Registered, Registry
from pfid.host.shipped import PACKAGE, load_shipped, shipped_sources
from pfid.policy.configured import with_limits
from pfid.spec.check import Stage

Limits = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where plugins are looked for.

    Attributes:
        stages: of shipped checks to load.
        directories: configured folders of plugin files.
        entry_points: whether installed distributions are asked (35-50 ms).
        package: of the shipped checks.
    """

    stages: Sequence[Stage] = tuple(Stage)
    directories: Sequence[str] = ()
    entry_points: bool = True
    package: str = PACKAGE


@dataclass(slots=True)
class _Found:
    checks: list[Registered] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sources: list[PluginSource] = field(default_factory=list)


def discover(where: Where | None = None, limits: Limits | None = None) -> Registry:
    """Find every check there is.

    A plugin that cannot be used is a problem with its name and leaves the others alone.

    Args:
        where: to look; everywhere if not given.
        limits: from configuration, by check.
    """
    place = where or Where()
    found = _Found()
    for stage in place.stages:
        _add_shipped(found, stage, place.package, limits or {})
    foreign, refused = foreign_plugins(place.directories, with_entry_points=place.entry_points)
    registry = Registry(
        checks=tuple(found.checks),
        problems=(*found.problems, *refused),
        foreign=foreign,
        sources=(*found.sources, *foreign),
    )
    return without_duplicates(registry)


def _add_shipped(found: _Found, stage: Stage, package: str, limits: Limits) -> None:
    for source in shipped_sources(stage, package):
        found.sources.append(source)
        checks, problems = load_shipped(source, stage)
        found.problems += problems
        for registered in checks:
            _configure(found, registered, limits.get(registered.check.name, {}))


def _configure(found: _Found, registered: Registered, values: Mapping[str, float]) -> None:
    try:
        check = with_limits(registered.check, values)
        found.checks.append(replace(registered, check=check))
    except CheckDefinitionError as error:
        stage = registered.check.stage.value
        name = registered.check.name
        found.problems.append(
            Problem(plugin=registered.plugin, what=str(error), check=name, stage=stage)
        )


def without_duplicates(registry: Registry) -> Registry:
    """Keep the first check of each name; the others are problems that name both plugins."""
    kept: dict[str, Registered] = {}
    problems = list(registry.problems)
    for r in registry.checks:
        first = kept.setdefault(r.check.name, r)
        if first is not r:
            what = f"its check {r.check.name} is already there, from plugin {first.plugin}: rename"
            problems.append(
                Problem(plugin=r.plugin, what=what, check=r.check.name, stage=r.check.stage.value)
            )
    return replace(registry, checks=tuple(kept.values()), problems=tuple(problems))


def unknown_checks(configured: Iterable[str], registry: Registry) -> tuple[str, ...]:
    """Names that configuration speaks of and no plugin has: a typo must not stay silent."""
    known = {r.check.name for r in registry.checks} | {p.check for p in registry.problems}
    return tuple(sorted(set(configured) - known))
