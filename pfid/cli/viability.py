"""``pfid viability``: whether a base model can be trained and served, before it is chosen."""

import os
from pathlib import Path
from typing import Any

import click

from pfid.cli.chosen_config import chosen_config
from pfid.cli.engine_options import engine_of, engine_options
from pfid.cli.exit_codes import EXITS
from pfid.cli.output import emit_json
from pfid.cli.viability_options import plan_of, plan_options
from pfid.cli.viability_prove import command as prove_serving
from pfid.domain.outcome import Outcome

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
CONFIG = click.option(
    "--config", type=click.Path(path_type=Path), help="Configuration to judge under."
)
PYTHON = click.option("--python", default="", metavar="PYTHON", help="The training interpreter.")
MODEL = click.Path(exists=True, path_type=Path)
SERVE = click.option(
    "--serve",
    type=click.Choice(["adapter", "merged", "none"]),
    help="What will be served of it; then a proof of that is required. Left out: adapters for lora "
    "and qlora, merged weights for full, and without a proof it fails.",
)


class _CheckByDefault(click.Group):
    """``pfid viability MODEL`` is ``pfid viability check MODEL``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else ["check", *args])


@click.group(cls=_CheckByDefault)
def command() -> None:
    """Judge a base model before it is chosen: pfid viability MODEL --gpu-memory 96GiB.

    Reads configuration, index and shard headers; needs no weights, GPU or network and executes no
    code of the model. ``pfid viability ...`` is short for ``pfid viability check ...``.
    """


command.add_command(prove_serving)


@command.command()
@click.argument("model", nargs=-1, required=True, type=MODEL, metavar="MODEL...")
@plan_options
@PYTHON
@engine_options
@SERVE
@click.option(
    "--recipe", type=click.Path(path_type=Path), metavar="CARD.toml", help="A recipe card."
)
@click.option(
    "--alignment",
    type=click.Choice(["stock", "abliterated"]),
    default=None,
    help="What the model is, for a recipe card.",
)
@CONFIG
@JSON
def check(
    model: tuple[Path, ...],
    python: str,
    recipe: Path | None,
    alignment: str | None,
    config: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Say PASS, FAIL, UNKNOWN or n/a for each thing that decides about a base, with figures.

    MODEL is a folder as it was downloaded, or files of it: config.json or params.json, an index,
    shards. A recipe card is TOML with the keys checkpoint (for which it was written), architecture
    (dense, moe), alignment (stock, abliterated), parameters (26B), template (sha256:... of the chat
    template's text) and precision.

    Exit codes: 0 nothing fails or is unknown, 1 a check failed, 2 usage, 3 something is unknown.
    """
    from pfid.bootstrap.viability.candidate import Candidate
    from pfid.bootstrap.viability.judging import judge_candidate, ready
    from pfid.cli.viability_output import viability_json
    from pfid.cli.viability_text import print_viability

    candidate = Candidate(
        paths=model,
        plan=plan_of(given),
        python=python,
        recipe=recipe,
        alignment=alignment or "",
        engine=engine_of(given),
        serve=given["serve"] or "",
        environ=os.environ,
    )
    found = judge_candidate(candidate, chosen_config(config))
    if as_json:
        emit_json(viability_json(candidate.name, found.facts, found.plan, found.judged))
    else:
        print_viability(candidate, found.facts, found.judged)
    raise SystemExit(EXITS[ready(found.judged)])


@command.command()
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL...")
@plan_options
@PYTHON
@engine_options
@SERVE
@CONFIG
@JSON
def compare(
    models: tuple[Path, ...], python: str, config: Path | None, as_json: bool, **given: Any
) -> None:
    """Put several base models side by side under one plan: a row each, a column a check.

    Exit codes: 0 at least one has nothing that fails or is unknown, 1 each has something that
    fails, 2 usage, 3 none is without doubt.
    """
    from pfid.bootstrap.viability.candidate import Candidate
    from pfid.bootstrap.viability.judging import judge_candidate, ready
    from pfid.cli.viability_output import compared_json
    from pfid.cli.viability_text import print_compared

    plan, engine, loaded = plan_of(given), engine_of(given), chosen_config(config)
    found = []
    for path in models:
        candidate = Candidate(
            paths=(path,),
            plan=plan,
            python=python,
            engine=engine,
            serve=given["serve"] or "",
            environ=os.environ,
        )
        found.append((candidate.name, judge_candidate(candidate, loaded)))
    if as_json:
        emit_json(compared_json(found, plan))
    else:
        print_compared([(name, one.facts, one.judged) for name, one in found], plan)
    came = {ready(one.judged) for _, one in found}
    order = (Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL)
    raise SystemExit(EXITS[next(outcome for outcome in order if outcome in came)])
