"""Did the flag take: a run's requested implementation held against what its trace launched.

Source: playbook 3.7. A trace of a run that was launched without the flag says what the default
does and nothing about the flag. Output that is bit for bit that of another backend says nothing
either: it is the same work behind another launcher, or a flag that never took. Launches tell.
"""

from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.kernel_launches import Attention, Experts, Launches
from pfid.domain.outcome import Outcome

ATTENTION: Final = "attn_implementation"
EXPERTS: Final = "experts_implementation"
FLAGS: Final = (ATTENTION, EXPERTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagTaken:
    """One flag.

    Attributes:
        field: its name in the manifest.
        requested: what the run was launched with; None if it was launched without the flag.
        outcome: PASS it took, FAIL it did not, UNKNOWN this trace cannot tell.
        reason: ``took``, ``did_not_take``, ``launched_without``, ``cannot_tell``.
        text: in words.
    """

    field: str
    requested: Any
    outcome: Outcome
    reason: str
    text: str


def flag_taken(field: str, requested: Any, launches: Launches) -> FlagTaken:
    """Judge one flag by what was launched.

    Args:
        field: one of FLAGS.
        requested: of the manifest; None if nobody asked for anything.
        launches: of the trace; it has device rows.
    """
    if requested is None:
        return _unknown(
            field,
            None,
            "launched_without",
            f"the run was launched without {field}: the trace says what the default did, and "
            "nothing about the flag",
        )
    if field == ATTENTION:
        took, seen = _attention(str(requested), launches), launches.attention.value
    else:
        took, seen = _experts(str(requested), launches), launches.experts.value
    seen = seen.replace("_", " ")
    if took is None:
        return _unknown(
            field,
            requested,
            "cannot_tell",
            f"{field} = {requested}: what was launched ({seen}) cannot tell whether it took",
        )
    return FlagTaken(
        field=field,
        requested=requested,
        outcome=Outcome.PASS if took else Outcome.FAIL,
        reason="took" if took else "did_not_take",
        text=f"{field} = {requested} {'took' if took else 'did not take'}: launched was {seen}",
    )


def unbound(field: str, requested: Any, why: str) -> FlagTaken:
    """A trace that is not known to be the run's says nothing about its flags."""
    return _unknown(field, requested, "cannot_tell", f"{field}: {why}")


def _unknown(field: str, requested: Any, reason: str, text: str) -> FlagTaken:
    return FlagTaken(
        field=field, requested=requested, outcome=Outcome.UNKNOWN, reason=reason, text=text
    )


def _attention(requested: str, launches: Launches) -> bool | None:
    """None where the same launches come of more than one implementation."""
    went = launches.attention
    if went is Attention.NONE:
        return None
    if requested == "flex_attention" or went is Attention.FLEX:
        return requested == "flex_attention" and went is Attention.FLEX
    if requested == "eager":
        return went is Attention.UNFUSED
    if requested.startswith("flash_attention"):
        return any(family.startswith("flash") for family in launches.families)
    if requested == "sdpa":  # its math backend launches what eager does
        return True if went is Attention.FUSED else None
    return None


def _experts(requested: str, launches: Launches) -> bool | None:
    ran = launches.experts
    if ran is Experts.NONE:
        return None
    if requested == "grouped_mm":
        return ran is Experts.GROUPED
    if requested in {"eager", "batched_mm"}:
        return False if ran is Experts.GROUPED else None
    return None
