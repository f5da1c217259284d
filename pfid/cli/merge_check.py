"""``pfid merge-check``: whether a tune may be merged there, and what the merge did."""

import os
from pathlib import Path
from typing import Any

import click

from pfid.bootstrap.stage_judging import ready
from pfid.cli.chosen_config import chosen_config
from pfid.cli.exit_codes import EXITS
from pfid.cli.finite import FiniteRange
from pfid.cli.output import emit_json, facts, note
from pfid.cli.shapes import verdict_json, verdicts_json
from pfid.formats.untrusted import printable

FOLDER = click.Path(exists=True, path_type=Path)


def _names(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(word for part in value.split(",") if (word := part.strip()))


@click.command("merge-check")
@click.argument("adapter", type=FOLDER)
@click.argument("target", type=FOLDER)
@click.option(
    "--merged", type=FOLDER, metavar="DIR", help="What came of the merge, held against TARGET."
)
@click.option(
    "--targets",
    default="",
    callback=_names,
    metavar="NAMES",
    help="Modules that were trained, with commas, where no adapter says so.",
)
@click.option(
    "--run",
    "run_id",
    default="",
    metavar="RUN",
    help="The run that made ADAPTER. [default: the newest that declared it as its artefact]",
)
@click.option(
    "--share",
    type=FiniteRange(-100, 100),
    default=1.0,
    metavar="N",
    help="How much of the adapter was merged on purpose. [default: 1, all of it]",
)
@click.option(
    "--full", is_flag=True, help="Read every byte of the weights, and not some of each tensor."
)
@click.option(
    "--record",
    is_flag=True,
    help="Write down beside an adapter which weights its base holds: --record BASE ADAPTER.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Configuration to judge under.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(adapter: Path, target: Path, record: bool, as_json: bool, **asked: Any) -> None:
    """Say whether TARGET holds the weights that ADAPTER was trained on, before they are merged.

    What the tensors hold decides: names say nothing. The base is known from the run's launch
    ([provenance] base in its spec) or from a record beside the adapter (--record BASE ADAPTER,
    made when training begins or while the base lies there untouched). With --merged also whether
    the merge changed what it should, by what the adapter makes, and nothing else; without it
    whether a first save holds anything: an adapter whose factors are zero changes nothing. ADAPTER
    may be a save of the whole model too, and is held against TARGET then.

    Exit codes: 0 all is well, 1 a check failed, 2 usage, 3 something cannot be told.
    """
    if record:
        _record(adapter, target, full=asked["full"], as_json=as_json)
        return
    from pfid.bootstrap.viability.merge import Merge
    from pfid.bootstrap.viability.merge_judging import judge_merge
    from pfid.cli.judged_text import print_figures, print_judged, print_outcome

    merge = Merge(
        adapter=adapter,
        target=target,
        merged=asked["merged"],
        targets=asked["targets"],
        run=asked["run_id"],
        full=asked["full"],
        share=asked["share"],
        environ=os.environ,
        say=note,
    )
    judged = judge_merge(merge, chosen_config(asked["config"]))
    if as_json:
        shown = verdicts_json(j.view for j in judged)
        verdicts = [
            {**verdict_json(j.view), "remedy": j.remedy, "evidence": list(j.evidence)}
            for j in judged
        ]
        emit_json({"adapter": merge.name, "verdicts": verdicts, "summary": shown["summary"]})
    else:
        print_judged(judged)
        print_figures(judged)
        print_outcome(judged, good="merge")
    raise SystemExit(EXITS[ready(judged)])


def _record(base: Path, adapter: Path, *, full: bool, as_json: bool) -> None:
    from pfid.bootstrap.viability.merge_judging import record_base

    recorded = record_base(base, adapter, full=full, say=note)
    identity = recorded.identity
    told = {
        "recorded": str(recorded.file),
        "base": identity.name,
        "tensors": len(identity.tensors),
        "size_bytes": identity.size_bytes,
        "read_bytes": identity.read_bytes,
        "full": identity.full,
        "digest": identity.digest,
    }
    if as_json:
        emit_json(told)
        return
    how = "every byte" if identity.full else f"{identity.read_bytes} bytes, some of each tensor"
    facts(
        [
            ("recorded" if not recorded.stood else "stood there", str(recorded.file)),
            ("base", printable(identity.name, 120)),
            ("tensors", f"{len(identity.tensors)}, of {identity.size_bytes / 1e9:.2f} GB"),
            ("read", how),
        ]
    )
