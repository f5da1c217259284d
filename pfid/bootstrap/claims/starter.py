"""The ledger that a project begins with: what the playbook's sections 6 and 7 hold."""

import datetime as dt
from importlib.resources import files
from string import Template
from typing import Final

STANDS: Final = dt.timedelta(days=180)
"""So long what is in it and was not measured stands, from the day on which it is written."""


def starter_text(on: dt.date) -> str:
    """The text of a ledger written on a day."""
    template = files("pfid.bootstrap.claims").joinpath("starter.toml.in").read_text("utf-8")
    return Template(template).substitute(expires=(on + STANDS).isoformat())
