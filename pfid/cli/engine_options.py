"""Options that name the engine which would serve a model."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from pfid.bootstrap.viability.candidate import NamedEngine

ENGINES: Final = ("vllm",)
NAMES: Final = ("engine", "engine_python", "engine_path", "adapter")
_PLACE: Final = click.Path(exists=True, path_type=Path)
_OPTIONS: Final = (
    click.option(
        "--engine", type=click.Choice(ENGINES), default=None, help="The engine that would serve it."
    ),
    click.option(
        "--engine-python",
        default="",
        metavar="PYTHON",
        help="Interpreter that has the engine; its answers are confirmed there if it can run.",
    ),
    click.option(
        "--engine-path",
        type=_PLACE,
        default=None,
        metavar="DIR",
        help="The engine's source instead: its package, or the folder that holds it.",
    ),
    click.option(
        "--adapter",
        type=_PLACE,
        default=None,
        metavar="DIR",
        help="An adapter, whose weights' names are held against the engine's modules.",
    ),
)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an engine."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_of(given: dict[str, Any]) -> "NamedEngine | None":
    """The engine that the options name; None if they name none.

    Raises:
        click.UsageError: if they name it by halves.
    """
    from pfid.bootstrap.viability.candidate import NamedEngine

    name, python, path = given["engine"], given["engine_python"], given["engine_path"]
    if name is None:
        if python or path or given["adapter"]:
            raise click.UsageError("--engine-python, --engine-path and --adapter need --engine")
        return None
    if bool(python) == bool(path):
        raise click.UsageError("--engine needs --engine-python or --engine-path, and only one")
    return NamedEngine(name=name, python=python, path=path, adapter=given["adapter"])
