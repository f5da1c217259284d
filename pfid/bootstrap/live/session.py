"""All drills at once through one daemon, and what they came to, check by check."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.live.canary import Canary, CannotPlantError
from pfid.bootstrap.live.drills import DRILLS, Drill
from pfid.bootstrap.live.ground import ANSWER_S, DrillGround
from pfid.bootstrap.live.planted_gpus import NOT_SET_UP, PlantedGpus, stand_in
from pfid.bootstrap.live.scratch import scratch_daemon
from pfid.bootstrap.live.witness import refuses_us
from pfid.domain.errors import ControlError, PfidError
from pfid.domain.gate import Gate
from pfid.wire.control import Done, LiveLeg

CONNECT_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillResult:
    """What one drill came to.

    Attributes:
        drill: its name.
        check: whose verdict was waited for.
        ok: True, False, or None where it cannot be tried here.
        why: what failed, or why it was not tried.
        detection_s: from the planted fault to verdict, event and metric.
        adapters: what was really driven.
    """

    drill: str
    check: str
    ok: bool | None
    why: str = ""
    detection_s: float | None = None
    adapters: tuple[str, ...] = ()


def run_drills(
    socket: Path,
    page_url: str | None,
    *,
    scratch: bool,
    drills: Sequence[Drill] = DRILLS,
    gpus: PlantedGpus | None = None,
    told: Callable[[DrillResult], None] = lambda _: None,
) -> tuple[DrillResult, ...]:
    """Walk every drill at the same time, and after them those that harm what others stand on.

    Args:
        socket: of the daemon.
        page_url: its metrics page; None if it serves none.
        scratch: whether that daemon is ours to spoil.
        drills: which.
        gpus: the stand-in for NVML that the daemon has loaded, None if there is none.
        told: called with each result as it comes, from the drill's thread.
    """

    def walk(drill: Drill) -> DrillResult:
        result = _walk(drill, socket, page_url, scratch=scratch, gpus=gpus)
        told(result)
        return result

    with ThreadPoolExecutor(max_workers=max(len(drills), 1)) as pool:
        together = list(pool.map(walk, [d for d in drills if not d.last]))
    return (*together, *(walk(d) for d in drills if d.last))


def _walk(
    drill: Drill,
    socket: Path,
    page_url: str | None,
    *,
    scratch: bool,
    gpus: PlantedGpus | None,
) -> DrillResult:
    result = DrillResult(
        drill=drill.name, check=drill.check, ok=None, adapters=tuple(sorted(drill.adapters))
    )
    if drill.planted_gpus and gpus is None:
        return replace(result, why=NOT_SET_UP)
    if drill.scratch_only and not scratch:
        return replace(result, why="would spoil the limits or proofs of a daemon that is in use")
    if page_url is None or refuses_us(page_url):
        return replace(result, why="the daemon serves no page for us, so no metric can be seen")
    return _driven(result, drill, socket, page_url, gpus)


def _driven(
    result: DrillResult, drill: Drill, socket: Path, page_url: str, gpus: PlantedGpus | None
) -> DrillResult:
    try:
        with DrillGround(drill, socket, page_url, gpus) as ground:
            drill.walk(ground)
            legs = ground.legs
    except CannotPlantError as error:
        return replace(result, why=str(error))
    except (PfidError, OSError) as error:
        return replace(result, ok=False, why=str(error))
    if not legs.complete:
        walked = ", ".join(o.value for o in legs.outcomes) or "nothing"
        return replace(result, ok=False, why=f"walked {walked}: good, bad and good were wanted")
    return replace(result, ok=True, detection_s=legs.detection_s)


def run_live(
    box: Path,
    only: str | None = None,
    told: Callable[[DrillResult], None] = lambda _: None,
    *,
    off: Container[str] = (),
) -> tuple[DrillResult, ...]:
    """Walk every drill: through the box's daemon if one answers, else through one of our own.

    Drills that would spoil a daemon in use go through one of our own in either case.

    Args:
        box: socket of the box's daemon.
        only: drills of one check.
        told: called with each result as it comes.
        off: checks that are disabled: a daemon that does not run them shows no verdict of theirs.

    Raises:
        ScratchDaemonError: if a daemon of our own does not come up.
        ControlError: if a daemon that answered stops answering.
    """
    chosen = [d for d in DRILLS if only in (None, d.check) and d.check not in off]
    in_use = answers(box)
    spoiling = [d for d in chosen if d.scratch_only or not in_use]
    through_box = [d for d in chosen if d not in spoiling]
    results: list[DrillResult] = []
    if through_box:
        url = page_url_of(box)
        results += run_drills(box, url, scratch=False, drills=through_box, told=told)
    if spoiling:
        results += _through_our_own(spoiling, told)
    if in_use and results:
        _tell(box, results)
    return tuple(results)


def _through_our_own(
    drills: Sequence[Drill], told: Callable[[DrillResult], None]
) -> tuple[DrillResult, ...]:
    nvml = stand_in(os.environ)
    gpus = None if nvml is None else PlantedGpus(nvml)
    if gpus is None and all(d.planted_gpus for d in drills):  # none of them comes to a daemon
        return run_drills(Path(), None, scratch=True, drills=drills, told=told)
    with scratch_daemon(nvml) as own:
        url = page_url_of(own)
        return run_drills(own, url, scratch=True, drills=drills, gpus=gpus, told=told)


def _tell(box: Path, results: Sequence[DrillResult]) -> None:
    """Enter the live leg into the daemon's gates; a user who may not leaves them as they are."""
    checks = {r.check for r in results if r.ok is not None}
    came = {c: all(r.ok is not False for r in results if r.check == c) for c in checks}
    took = [r.detection_s for r in results if r.detection_s is not None]
    with contextlib.suppress(ControlError), ControlClient(box) as client:
        client.ask(LiveLeg(results=came, detection_s=max(took, default=None)), Done)


def answers(socket: Path) -> bool:
    """Whether a daemon listens there."""
    try:
        with ControlClient(socket, CONNECT_S):
            return True
    except ControlError:
        return False


def page_url_of(socket: Path) -> str | None:
    """Ask a daemon where its page is, by registering a canary that is ended at once.

    Raises:
        ControlError: if the daemon does not answer.
    """
    with tempfile.TemporaryDirectory() as folder, ControlClient(socket, ANSWER_S) as client:
        canary = Canary(client, Path(folder))
        canary.close()
        return canary.metrics_url


def with_live(gates: Iterable[Gate], results: Sequence[DrillResult]) -> tuple[Gate, ...]:
    """Enter the live leg into gates: true if every drill of the check that ran was good.

    A check without a drill, or whose drills cannot be tried here, has None.
    """
    return tuple(_with_leg(g, [r for r in results if r.check == g.check]) for g in gates)


def _with_leg(gate: Gate, results: Sequence[DrillResult]) -> Gate:
    tried = [r.ok for r in results if r.ok is not None]
    live = all(tried) if tried else None
    return replace(gate, proven_to=replace(gate.proven_to, live=live))
