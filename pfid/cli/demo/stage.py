"""Where the demo plays: a folder of its own, processes of its own, and nothing left of either."""

import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pfid.adapters.unix_address import socket_address
from pfid.domain.errors import PfidError

HELD_S: Final = 3.0
"""How long a slowdown must hold in the demo; the default is 30 s."""

CONFIG: Final = f"""\
[page]
listen = ["127.0.0.1:0"]

[checks.step_time_regime.limits]
held_s = {HELD_S}

[checks.recompile_limit.limits]
held_s = {HELD_S}
"""

NAME: Final = "demo"
_GRACE_S: Final = 10.0


class DemoError(PfidError):
    """Something the demo promises did not happen."""


class Stage:
    """A temporary folder with its own state and configuration, and the launchers started in it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pfid-demo-"))
        self.plant = self.folder / "fault-planted"
        self.log = self.folder / f"{NAME}.log"
        self._launchers: list[subprocess.Popen[bytes]] = []
        (self.folder / "pfid.toml").write_text(CONFIG)
        self.environ = self._environ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PFID_")}
        return kept | {
            "PFID_CONFIG": str(self.folder / "pfid.toml"),
            "PFID_SOCKET": str(self.folder / "no-daemon.sock"),
            "TMPDIR": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"),
            # Believe the processor's own flags: trying each of them out takes ten seconds.
            "TORCHINDUCTOR_VEC_ISA_OK": "1",
        }

    def launch(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start ``pfid run`` on a training command; its words go to ``launcher.log``."""
        options = ("run", "--name", NAME, "--log", str(self.log), "--", *command)
        with (self.folder / "launcher.log").open("ab") as words:
            launcher = subprocess.Popen(  # noqa: S603 - our own command line
                self._pfid(*options),
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
            )
        self._launchers.append(launcher)
        return launcher

    def ask(self, *arguments: str) -> Any:
        """Return what ``pfid ARGUMENTS --json`` prints.

        Raises:
            DemoError: if that is no object; it says what was printed instead.
        """
        done = subprocess.run(  # noqa: S603 - our own command line
            self._pfid(*arguments, "--json"),
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GRACE_S,
            check=False,
        )
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise DemoError(f"pfid {arguments[0]} answered: {said[-300:]}") from error

    def _pfid(self, *arguments: str) -> tuple[str, ...]:
        return (sys.executable, "-P", "-m", "pfid", *arguments)

    def launcher_words(self) -> str:
        """What ``pfid run`` has printed so far."""
        return (self.folder / "launcher.log").read_text(errors="replace")

    def close(self) -> None:
        """End every run that still lives, and remove the folder."""
        for launcher in self._launchers:
            if launcher.poll() is None:
                launcher.send_signal(signal.SIGTERM)
        for launcher in self._launchers:
            try:
                launcher.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                launcher.kill()
                launcher.wait()
        for socket_path in (self.folder / "state" / "pfid").glob("*/runs/*/engine/control.sock"):
            _end_engine(socket_path)
        shutil.rmtree(self.folder, ignore_errors=True)


def _end_engine(socket_path: Path) -> None:
    """End the engine behind a socket: it would linger a while after its run."""
    try:
        with socket.socket(socket.AF_UNIX) as peer, socket_address(socket_path) as address:
            peer.settimeout(_GRACE_S)
            peer.connect(address)
            pid = struct.unpack("i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4))[0]
        pidfd = os.pidfd_open(pid)
    except OSError:
        return  # it has gone by itself
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        select.select([pidfd], [], [], _GRACE_S)
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)
