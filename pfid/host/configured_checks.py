"""What a configuration says about checks, held against the checks there are."""

import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path

from pfid.config.model import Config
from pfid.domain.errors import CheckDefinitionError
from pfid.host.foreign import foreign_plugins
from pfid.host.shipped import load_shipped, shipped_sources
from pfid.policy.configured import with_limits
from pfid.spec.check import AnyCheck, Stage


def problems_of_checks(config: Config) -> tuple[str, ...]:
    """Checks and limits that nobody has, and limits that no check can be built with.

    A name that is not a shipped check may belong to a third-party plugin, which is not loaded
    here; it is taken for wrong only if there is no such plugin.
    """
    return _problems_of(config, tuple(Stage))


def problems_of_watch(config: Config) -> tuple[str, ...]:
    """Likewise, without the limits of checks of other stages than ``watch``.

    Those load what a daemon has no use for, and what its sandbox kills it for: numpy's arithmetic
    asks the kernel where its memory lies.
    """
    return _problems_of(config, (Stage.WATCH,))


def problems_of_folders(config: Config) -> tuple[str, ...]:
    """Plugin folders that are not there.

    A daemon goes on without them and calls each an unproven gate: a folder may be mounted later.
    """
    return tuple(
        f"plugins.directories[{i}]: {place!r}: {why}; no check of it would be loaded"
        for i, place in enumerate(config.plugins.directories)
        if (why := _no_folder(Path(place)))
    )


def _no_folder(path: Path) -> str:
    try:
        return "" if stat.S_ISDIR(path.stat().st_mode) else "is no folder"
    except PermissionError:
        return ""  # who asks may not look; the daemon may
    except OSError as error:
        return error.strerror or str(error)


def _problems_of(config: Config, stages: Collection[Stage]) -> tuple[str, ...]:
    if not config.checks:
        return ()
    known: dict[str, AnyCheck | None] = {}
    for stage in Stage:
        for source in shipped_sources(stage):
            wanted = stage in stages and source.name in config.checks
            found = load_shipped(source, stage)[0] if wanted else []
            known[source.name] = found[0].check if found else None
    foreign, _ = foreign_plugins(config.plugins.directories, with_entry_points=True)
    return tuple(_problems(config, known, elsewhere=bool(foreign)))


def _problems(
    config: Config, known: Mapping[str, AnyCheck | None], *, elsewhere: bool
) -> Iterator[str]:
    for name, options in config.checks.items():
        if name in known:
            if (check := known[name]) is not None:
                for limit, value in options.limits.items():
                    yield from _limit_problems(check, limit, value)
        elif not elsewhere:
            yield f"checks.{name}: no such check{_near(name, list(known))}"


def _limit_problems(check: AnyCheck, limit: str, value: float) -> Iterator[str]:
    where = f"checks.{check.name}.limits.{limit}"
    names = [field.name for field in fields(check.limits)]
    if limit not in names:
        yield f"{where}: no such limit{_near(limit, names)}"
        return
    try:
        with_limits(check, {limit: value})
    except CheckDefinitionError as error:
        yield f"{where}: {error}"


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known) or 'none'}"
