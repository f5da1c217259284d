"""Finds ``module:attribute`` in the folder of a project, as training would import it."""

import importlib
import os
from typing import Any


class MissingError(Exception):
    """What was named cannot be imported; the message says which part."""


def enter(folder: str) -> None:
    """Stand where training is started, so that relative paths mean the same."""
    if folder:
        os.chdir(folder)


def load(target: str) -> Any:
    """Import a module and walk to the attribute.

    Raises:
        MissingError: if there is none.
    """
    module_name, _, attributes = target.partition(":")
    try:
        found = importlib.import_module(module_name)
    except ImportError as error:
        raise MissingError(f"{module_name} cannot be imported: {error}") from error
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise MissingError(f"{target}: there is no {attribute!r} in it")
        found = getattr(found, attribute)
    return found
