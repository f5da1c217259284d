"""``pfid config``: is a configuration good, and what is in force."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from pfid.cli.output import Exit, emit_json, error, say
from pfid.config.load import load
from pfid.config.model import CheckOptions, Config, as_data
from pfid.config.paths import config_file
from pfid.domain.errors import ConfigError
from pfid.formats.untrusted import printable

LINE_MAX_CHARS: Final = 100_000
"""A list of a configuration stands on one line, and is not cut."""


@click.group()
def command() -> None:
    """Check a configuration file, or show what is in force."""


@command.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, file: Path | None, as_json: bool) -> None:
    """Say everything that is wrong with FILE (the box's own when left out).

    Exit codes: 0 it can be used, 2 it cannot.
    """
    path = _chosen(file)
    problems: tuple[str, ...] = ()
    try:
        load(path, _of_checks)
    except ConfigError as refused:
        problems = refused.problems
    if as_json:
        place = None if path is None else str(path)
        emit_json({"file": place, "ok": not problems, "problems": list(problems)})
    elif problems:
        for problem in problems:
            error(problem)
    else:
        say(f"{path}: good" if path else "no file: every default")
    ctx.exit(Exit.USAGE if problems else Exit.OK)


@command.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(file: Path | None, as_json: bool) -> None:
    """Show what FILE comes to, as TOML, every default marked.

    Exit codes: 0 it can be used, 2 it cannot.
    """
    path = _chosen(file)
    config = load(path)
    if as_json:
        place = None if path is None else str(path)
        emit_json({"file": place, "config": as_data(config), "defaults": _defaults(config)})
        return
    click.echo(f"# {printable(str(path))}" if path else "# no file: every default")
    for line in _toml(config):
        click.echo(printable(line, LINE_MAX_CHARS))


def _chosen(file: Path | None) -> Path | None:
    """The file named, or the one that the daemon would read if it is there."""
    if file is not None:
        return file
    path = config_file(os.environ)
    return path if path is not None and (path.exists() or os.environ.get("PFID_CONFIG")) else None


def _of_checks(config: Config) -> tuple[str, ...]:
    """Unknown names, folders that are not there, and limits that the checks fail under."""
    from pfid.bootstrap.provable_limits import unprovable_limits
    from pfid.host.configured_checks import problems_of_checks, problems_of_folders

    problems = (*problems_of_checks(config), *problems_of_folders(config))
    return problems or unprovable_limits(config)


def _defaults(config: Config) -> list[str]:
    """Paths of the keys that stand at their default."""
    pairs = _pairs(as_data(config), as_data(Config()))
    return [path for path, value, default in pairs if value == default]


def _pairs(data: dict[str, Any], default: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for table, keys in data.items():
        if table == "checks":
            for name, options in keys.items():
                for key, value in options.items():
                    yield f"checks.{name}.{key}", value, {"enabled": True, "limits": {}}[key]
            continue
        for key, value in keys.items():
            yield f"{table}.{key}", value, default[table][key]


def _toml(config: Config) -> Iterator[str]:
    """One ``path = value`` a line, which is TOML too; what each key is for beside it."""
    purposes = dict(_purposes(type(config)))
    for path, value, default in _pairs(as_data(config), as_data(Config())):
        mark = "default" if value == default else "set"
        yield f"{path} = {_value(value)}  # {mark}; {purposes[_kind(path)]}"


def _kind(path: str) -> str:
    table, *_, key = path.split(".")
    return f"{table}.{key}"


def _purposes(kind: type[Config]) -> Iterator[tuple[str, str]]:
    for table in msgspec.structs.fields(kind):
        of = CheckOptions if table.name == "checks" else table.type
        for key in msgspec.structs.fields(of):
            meta = next(m for m in key.type.__metadata__ if isinstance(m, msgspec.Meta))
            yield f"{table.name}.{key.name}", meta.description or ""


def _value(value: Any) -> str:
    """A value as TOML; JSON's strings, numbers and lists are TOML's."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    return msgspec.json.encode(value).decode()
