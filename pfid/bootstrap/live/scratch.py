"""A daemon of our own in a scratch folder, for drills that may spoil its limits and proofs."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.live.drills import SCRATCH_LIMITS
from pfid.bootstrap.live.planted_gpus import CARDS, with_stand_in
from pfid.config.paths import engine_socket
from pfid.domain.errors import ControlError, PfidError

START_S: Final = 120.0
STOP_S: Final = 60.0
LOG_TAIL_CHARS: Final = 2_000
PLANTED: Final = f"[gpus]\nexpected = {CARDS}\ninterval_s = 0.5\n"
"""The box's real cards are none of the stand-in's."""


class ScratchDaemonError(PfidError):
    """The scratch daemon did not come up; the message holds the end of its log."""


@contextlib.contextmanager
def scratch_daemon(nvml: Path | None = None) -> Iterator[Path]:
    """Start a daemon with short limits, yield its socket, and end it.

    Args:
        nvml: folder of a stand-in for NVML that it is to find first; its scenario is written.

    Raises:
        ScratchDaemonError: if it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="pfid-live-") as folder:
        root = Path(folder)
        config = root / "pfid.toml"
        config.write_text(_config(root) + (PLANTED if nvml else ""))
        environ = with_stand_in(_environment(), nvml)
        with _started(root, root / "control.sock", environ, "--config", str(config)) as socket:
            yield socket


@contextlib.contextmanager
def scratch_engine(folder: Path) -> Iterator[Path]:
    """Start an embedded engine whose user keeps things below ``folder``; otherwise likewise.

    Raises:
        ScratchDaemonError: if it does not come up.
    """
    run_dir = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    socket = engine_socket(run_dir)
    environ = _environment() | {"XDG_STATE_HOME": str(folder / "state"), "PFID_CONFIG": ""}
    with _started(run_dir, socket, environ, "--embedded", str(run_dir)):
        yield socket


@contextlib.contextmanager
def _started(root: Path, socket: Path, environ: dict[str, str], *options: str) -> Iterator[Path]:
    said = root / "daemon.log"
    with said.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "pfid", "daemon", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environ,
            start_new_session=True,
        )
    try:
        _wait(process, socket, said)
        yield socket
    finally:
        _end(process)


def _config(root: Path) -> str:
    limits = "".join(
        f"[checks.{check}.limits]\n" + "".join(f"{n} = {v}\n" for n, v in values.items())
        for check, values in SCRATCH_LIMITS.items()
    )
    return (
        f'[daemon]\nstate_directory = "{root / "state"}"\nsocket = "{root / "control.sock"}"\n'
        f'[page]\nlisten = ["127.0.0.1:0"]\n{limits}'
    )


def _environment() -> dict[str, str]:
    """Ours, without what would make it speak for the box's daemon or find it."""
    places = {"PFID_SOCKET", "STATE_DIRECTORY", "CACHE_DIRECTORY"}
    dropped = {"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", *places}
    return {k: v for k, v in os.environ.items() if k not in dropped}


def _wait(process: "subprocess.Popen[bytes]", socket: Path, said: Path) -> None:
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s and process.poll() is None:
        with contextlib.suppress(ControlError), ControlClient(socket, 1.0):
            return
        time.sleep(0.05)
    tail = said.read_text(errors="replace")[-LOG_TAIL_CHARS:]
    raise ScratchDaemonError(f"the scratch daemon did not come up: {tail}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
