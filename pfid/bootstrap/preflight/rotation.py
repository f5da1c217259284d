"""A rotation, really made, of a scratch log in the folder of the run's."""

import gzip
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.adapters.rotation import LogRotator, observe_log
from pfid.bootstrap.launch import utc_stamp
from pfid.bootstrap.preflight.own_command import run_own
from pfid.bootstrap.preflight.project import Project
from pfid.domain.errors import LaunchError
from pfid.policy.rotation import plan_rotation
from pfid.spec.ports.preflight import RotationFacts

DEADLINE_S: Final = 20.0


def rotation_facts(project: Project) -> RotationFacts | None:
    """Rotate a scratch log and look where its text is; None where the spec names no log."""
    log = project.spec.log
    if log is None:
        return None
    folder = project.path(log.path).parent
    scratch = folder / f"pfid-preflight-{secrets.token_hex(4)}.log"
    text = f"a scratch log of pfid preflight, {scratch.name}\n".encode()
    try:
        before = {entry.name for entry in folder.iterdir()}
        with scratch.open("xb") as file:
            file.write(text)
    except OSError as error:
        return RotationFacts(problem="no_folder", detail=f"{folder}: {error.strerror}")
    try:
        problem = _rotated(project, log.rotate, scratch)
        return problem or _left(scratch, text, before)
    finally:
        for place in (scratch, *_new(folder, before, scratch.stem)):
            with suppress(OSError):
                place.unlink()


def _rotated(project: Project, command: list[str], scratch: Path) -> RotationFacts | None:
    """Carry the rotation out; returns what kept it from happening, if anything did."""
    if command:
        return _by_command(project, command, scratch)
    try:
        steps = plan_rotation(
            [observe_log(scratch)], stamp=utc_stamp(time.time()), run_id="", first_line=None
        )
        LogRotator().carry_out(steps)
    except LaunchError as error:
        return RotationFacts(problem="rotation_failed", detail=str(error))
    return None


def _by_command(project: Project, command: list[str], scratch: Path) -> RotationFacts | None:
    done = run_own(project, [*command, str(scratch)], DEADLINE_S)
    if isinstance(done, str):
        return RotationFacts(problem="rotation_failed", detail=done)
    if done.hung:
        return RotationFacts(problem="rotation_hung", detail=done.last_line())
    if done.exit_code != 0:
        why = f"exit status {done.exit_code}: {done.last_line()}"
        return RotationFacts(problem="rotation_failed", detail=why)
    return None


def _left(scratch: Path, text: bytes, before: set[str]) -> RotationFacts:
    """Look where the text is now."""
    try:
        fresh = not scratch.exists() or not scratch.stat().st_size
        kept = any(_holds(place, text) for place in _new(scratch.parent, before, scratch.stem))
    except OSError as error:
        return RotationFacts(problem="rotation_failed", detail=str(error.strerror))
    return RotationFacts(fresh=fresh, kept=kept or not fresh)


def _new(folder: Path, before: set[str], stem: str) -> list[Path]:
    """Files that came since and bear the scratch log's name."""
    try:
        now = {entry.name for entry in folder.iterdir()}
    except OSError:
        return []
    return [folder / n for n in sorted(now - before) if stem in n and n != f"{stem}.log"]


def _holds(place: Path, text: bytes) -> bool:
    """Whether a file holds the text, plain or compressed as rotations do."""
    if not place.is_file():
        return False
    body = place.read_bytes()
    with suppress(OSError, EOFError):
        return body == text or gzip.decompress(body) == text
    return False
