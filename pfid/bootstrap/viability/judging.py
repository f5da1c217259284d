"""Lets every viability check look at a base model."""

from typing import Final

from pfid.bootstrap.stage_judging import Judged, Judging, judge_stage, ready
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.world import candidate_world
from pfid.config.model import Config
from pfid.spec.check import Stage
from pfid.spec.model_answers import MODEL_REMEDIES
from pfid.spec.ports.viability import ModelFacts

PROOFS: Final = "viability-proofs.json"

__all__ = ["Judged", "judge_candidate", "ready"]


def judge_candidate(candidate: Candidate, config: Config) -> tuple[tuple[Judged, ...], ModelFacts]:
    """The verdicts in order of their names, and what the model's files say."""
    world = candidate_world(candidate)
    how = Judging(
        stage=Stage.VIABILITY,
        config=config,
        proofs=candidate.state / PROOFS,
        remedies=MODEL_REMEDIES,
    )
    return judge_stage(world, how), world.model.facts()
