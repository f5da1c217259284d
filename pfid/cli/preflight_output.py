"""How a project's verdicts look in JSON, and what its mutants came to."""

from collections.abc import Sequence
from typing import Any, Final

from pfid.bootstrap.preflight.judging import Judged
from pfid.bootstrap.preflight.mutation import MutantCame, MutantResult
from pfid.bootstrap.preflight.project import Project
from pfid.cli.output import Cell, say, table
from pfid.cli.shapes import verdict_json, verdicts_json
from pfid.domain.outcome import Outcome

_CAME: Final = {
    MutantCame.CAUGHT: Cell("caught", "green"),
    MutantCame.SURVIVED: Cell("SURVIVED", "bold red"),
    MutantCame.NOT_TRIED: Cell("not tried", "yellow"),
}


def preflight_json(project: Project, judged: Sequence[Judged], came: Outcome) -> dict[str, Any]:
    """The object that ``pfid preflight --json`` prints."""
    shown = verdicts_json(j.view for j in judged)
    return {
        "name": project.name,
        "commit": project.git.commit,
        "python": project.spec.python or None,
        "ready": came is Outcome.PASS,
        "verdicts": [
            {
                **verdict_json(j.view),
                "required": j.required,
                "remedy": j.remedy,
                "evidence": list(j.evidence),
            }
            for j in judged
        ],
        "summary": shown["summary"],
    }


def mutants_json(results: Sequence[MutantResult]) -> dict[str, Any]:
    """The object that ``pfid preflight mutate --json`` prints."""
    return {
        "mutants": [
            {
                "name": r.name,
                "file": r.file,
                "test": r.test,
                "came": r.came.value,
                "why": r.why,
            }
            for r in results
        ],
        "summary": {came.value: sum(r.came is came for r in results) for came in MutantCame},
    }


def print_mutants(results: Sequence[MutantResult]) -> None:
    """Print a table of breaks and what came of them."""
    table(
        ("CAME OUT", "BREAK", "FILE", "TEST", "WHY"),
        [(_CAME[r.came], r.name, r.file, r.test, r.why) for r in results],
    )
    caught = sum(r.came is MutantCame.CAUGHT for r in results)
    say(f"{caught} of {len(results)} breaks were caught")
