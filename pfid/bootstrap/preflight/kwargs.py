"""Arguments out of the spec and its files, held against the classes that are installed."""

from typing import Any

from pfid.adapters.config_file import UnreadableFileError, read_config_file, value_at
from pfid.bootstrap.preflight.project import SIGNATURE_FILE, Project
from pfid.config.preflight.asked import Kwargs
from pfid.spec.ports.preflight import KwargsFacts, TargetFacts


def kwargs_facts(project: Project) -> KwargsFacts | None:
    """Ask about every target at once; None where the spec names none."""
    if not project.spec.kwargs:
        return None
    known: list[TargetFacts | dict[str, Any]] = [_given(project, k) for k in project.spec.kwargs]
    asked = [one for one in known if isinstance(one, dict)]
    found = project.ask("ask_signature", {"signature_file": str(SIGNATURE_FILE), "targets": asked})
    if asked and found.said is None:
        answers = [
            TargetFacts(
                target=one["target"],
                problem=found.problem.value,
                detail=(found.detail.splitlines() or [""])[-1],
                tried=len(one["arguments"]),
            )
            for one in asked
        ]
    else:
        said = (found.said or {}).get("targets", [])
        answers = [_facts(one, answer) for one, answer in zip(asked, said, strict=True)]
    rest = iter(answers)
    return KwargsFacts(targets=tuple(next(rest) if isinstance(one, dict) else one for one in known))


def _given(project: Project, kwargs: Kwargs) -> TargetFacts | dict[str, Any]:
    arguments: dict[str, Any] = {}
    if kwargs.file:
        try:
            table = value_at(read_config_file(project.path(kwargs.file)), kwargs.table)
        except UnreadableFileError as error:
            return _unreadable(kwargs, str(error))
        if not isinstance(table, dict):
            return _unreadable(kwargs, f"{kwargs.file}: {kwargs.table or 'it'} is no table")
        arguments.update(table)
    arguments.update(kwargs.arguments)
    return {"target": kwargs.target, "arguments": arguments}


def _unreadable(kwargs: Kwargs, why: str) -> TargetFacts:
    return TargetFacts(target=kwargs.target, problem="arguments_unreadable", detail=why)


def _facts(asked: dict[str, Any], said: dict[str, Any]) -> TargetFacts:
    target, tried = asked["target"], len(asked["arguments"])
    if said.get("missing"):
        return TargetFacts(
            target=target, problem="target_missing", detail=said["missing"], tried=tried
        )
    return TargetFacts(
        target=target,
        problem="no_signature" if said["why"] else "",
        detail=said["why"],
        unknown=tuple((str(a), str(b)) for a, b in said["unknown"]),
        unseen=tuple((str(a), str(b)) for a, b in said["unseen"]),
        changed=tuple((str(a), str(b)) for a, b in said["changed"]),
        tried=tried,
    )
