"""Joins ``pfid rotate`` to this box: the rules of ``pfid run``, for launchers that are not pfid."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pfid.adapters.name_lock import name_lock
from pfid.adapters.rotation import LogRotator, observe_log
from pfid.bootstrap.launch import BoxProcesses, user_records, utc_stamp
from pfid.domain.errors import NameTakenError
from pfid.launch.guard import admit, alone
from pfid.policy.rotation import Move, plan_rotation

_TRIES = 5


def rotate_log(
    environ: Mapping[str, str], log: Path, name: str, say: Callable[[str], None]
) -> str | None:
    """Rename a log with text in it; the launcher makes the new one.

    Returns:
        The new path of the text, None if there was none.

    Raises:
        LaunchError: if a run of the name is alive, or the log cannot be renamed.
    """
    records = user_records(environ)
    path = Path(os.path.abspath(log))  # noqa: PTH100 - a symlink must stay one to be refused
    with alone(name_lock, records, name, [str(path)]):
        admit(name, [observe_log(path).path], records, BoxProcesses(), say)
        for left in reversed(range(_TRIES)):
            steps = plan_rotation(
                [observe_log(path)], stamp=utc_stamp(time.time()), run_id="", first_line=None
            )
            try:
                LogRotator().carry_out(steps)
            except NameTakenError:
                if not left:
                    raise
            else:
                return next((step.target for step in steps if isinstance(step, Move)), None)
    return None
