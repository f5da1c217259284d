"""What a configuration says about checks, held against the checks there are."""

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches

from pfid.config.model import Config
from pfid.domain.errors import CheckDefinitionError
from pfid.host.registry import Where, discover
from pfid.policy.configured import with_limits
from pfid.spec.check import AnyCheck


def problems_of_checks(config: Config) -> tuple[str, ...]:
    """Checks and limits that nobody has, and limits that no check can be built with.

    A name that is not a shipped check may belong to a third-party plugin, which is not loaded
    here; it is taken for wrong only if there is no such plugin.
    """
    if not config.checks:
        return ()
    registry = discover(Where(directories=config.plugins.directories))
    known = {registered.check.name: registered.check for registered in registry.checks}
    return tuple(_problems(config, known, elsewhere=bool(registry.foreign)))


def _problems(config: Config, known: dict[str, AnyCheck], *, elsewhere: bool) -> Iterator[str]:
    for name, options in config.checks.items():
        if name in known:
            for limit, value in options.limits.items():
                yield from _limit_problems(known[name], limit, value)
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
