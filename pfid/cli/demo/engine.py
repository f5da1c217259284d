"""What the demo sees: the run's own engine, asked over its control socket."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pfid.adapters.control_client import ControlClient
from pfid.cli.demo.stage import DemoError, Stage
from pfid.config.paths import engine_socket
from pfid.domain.errors import ControlError
from pfid.wire.control import GetSnapshot, SnapshotReply

LOOK_EVERY_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Scene:
    """One look at the one run on stage; every field as the snapshot has it."""

    snapshot: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> dict[str, Any]:
        """The run's view, empty before it is known."""
        runs = self.snapshot.get("runs") or [{}]
        view: dict[str, Any] = runs[-1]
        return view

    @property
    def steps(self) -> int:
        """Steps seen so far."""
        return int(self.run.get("steps_total") or 0)

    @property
    def recent_ms(self) -> float | None:
        """Median of the last few step times."""
        recent = sorted((self.run.get("recent_step_s") or [])[-9:])
        return recent[len(recent) // 2] * 1000 if recent else None

    def verdict(self, check: str) -> dict[str, Any]:
        """One check's settled verdict about the run, empty before there is one."""
        run_id = self.run.get("run", {}).get("run_id")
        for verdict in self.snapshot.get("verdicts", ()):
            if verdict["check"] == check and verdict["entity"]["id"] == run_id:
                found: dict[str, Any] = verdict
                return found
        return {}


class Engine:
    """The embedded engine of one run."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._socket = engine_socket(run_dir)

    def look(self) -> Scene:
        """Take one look; nothing is seen before it answers, and after it has ended."""
        try:
            with ControlClient(self._socket, timeout_s=2.0) as client:
                return Scene(client.ask(GetSnapshot(), SnapshotReply).snapshot)
        except ControlError:
            return Scene()

    def answers(self) -> bool:
        """Whether it is still there."""
        try:
            ControlClient(self._socket, timeout_s=1.0).close()
        except ControlError:
            return False
        return True


def run_dirs(stage: Stage) -> list[Path]:
    """Folders of the runs launched so far, oldest first."""
    found = (stage.folder / "state" / "pfid").glob("*/runs/*")
    return sorted((p for p in found if p.is_dir()), key=lambda p: p.stat().st_mtime_ns)


def until(what: str, within_s: float, ready: Callable[[], bool]) -> None:
    """Look again and again until ``ready``.

    Raises:
        DemoError: naming ``what`` did not happen within ``within_s``.
    """
    for _ in looks(within_s):
        if ready():
            return
    raise DemoError(f"{what}: not seen within {within_s:g} s")


def looks(within_s: float) -> Iterator[float]:
    """Yield the seconds passed, once every look, until the time is over."""
    began_s = time.monotonic()
    while (age_s := time.monotonic() - began_s) < within_s:
        yield age_s
        time.sleep(LOOK_EVERY_S)
