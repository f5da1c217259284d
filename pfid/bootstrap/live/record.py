"""Keeps when real faults were last driven here: `pfid preflight` asks for it."""

import contextlib
import os
import time
from collections.abc import Sequence

from pfid.adapters.drill_record import keep_drill
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.live.session import DrillResult, answers
from pfid.config.paths import daemon_socket, user_state_dir


def record_drills(results: Sequence[DrillResult]) -> None:
    """Keep what a drill of every check came to; where it cannot be kept, it was not done."""
    checks = {r.check for r in results if r.ok is not None}
    came = {c: all(r.ok is not False for r in results if r.check == c) for c in checks}
    if not came:
        return
    with contextlib.suppress(OSError):
        keep_drill(
            user_state_dir(os.environ, machine_id()),
            at_s=time.time(),
            through_daemon=answers(daemon_socket(os.environ)),
            results=came,
        )
