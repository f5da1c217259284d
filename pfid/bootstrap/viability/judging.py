"""Lets every viability check look at a base model."""

from dataclasses import dataclass, replace
from typing import Final

from pfid.bootstrap.stage_judging import Judged, Judging, judge_stage, ready
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.world import candidate_world
from pfid.config.model import Config
from pfid.domain.model import FUSING
from pfid.domain.training_plan import Plan
from pfid.spec.check import Stage
from pfid.spec.engine_answers import ENGINE_REMEDIES
from pfid.spec.model_answers import MODEL_REMEDIES
from pfid.spec.ports.viability import ModelFacts
from pfid.spec.world import World

PROOFS: Final = "viability-proofs.json"

__all__ = ["Candidacy", "Judged", "judge_candidate", "ready"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidacy:
    """A base model as it was judged.

    Attributes:
        judged: the verdicts in order of their names.
        facts: what the model's files say.
        plan: of the training, with what the training interpreter answered about it.
    """

    judged: tuple[Judged, ...]
    facts: ModelFacts
    plan: Plan


def judge_candidate(candidate: Candidate, config: Config) -> Candidacy:
    """Let them look."""
    world = candidate_world(candidate)
    how = Judging(
        stage=Stage.VIABILITY,
        config=config,
        proofs=candidate.state / PROOFS,
        remedies={**MODEL_REMEDIES, **ENGINE_REMEDIES},
    )
    judged = judge_stage(world, how)
    return Candidacy(judged=judged, facts=world.model.facts(), plan=_answered(world))


def _answered(world: World) -> Plan:
    """The kernels of recurrent layers are asked for once, by the checks; of others nobody asks."""
    plan, shape = world.plan.facts(), world.model.facts().shape
    if shape is None or not shape.count(*FUSING):
        return plan
    return replace(plan, fused=world.kernels.facts().fused)
