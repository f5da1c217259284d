"""Lets every pre-launch check look at a project."""

from collections.abc import Callable
from typing import Final

from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.preflight.suite import TestRuns
from pfid.bootstrap.preflight.world import project_world
from pfid.bootstrap.selftest import take_stock
from pfid.bootstrap.stage_judging import Judged, Judging, judge_stage, ready
from pfid.config.model import Config
from pfid.spec.check import Stage

PROOFS: Final = "preflight-proofs.json"

__all__ = ["Judged", "TestRuns", "judge_project", "ready", "unknown_optional"]


def unknown_optional(project: Project, config: Config) -> list[str]:
    """Names in the spec's ``optional`` that no check has; what plugins bring is known later."""
    registry = take_stock(config, (Stage.PREFLIGHT,))
    if registry.foreign or registry.problems:
        return []
    known = {r.check.name for r in registry.checks}
    return [name for name in project.spec.optional if name not in known]


def judge_project(
    project: Project,
    config: Config,
    *,
    tests: TestRuns = TestRuns.WHERE_NEEDED,
    told: Callable[[Judged], None] = lambda _: None,
) -> tuple[Judged, ...]:
    """Let every enabled pre-launch check look; in order of their names.

    Args:
        project: what is asked about.
        config: limits, and which checks are disabled.
        tests: when the project's own may be run.
        told: called with each verdict as it comes, from its thread.

    Raises:
        ConfigError: if the spec's ``optional`` names a check that neither pfid nor a plugin has.
    """
    how = Judging(
        stage=Stage.PREFLIGHT,
        config=config,
        proofs=project.state / PROOFS,
        optional=project.spec.optional,
        told=told,
    )
    return judge_stage(project_world(project, tests=tests), how)
