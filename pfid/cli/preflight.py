"""``pfid preflight``: ten minutes before the window, in seconds."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pfid.cli.chosen_config import chosen_config
from pfid.cli.exit_codes import EXITS
from pfid.cli.output import Exit, emit_json, note, say
from pfid.cli.own_name import called
from pfid.cli.preflight_output import preflight_json

if TYPE_CHECKING:
    from pfid.bootstrap.preflight.judging import Judged

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
SPEC = click.argument(
    "spec", required=False, type=click.Path(path_type=Path), metavar="[SPEC.toml]"
)
PYTHON = click.option(
    "--python", metavar="PYTHON", help="The training interpreter, in the place of the spec's."
)


class _CheckByDefault(click.Group):
    """``pfid preflight SPEC`` is ``pfid preflight check SPEC``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else ["check", *args])


@click.group(cls=_CheckByDefault)
def command() -> None:
    """Check a project before its launch: pfid preflight [SPEC.toml], in seconds.

    SPEC is preflight.toml of the current folder unless it is named; `pfid preflight --init` writes
    one. ``pfid preflight ...`` is short for ``pfid preflight check ...``.
    """


@command.command()
@SPEC
@PYTHON
@click.option("--init", is_flag=True, help="Write a commented spec for the project here.")
@click.option("--no-tests", "tests", flag_value="never", help="Run no tests; tell what is kept.")
@click.option("--fresh", "tests", flag_value="always", help="Run them though they were green.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration to judge under.")
@JSON
def check(
    spec: Path | None,
    python: str | None,
    init: bool,
    tests: str | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Judge the project: PASS, FAIL, UNKNOWN or n/a for each check, with what to do.

    Nothing of the project is changed. Its tests are run unless they passed on this commit, in this
    environment, within a day.

    Exit codes: 0 nothing fails and nothing required is unknown, 1 a check failed, 2 the spec cannot
    be used, 3 something required is unknown.
    """
    if init:
        _init(spec, python, as_json=as_json)
        return
    from pfid.bootstrap.preflight.judging import TestRuns, judge_project, ready
    from pfid.bootstrap.preflight.opening import open_project

    chosen = chosen_config(config)
    project = open_project(spec, os.environ, chosen, python)
    runs = TestRuns(tests or TestRuns.WHERE_NEEDED)
    judged = judge_project(project, chosen, tests=runs, told=_progress(as_json))
    came = ready(judged)
    if as_json:
        emit_json(preflight_json(project, judged, came))
    else:
        from pfid.cli.judged_text import print_figures, print_judged, print_outcome

        print_judged(judged)
        print_figures(judged)
        print_outcome(judged, good=f"{called()} run --preflight -- COMMAND")
    raise SystemExit(EXITS[came])


def _progress(as_json: bool) -> "Callable[[Judged], None]":
    """On a terminal each verdict is named as it comes: tests may take minutes."""
    if as_json or not sys.stderr.isatty():
        return lambda _: None
    return lambda judged: note(f"{judged.view.check}: {judged.view.outcome.value}")


def _init(spec: Path | None, python: str | None, *, as_json: bool) -> None:
    from pfid.bootstrap.preflight.initial import write_initial

    path, said = write_initial(spec, python)
    if as_json:
        emit_json({"spec": str(path), "found": said})
        return
    for line in said:
        note(line)
    say(f"wrote {path}; read it, complete it, and run `{called()} preflight {path.name}`")


@command.command()
@click.argument("spec", required=False, type=click.Path(path_type=Path), metavar="[SPEC.toml]")
@PYTHON
@JSON
def mutate(spec: Path | None, python: str | None, as_json: bool) -> None:
    """Break the code as the spec lists, and name the breaks that no test notices.

    Works in a scratch worktree of the commit; your tree is never touched. A break is caught if its
    test passes on the commit and fails on the break that it loaded: what would come from your tree
    (an editable installation, PYTHONPATH) comes from the copy. One that nothing notices shows that
    the test is documentation.

    Exit codes: 0 every break was caught, 1 one was not, 2 the spec cannot be used, 3 one could not
    be tried.
    """
    from pfid.bootstrap.preflight.mutation import mutate_project
    from pfid.bootstrap.preflight.opening import open_project
    from pfid.cli.preflight_output import mutants_json, print_mutants
    from pfid.config.model import Config

    project = open_project(spec, os.environ, Config(), python)
    results = mutate_project(project, note)
    data: dict[str, Any] = mutants_json(results)
    if as_json:
        emit_json(data)
    else:
        print_mutants(results)
    summary = data["summary"]
    if summary["survived"]:
        raise SystemExit(Exit.FAILED)
    raise SystemExit(Exit.UNKNOWN if summary["not_tried"] else Exit.OK)
