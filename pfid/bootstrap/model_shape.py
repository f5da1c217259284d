"""A model's shapes by where its configuration lies: for what a step costs, and how it is made."""

from pathlib import Path

from pfid.adapters.model_files import read_model
from pfid.domain.model import ModelShape
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.params import as_config
from pfid.formats.model_config.read import read_config


def model_shape(place: Path) -> ModelShape:
    """Read them.

    Args:
        place: a folder, a ``config.json`` or a ``params.json``.

    Raises:
        ModelConfigError: if there is none, or it tells no shapes.
    """
    files = read_model([place])
    if files.problems:
        code, said = files.problems[0]
        raise ModelConfigError(code, f"{place}: no model is read there: {said}")
    if files.config is not None:
        return read_config(files.config, files.config_name)
    if files.params is not None:
        return read_config(as_config(files.params), files.params_name)
    raise ModelConfigError("no_model", f"{place}: no config.json there")
