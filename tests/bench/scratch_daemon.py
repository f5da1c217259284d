"""A daemon of its own for one figure, and processes for it to watch."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from pfid.adapters.control_client import ControlClient
from pfid.wire.control import GetSnapshot, HandedLog, Register, Role

CONFIG = """
[page]
listen = ["127.0.0.1:0"]
exported_runs_max = 2000
"""


class ScratchDaemon:
    """Runs while the context is open; everything it leaves lies in a folder that is deleted."""

    def __init__(self, config: str = "") -> None:
        """Prepare the folder; ``config`` is added to the configuration."""
        self._config = CONFIG + config
        self._folder = tempfile.TemporaryDirectory(prefix="pfid-bench-")
        self.folder = Path(self._folder.name)
        self.socket = self.folder / "control.sock"
        self.ready_s = 0.0

    def __enter__(self) -> Self:
        config = self.folder / "pfid.toml"
        config.write_text(self._config)
        environ = {
            **os.environ,
            "PFID_SOCKET": str(self.socket),
            "STATE_DIRECTORY": str(self.folder / "state"),
        }
        self._log = (self.folder / "daemon.log").open("wb")
        began_s = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pfid", "daemon", "--config", str(config)],
            env=environ,
            stderr=self._log,
        )
        while True:
            try:
                self.client = ControlClient(self.socket, timeout_s=30.0)
                break
            except Exception:
                if self.process.poll() is not None:
                    print((self.folder / "daemon.log").read_text(), file=sys.stderr)
                    raise
                time.sleep(0.005)
        self.client.call(GetSnapshot())
        self.ready_s = time.monotonic() - began_s
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(timeout=20)
        self._log.close()
        said = (self.folder / "daemon.log").read_text()
        trouble = [line for line in said.splitlines() if '"level": "info"' not in line]
        if trouble:
            print("\n".join(trouble[:20]), file=sys.stderr)
        self._folder.cleanup()

    def register(self, pid: int, name: str, log: Path | None = None) -> str | None:
        """Have a process watched; returns the metrics address."""
        fds = [os.pidfd_open(pid)]
        roles = [Role.PIDFD]
        if log is not None:
            fds.append(os.open(log, os.O_RDONLY))
            roles.append(Role.LOG)
        request = Register(
            name=name,
            run_id=name,
            pid=pid,
            start_ticks=None,
            started_at_s=time.time(),
            source="captured",
            roles=roles,
            logs=[HandedLog()] if log is not None else [],
        )
        try:
            reply = self.client.call(request, fds)
        finally:
            for fd in fds:
                os.close(fd)
        if not hasattr(reply, "metrics_url"):
            raise RuntimeError(str(reply))
        return reply.metrics_url


def sleepers(count: int) -> list[subprocess.Popen[bytes]]:
    """Start that many idle processes."""
    return [subprocess.Popen(["/bin/sleep", "3600"]) for _ in range(count)]


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Kill and reap them."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def cpu_s(pid: int) -> float:
    """User and system seconds of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Resident memory of one process, in 1024 * 1024 bytes."""
    return _rss_bytes(pid) / 1024**2


def rss_mb(pid: int) -> float:
    """Resident memory of one process, in a million bytes, as the project's limits are."""
    return _rss_bytes(pid) / 1e6


def _rss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no VmRSS of {pid}")


def children(pid: int) -> list[int]:
    """Direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(stat[1]) == pid:
                found.append(int(entry.name))
    return found
