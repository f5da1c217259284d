"""``pfid run --preflight``: no launch of a project that is not ready."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace as with_changes

from pfid.bootstrap.preflight.judging import Judged, judge_project, ready
from pfid.bootstrap.preflight.opening import open_project
from pfid.config.load import ConfigFile
from pfid.config.paths import config_file
from pfid.domain.errors import LaunchError
from pfid.domain.outcome import Outcome


def refuse_unready(
    name: str, argv: Sequence[str], spec: str | None, say: Callable[[str], None]
) -> None:
    """Return if every pre-launch check lets this command start as the run of this name.

    Raises:
        LaunchError: naming what fails and what cannot be told, each with what to do.
        ConfigError: if spec or configuration cannot be used.
    """
    required = bool(os.environ.get("PFID_CONFIG"))
    config = ConfigFile(path=config_file(os.environ), required=required).load()
    project = open_project(None if spec is None else Path(spec), os.environ, config)
    project = project.of_spec(with_changes(project.spec, name=name))
    project = project.about_to_launch(argv, Path.cwd())
    judged = judge_project(project, config)
    if ready(judged) is not Outcome.PASS:
        raise LaunchError("\n".join(["not launched: pfid preflight", *refusals(judged)]))
    passed = sum(j.view.outcome is Outcome.PASS for j in judged)
    say(f"preflight: ready, {passed} checks pass")


def refusals(judged: Sequence[Judged]) -> list[str]:
    """A line for each check that stands against a launch, and one for what to do."""
    lines = []
    for one in judged:
        outcome = one.view.outcome
        blind = outcome is Outcome.UNKNOWN and one.required
        if outcome is Outcome.FAIL or blind:
            word = "FAIL" if outcome is Outcome.FAIL else "UNKNOWN"
            lines.append(f"{word} {one.view.check}: {one.view.summary}")
            lines += [f"    {line}" for text in one.evidence[:3] for line in text.splitlines()[-3:]]
            lines.append(f"    -> {one.remedy}")
    return lines
