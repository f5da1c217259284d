"""Starting the embedded engine: a session of its own that outlives its launcher."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from pfid.config.paths import engine_dir
from pfid.domain.errors import StateError
from pfid.policy.child_environ import NOT_FOR_CHILDREN


def start_engine(run_dir: Path, environ: Mapping[str, str]) -> int:
    """Start ``pfid daemon --embedded RUN_DIR`` and return its pid.

    Raises:
        StateError: if its folder or log cannot be made, or Python cannot be started.
    """
    folder = engine_dir(run_dir)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        log = (os.POSIX_SPAWN_OPEN, 1, str(folder / "engine.log"), flags, 0o600)
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "pfid", "daemon", "--embedded", str(run_dir)],
            {name: value for name, value in environ.items() if name not in NOT_FOR_CHILDREN},
            file_actions=[null, log, (os.POSIX_SPAWN_DUP2, 1, 2)],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGTTOU, signal.SIGCHLD],
        )
    except OSError as error:
        raise StateError(f"cannot start an engine for {run_dir}: {error.strerror}") from error
