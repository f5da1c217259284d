"""The world of a base model: every subject is looked at when a check asks for it, and once."""

import os
from dataclasses import replace

from pfid.adapters.clocks import SystemClock
from pfid.bootstrap.preflight.world import LookedAtOnce
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.engine import engine_facts
from pfid.bootstrap.viability.kernels import kernel_facts
from pfid.bootstrap.viability.model import model_facts
from pfid.bootstrap.viability.recipe import recipe_facts
from pfid.bootstrap.viability.served import served_facts
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.fakes_facts import FixedFacts
from pfid.spec.ports.served import ServedFacts
from pfid.spec.world import World


def candidate_world(candidate: Candidate) -> World:
    """Return the world; nothing is looked at yet but the model's files."""
    model = LookedAtOnce(lambda: model_facts(candidate))
    return World(
        subject=Entity(EntityKind.MODEL, candidate.name),
        clock=SystemClock(),
        model=model,
        plan=FixedFacts(candidate.plan),
        recipe=LookedAtOnce(lambda: recipe_facts(candidate, model.facts())),
        engine=LookedAtOnce(lambda: engine_facts(candidate, model.facts())),
        kernels=LookedAtOnce(lambda: kernel_facts(candidate)),
        served=LookedAtOnce(lambda: _served(candidate)),
        lineage=FixedFacts(None),
        changed=FixedFacts(None),
    )


def _served(candidate: Candidate) -> ServedFacts | None:
    shape = candidate.served_as
    if shape is None:
        return None
    named = candidate.engine.python if candidate.engine is not None else ""
    named = os.path.abspath(named) if "/" in named else named  # noqa: PTH100 - a link is kept
    facts = served_facts(candidate.paths, shape, candidate.environ, named)
    return replace(facts, declared=bool(candidate.serve))
