"""What can still be told of a run that recorded nothing, each claim with its kind of evidence.

Three sources stand in for one recorded field (playbook section 4.3): the source text for what was
requested, a probe of the configuration for what that resolves to, and step times for whether it
survived. None of them is a record, and each says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from pfid.domain.provenance import CodeIdentity
from pfid.domain.repository import GitFacts
from pfid.policy.asked import asked_of

CHANGES_LOST: Final = "the run was launched with changes that no commit held and nobody kept"
COMMIT_LOST: Final = "the commit that was launched is not to be had"
FALLBACK_FACTOR: Final = 3.0
FEW: Final = 5


class Evidence(Enum):
    """What a claim rests on."""

    SOURCE = "source"
    CONFIG_FILE = "config_file"
    CONFIG_PROBE = "config_probe"
    """The installed library, asked now: what it makes of the same request today."""
    STEP_TIMES = "step_times"


class Claim(Enum):
    """What is claimed."""

    REQUESTED = "requested"
    RESOLVED = "resolved"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a source text that gives a setting a value."""

    where: str
    value: Any
    certain: bool
    why: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstructed:
    """One claim.

    Attributes:
        field: of what.
        claim: which column it fills.
        value: None where it cannot be told.
        evidence: what it rests on.
        certain: whether that evidence leaves no other answer.
        where: the places it rests on.
        why: what is missing, or speaks against it.
        contradicts: whether it contradicts what was requested.
    """

    field: str
    claim: Claim
    value: Any
    evidence: Evidence
    certain: bool
    where: tuple[str, ...] = ()
    why: str = ""
    contradicts: bool = False


def requested(field: str, places: Sequence[Place]) -> Reconstructed | None:
    """What source and configuration files ask for; None if they do not speak of the field.

    Certain only where every place of the source is a constant and all say the same.
    """
    source = [place for place in places if place.evidence is Evidence.SOURCE]
    counted = source or list(places)
    if not counted:
        return None
    values = _different(place.value for place in counted)
    doubts = [place.why for place in counted if not place.certain]
    one = len(values) == 1
    why = "" if one else "different places ask for different values"
    return Reconstructed(
        field=field,
        claim=Claim.REQUESTED,
        value=values[0] if one else values,
        evidence=counted[0].evidence,
        certain=one and not doubts,
        where=tuple(place.where for place in counted),
        why=why or (doubts[0] if doubts else ""),
    )


def is_as_launched(now: GitFacts, launched: CodeIdentity) -> bool:
    """Whether a tree with changes is still the one that was launched: commit and changes alike."""
    same = now.commit is not None and now.commit == launched.commit
    return same and now.diff_sha256 is not None and now.diff_sha256 == launched.diff_sha256


def doubted(claim: Reconstructed, why: str) -> Reconstructed:
    """The same claim, not certain, with one more reason."""
    return replace(claim, certain=False, why="; ".join(filter(None, (why, claim.why))))


def resolved(
    asked: Mapping[str, Any], config: Mapping[str, Any], model: Mapping[str, Any] | None,
    versions: str, model_problem: str,
) -> tuple[Reconstructed, ...]:  # fmt: skip
    """What the installed library makes of the request now, for the model and all below it.

    Args:
        asked: requested values, by field.
        config: what the configuration says.
        model: what an empty model of it settled on; None if none could be made.
        versions: of the libraries that answered.
        model_problem: why there is no model.
    """
    found = config if model is None else {**config, **model}
    doubt = f"no empty model could be made: {model_problem}" if model is None else ""
    claims = []
    for name, value in found.items():
        want = asked_of(name, asked) if value is not None else None
        differs = want is not None and want != value
        why = f"{want} was requested" if differs else doubt
        claims.append(
            Reconstructed(
                field=name,
                claim=Claim.RESOLVED,
                value=value,
                evidence=Evidence.CONFIG_PROBE,
                certain=model is not None,
                where=(versions,),
                why=why,
                contradicts=differs,
            )
        )
    return tuple(claims)


def survived(
    field: str, steps: Mapping[str, Any], where: tuple[str, ...], expected_s: float | None
) -> Reconstructed:
    """Whether the step times are those of a run that stayed compiled.

    Without an expectation they are told and not judged: a run that was slow from its first step
    looks like a steady one.
    """
    n, p50 = steps.get("n") or 0, steps.get("p50")
    value: bool | None = None
    if n < FEW or not isinstance(p50, int | float):
        why = f"{n} steps are no distribution"
    elif expected_s is None:
        why = "nobody says what a step should take (--expect-step)"
    else:
        value = p50 < FALLBACK_FACTOR * expected_s
        why = f"the median step took {p50:.4g} s, {expected_s:.4g} s was expected"
    return Reconstructed(
        field=field,
        claim=Claim.SURVIVED,
        value=value,
        evidence=Evidence.STEP_TIMES,
        certain=value is not None,
        where=where,
        why=why,
        contradicts=value is False,
    )


def _different(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
