"""Lets the checks of weights look at a merge, and records which base an adapter was made on."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.clocks import SystemClock
from pfid.adapters.process_identity import machine_id
from pfid.adapters.weight_identities import identity_of, read_identity, write_identity
from pfid.bootstrap.preflight.world import LookedAtOnce
from pfid.bootstrap.stage_judging import Judged, Judging, judge_stage
from pfid.bootstrap.viability.changed import changed_facts
from pfid.bootstrap.viability.lineage import lineage_facts
from pfid.bootstrap.viability.merge import Merge
from pfid.config.model import Config
from pfid.config.paths import user_state_dir
from pfid.domain.errors import StateError
from pfid.domain.verdict import Entity, EntityKind
from pfid.domain.weight_identity import WeightIdentity
from pfid.spec.check import Stage
from pfid.spec.world import World
from pfid.wire.weight_identity import BESIDE

CHECKS: Final = ("merge_target_is_training_base", "targets_changed")
PROOFS: Final = "merge-proofs.json"


def judge_merge(merge: Merge, config: Config) -> tuple[Judged, ...]:
    """The verdicts of both checks."""
    world = World(
        subject=Entity(EntityKind.MODEL, merge.name),
        clock=SystemClock(),
        lineage=LookedAtOnce(lambda: lineage_facts(merge)),
        changed=LookedAtOnce(lambda: changed_facts(merge)),
    )
    proofs = user_state_dir(merge.environ, machine_id()) / PROOFS
    how = Judging(stage=Stage.VIABILITY, config=config, proofs=proofs, only=CHECKS)
    return judge_stage(world, how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A base that stands beside an adapter now.

    Attributes:
        file: the record.
        identity: what it holds.
        stood: whether the same stood there already.
    """

    file: Path
    identity: WeightIdentity
    stood: bool


def record_base(base: Path, adapter: Path, *, full: bool, say: Callable[[str], None]) -> Recorded:
    """Write beside an adapter which weights its base holds; a record is never replaced by another.

    Raises:
        WeightsError: if the base cannot be read whole.
        StateError: if another base is recorded there, or the record cannot be written.
    """
    folder = adapter if adapter.is_dir() else adapter.parent
    file = Path(os.path.abspath(folder)) / BESIDE  # noqa: PTH100 - a link is not followed
    standing = read_identity(file)
    identity = identity_of((base,), full=full, say=say)
    if standing is not None:
        sampled = _samples(standing) == _samples(identity)
        if not sampled:
            raise StateError(
                f"{file} records another base ({standing.name}); if that is wrong, move it away"
            )
        if standing.full or not full:
            return Recorded(file=file, identity=standing, stood=True)
    write_identity(file, identity)
    return Recorded(file=file, identity=identity, stood=False)


def _samples(identity: WeightIdentity) -> dict[str, tuple[str, tuple[int, ...], str]]:
    return {name: (t.dtype, t.shape, t.sample) for name, t in identity.tensors.items()}
