"""Opens an evaluation, lets every check of the stage look at it, and keeps what they said."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pfid.adapters.judged_results import keep, newest_other
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.judge.arms import Arms, read_arms
from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.judge.world import PROOFS, Looking
from pfid.bootstrap.selftest import take_stock
from pfid.bootstrap.stage_judging import Judged, Judging, judge_stage, ready
from pfid.config.gates import GateSpec, load_gates
from pfid.config.model import CheckOptions, Config
from pfid.config.paths import user_state_dir
from pfid.domain.errors import ConfigError, StateError
from pfid.domain.verdict import Verdict
from pfid.policy.held_back import BELIEVED, held_back
from pfid.spec.check import Stage
from pfid.spec.limits import units
from pfid.spec.ports.results import PreviousResult, ResultFacts

NAME_MAX_CHARS: Final = 120

__all__ = ["Asked", "Judged", "judge_evaluation", "keep_judgement", "open_evaluation", "ready"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line names.

    Attributes:
        results: files and folders of the candidate, or of both arms.
        baseline: of the baseline.
        spec: GATES.toml.
        environ: of the command.
        told: how far something long is.
    """

    results: Sequence[Path]
    baseline: Sequence[Path]
    spec: Path
    environ: Mapping[str, str]
    told: Callable[[str], None] = lambda _: None


def open_evaluation(asked: Asked, config: Config) -> Evaluation:
    """Read the spec and every record.

    Raises:
        ConfigError: with everything that is wrong with the spec.
        ResultFileError: if a file cannot be read at all.
    """
    path = Path(os.path.abspath(asked.spec))  # noqa: PTH100 - links stay as they are
    spec = load_gates(path)
    _refuse_unknown_limits(spec, path)
    arms = read_arms(asked.results, asked.baseline, spec, asked.told)
    state = user_state_dir(asked.environ, machine_id())
    name = spec.name or asked.results[0].name.split(".")[0][:NAME_MAX_CHARS]
    return Evaluation(
        name=name,
        spec=spec,
        folder=path.parent,
        state=state,
        results=_facts(arms, spec, state, spec.previous or name),
        config=_with_limits(config, spec),
        formats=arms.formats,
        environ=asked.environ,
        told=asked.told,
    )


def _refuse_unknown_limits(spec: GateSpec, path: Path) -> None:
    """A limit that nobody reads is one that somebody believes in."""
    known = {
        r.check.name: units(r.check.limits) for r in take_stock(Config(), (Stage.RESULT,)).checks
    }
    problems = []
    for name, limits in spec.limits.items():
        has = known.get(name)
        if has is None:
            problems.append(f"{path}: limits.{name}: there is no such check")
            continue
        problems += [
            f"{path}: limits.{name}.{limit}: no such limit; it has: {', '.join(has) or 'none'}"
            for limit in limits
            if limit not in has
        ]
    if problems:
        raise ConfigError(tuple(problems))


def _facts(arms: Arms, spec: GateSpec, state: Path, name: str) -> ResultFacts:
    previous, problem = None, ""
    try:
        previous = newest_other(state, name, _digest(arms))
    except StateError as error:
        problem = str(error)
    return ResultFacts(
        candidate=arms.candidate,
        baseline=arms.baseline,
        previous=previous,
        previous_problem=problem,
        gates=spec.gates,
    )


def _digest(arms: Arms) -> str:
    return f"{arms.candidate.digest}+{arms.baseline.digest if arms.baseline else ''}"


def _with_limits(config: Config, spec: GateSpec) -> Config:
    """Limits of the spec go over those of the configuration."""
    checks = dict(config.checks)
    for name, limits in spec.limits.items():
        known = checks.get(name, CheckOptions())
        checks[name] = replace(known, limits={**known.limits, **limits})
    return replace(config, checks=checks)


def judge_evaluation(
    evaluation: Evaluation, told: Callable[[Judged], None] = lambda _: None
) -> tuple[Judged, ...]:
    """Let every enabled check of the stage look; in order of their names.

    Raises:
        ConfigError: if the spec's ``optional`` names no check.
    """
    results = evaluation.results

    def amended(check: str, verdict: Verdict) -> Verdict:
        return held_back(check, verdict, (results.candidate, results.baseline))

    how = Judging(
        stage=Stage.RESULT,
        config=evaluation.config,
        proofs=evaluation.state / PROOFS,
        optional=evaluation.spec.optional,
        told=told,
        amended=amended,
    )
    return judge_stage(Looking(evaluation).world(), how)


def keep_judgement(evaluation: Evaluation, judged: Sequence[Judged]) -> Path:
    """Keep what was said under the evaluation's name, for the run after it.

    Raises:
        StateError: if it cannot be written, or is over other records than were declared: no later
            run may be held against it.
    """
    results = evaluation.results
    arms = (results.candidate, results.baseline)
    if any(a is not None and a.doubt not in BELIEVED for a in arms):
        raise StateError("it is over other records than were declared")
    base = results.baseline.digest if results.baseline is not None else ""
    record = PreviousResult(
        name=evaluation.name,
        judged_at_s=time.time(),
        digest=f"{results.candidate.digest}+{base}",
        records=len(results.candidate.records),
        candidate=results.candidate.instrument,
        baseline=results.baseline.instrument if results.baseline is not None else None,
        outcomes={str(j.view.check): str(j.view.reason) for j in judged},
        figures={
            str(j.view.check): {n: f.value for n, f in j.view.figures.items()} for j in judged
        },
    )
    return keep(evaluation.state, record)
