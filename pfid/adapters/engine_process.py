"""Starting the embedded engine: a session of its own that outlives its launcher.

It is nobody's child but init's, so that it is no part of the launcher's or the run's tree.
"""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from pfid.adapters.process_identity import open_pidfd
from pfid.config.paths import engine_dir
from pfid.domain.errors import ProcessGoneError, StateError
from pfid.policy.child_environ import NOT_FOR_CHILDREN


def start_engine(run_dir: Path, environ: Mapping[str, str]) -> int:
    """Start ``pfid daemon --embedded RUN_DIR`` and return a pidfd of it.

    Raises:
        StateError: if its folder or log cannot be made, or Python cannot be started.
    """
    try:
        engine_dir(run_dir).mkdir(mode=0o700, exist_ok=True)
        return _spawn_by_a_parent_that_goes(run_dir, environ)
    except (OSError, ProcessGoneError) as error:
        raise StateError(f"cannot start an engine for {run_dir}: {error}") from error


def _spawn_by_a_parent_that_goes(run_dir: Path, environ: Mapping[str, str]) -> int:
    """The parent in between stays until the pidfd is open: till then the pid means the engine."""
    told, tell = os.pipe()
    go, may_go = os.pipe()
    between = os.fork()
    if between == 0:
        _spawn_and_wait(run_dir, environ, tell, go, (told, may_go))
    for descriptor in (tell, go):
        os.close(descriptor)
    try:
        said = os.read(told, 32).decode()
        if not said.isdecimal():
            raise OSError(f"its process could not be started ({said or 'no word'})")
        return open_pidfd(int(said))
    finally:
        os.close(told)
        os.close(may_go)
        os.waitpid(between, 0)


def _spawn_and_wait(
    run_dir: Path, environ: Mapping[str, str], tell: int, go: int, others: tuple[int, ...]
) -> None:
    try:
        for descriptor in others:
            os.close(descriptor)
        os.write(tell, str(_spawn(run_dir, environ)).encode())
        os.read(go, 1)
    except OSError as error:
        os.write(tell, os.strerror(error.errno or 0).encode()[:32])
    finally:
        os._exit(0)


def _spawn(run_dir: Path, environ: Mapping[str, str]) -> int:
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    log = (os.POSIX_SPAWN_OPEN, 1, str(engine_dir(run_dir) / "engine.log"), flags, 0o600)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "pfid", "daemon", "--embedded", str(run_dir)],
        {name: value for name, value in environ.items() if name not in NOT_FOR_CHILDREN},
        file_actions=[null, log, (os.POSIX_SPAWN_DUP2, 1, 2)],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGTTOU, signal.SIGCHLD],
    )
