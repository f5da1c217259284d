"""Joins the count of GPUs to what this process was given of the box."""

import os

from pfid.adapters.gpu_share import why_withheld
from pfid.adapters.gpu_worker import pids_are_ours
from pfid.spec.ports.gpus import Withheld


def withheld_here(silent: int, total: int) -> Withheld:
    """Why ``silent`` of ``total`` cards on the bus may be somebody else's, for this process."""
    return why_withheld(silent, total, os.environ, ours=pids_are_ours())
