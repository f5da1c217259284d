"""How a project's verdicts and mutants look: JSON, tables, and what to do beneath them."""

from collections.abc import Sequence
from typing import Any, Final

import click

from pfid.bootstrap.preflight.judging import Judged
from pfid.bootstrap.preflight.mutation import MutantCame, MutantResult
from pfid.bootstrap.preflight.project import Project
from pfid.cli.output import Cell, table
from pfid.cli.shapes import verdict_json, verdicts_json
from pfid.domain.outcome import Outcome
from pfid.formats.untrusted import printable

_WORDS: Final = {
    Outcome.PASS: Cell("PASS", "green"),
    Outcome.FAIL: Cell("FAIL", "bold red"),
    Outcome.UNKNOWN: Cell("UNKNOWN", "yellow"),
    Outcome.NOT_APPLICABLE: Cell("n/a", "dim"),
}
_CAME: Final = {
    MutantCame.CAUGHT: Cell("caught", "green"),
    MutantCame.SURVIVED: Cell("SURVIVED", "bold red"),
    MutantCame.NOT_TRIED: Cell("not tried", "yellow"),
}
_LINE_CHARS: Final = 500


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


def print_judged(judged: Sequence[Judged]) -> None:
    """Print a table, and for each check that does not pass what was seen and what to do."""
    table(
        ("OUTCOME", "CHECK", "REASON", "SUMMARY"),
        [(_WORDS[j.view.outcome], j.view.check, j.view.reason, j.view.summary) for j in judged],
    )
    for j in judged:
        if j.view.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            _explain(j)
    counts = {o: sum(j.view.outcome is o for j in judged) for o in Outcome}
    optional = sum(not j.required and j.view.outcome is Outcome.UNKNOWN for j in judged)
    may = f" ({optional} of them may be)" if optional else ""
    click.echo(
        f"\n{counts[Outcome.PASS]} pass, {counts[Outcome.FAIL]} fail, "
        f"{counts[Outcome.UNKNOWN]} unknown{may}, "
        f"{counts[Outcome.NOT_APPLICABLE]} not configured"
    )


def _explain(judged: Judged) -> None:
    click.echo(f"\n{judged.view.check}: {printable(judged.view.summary, _LINE_CHARS)}")
    for text in judged.evidence:
        for line in text.splitlines()[-20:]:
            click.echo(f"    {printable(line, _LINE_CHARS)}")
    if judged.remedy:
        click.echo(f"  -> {printable(judged.remedy, 4 * _LINE_CHARS)}")


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
    click.echo(f"{caught} of {len(results)} breaks were caught")
