"""Which run this process belongs to, and as what, as the environment says."""

import os
from typing import Mapping, Optional

STEPS = "steps"
OBSERVATIONS = "observations.jsonl"
REPORTED = "_pfid_reported"
"""Attribute of ``sys``, which every copy of this package shares: a StepReporter counts the steps
of this process, and of those forked from it, as where hooks were taken off."""


def run_folder(environ: Mapping[str, str]) -> Optional[str]:
    """The folder that ``pfid run`` made for the run; None outside of one."""
    folder = environ.get("PFID_RUN_DIR", "")
    return folder if folder.startswith("/") else None


def observations_file(folder: str) -> str:
    """What processes of the run saw (pfid.trainer.observe)."""
    return os.path.join(folder, OBSERVATIONS)


def steps_file(folder: str, rank: int) -> str:
    """One rank's steps; ``pfid run`` makes those it foresees."""
    return os.path.join(folder, STEPS, "rank-{}.jsonl".format(rank))


def rank_of(environ: Mapping[str, str]) -> Optional[int]:
    """The rank that a launcher put into the environment; None without one."""
    for name in ("RANK", "SLURM_PROCID"):
        text = environ.get(name, "")
        if text.isdigit() and len(text) < 10:
            return int(text)
    return None
