"""All drills of pre-launch checks, and what they came to."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from pfid.bootstrap.live.project_drills import PROJECT_DRILLS, UNDRILLED, ProjectDrill
from pfid.bootstrap.live.project_ground import GitMissingError, ProjectGround
from pfid.bootstrap.live.session import DrillResult
from pfid.bootstrap.selftest import take_stock
from pfid.config.model import Config
from pfid.domain.errors import PfidError
from pfid.spec.check import AnyCheck, Stage

AT_ONCE: Final = 4


def run_project_drills(
    config: Config,
    only: str | None = None,
    told: Callable[[DrillResult], None] = lambda _: None,
    *,
    drills: Sequence[ProjectDrill] = PROJECT_DRILLS,
) -> tuple[DrillResult, ...]:
    """Walk every drill of an enabled check, each in a scratch project of its own.

    Args:
        config: limits, and which checks are disabled.
        only: drills of one check.
        told: called with each result as it comes, from the drill's thread.
        drills: which.
    """
    off = config.disabled_checks
    known = {r.check.name: r.check for r in take_stock(config, (Stage.PREFLIGHT,)).checks}
    wanted = {n: c for n, c in known.items() if n not in off and only in (None, n)}

    def walk(drill: ProjectDrill) -> DrillResult:
        result = _walk(drill, wanted)
        told(result)
        return result

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pfid-drill") as pool:
        walked = list(pool.map(walk, [d for d in drills if d.check in wanted]))
    left = [DrillResult(drill="-", check=n, ok=None, why=w) for n, w in UNDRILLED.items()]
    return (*walked, *(r for r in left if r.check in wanted))


def _walk(drill: ProjectDrill, checks: Mapping[str, AnyCheck]) -> DrillResult:
    result = DrillResult(
        drill=drill.name, check=drill.check, ok=None, adapters=tuple(sorted(drill.adapters))
    )
    try:
        with ProjectGround(checks[drill.check]) as ground:
            drill.walk(ground)
            legs = ground.legs
    except GitMissingError as error:
        return replace(result, why=str(error))
    except (PfidError, OSError) as error:
        return replace(result, ok=False, why=str(error))
    if not legs.complete:
        walked = ", ".join(o.value for o in legs.outcomes) or "nothing"
        return replace(result, ok=False, why=f"walked {walked}: good, bad and good were wanted")
    return replace(result, ok=True, detection_s=legs.detection_s)
