"""Did the flag take: a run's requested implementation held against what its trace launched.

Source: playbook 3.7. A trace of a run that was launched without the flag says what the default
does and nothing about the flag. Output that is bit for bit that of another backend says nothing
either: it is the same work behind another launcher, or a flag that never took. Launches tell.
"""

from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.attention_families import EAGER, IMPLEMENTATIONS, SDPA, implementation_of
from pfid.analysis.kernel_launches import Attention, Experts, Launches
from pfid.domain.outcome import Outcome

ATTENTION: Final = "attn_implementation"
EXPERTS: Final = "experts_implementation"
FLAGS: Final = (ATTENTION, EXPERTS)
SDPA_CALLS: Final = frozenset(
    f"aten::_scaled_dot_product_{way}"
    for way in ("attention_math", "cudnn_attention", "efficient_attention", "flash_attention")
)
SDPA_MATH: Final = "aten::_scaled_dot_product_attention_math"
SOFTMAX: Final = "aten::_softmax"
SAFE_SOFTMAX: Final = "aten::_safe_softmax"
GROUPED_CALLS: Final = frozenset({"aten::_grouped_mm", "aten::_scaled_grouped_mm"})
UNNAMED_MAX: Final = 0.1
"""Share of device time in kernels of no known family, one of which may be attention's."""


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


def flag_taken(field: str, requested: Any, launches: Launches, unread: str = "") -> FlagTaken:
    """Judge one flag by what was launched.

    Args:
        field: one of FLAGS.
        requested: of the manifest; None if nobody asked for anything.
        launches: of the trace; it has device rows.
        unread: why not all of the trace was read: what rests on launches that were not seen is
            not told then; empty if it was.
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
        took, seen = _attention(requested, launches), _attention_seen(launches)
    else:
        took, seen = _experts(str(requested), launches), launches.experts.value.replace("_", " ")
    if took is None:
        return _unknown(
            field,
            requested,
            "cannot_tell",
            f"{field} = {requested}: what was launched ({seen}) cannot tell whether it took",
        )
    if unread and not _shown(field, requested, launches):
        return _unknown(
            field,
            requested,
            "cannot_tell",
            f"{field} = {requested}: what was launched as far as it was read ({seen}) cannot tell "
            f"whether it took: {unread}",
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


def _shown(field: str, requested: Any, launches: Launches) -> bool:
    """Whether the launches seen show it, whatever else was launched.

    Kernels that only the implementation launches show that it took, and that another one ran says
    nothing of its own. A grouped kernel does not rule the fallback out; either rules the loop out.
    """
    if field == EXPERTS:
        return launches.experts is Experts.FALLBACK or requested != "grouped_mm"
    known = implementation_of(requested)
    if known is None:
        return False
    name, one = known
    others = frozenset() if name == SDPA else IMPLEMENTATIONS[SDPA].shared
    return bool(launches.attention_families & one.own - others)


def _attention_seen(launches: Launches) -> str:
    """What was launched, in words: the families, or what stands for them."""
    families = sorted(launches.attention_families)
    if not families:
        return launches.attention.value.replace("_", " ")
    return ", ".join(f"{name} ({launches.families.get(name, 0):,})" for name in families)


def _attention(requested: Any, launches: Launches) -> bool | None:
    """None where the same launches come of more than one implementation."""
    known, seen = implementation_of(requested), launches.attention_families
    if known is None:
        return None
    name, one = known
    if not seen:
        return _unfused(name, launches)
    own, foreign = seen & one.own, seen - one.own - one.shared
    if own:
        return None if foreign or (name != SDPA and _by_sdpa(own, launches)) else True
    if seen & one.shared:
        return None
    beside = name == EAGER and launches.families.get("softmax")  # of another part of the model
    return None if beside else False


def _by_sdpa(own: frozenset[str], launches: Launches) -> bool:
    """Whether SDPA may have launched what is another's: it can be told to."""
    sdpa = IMPLEMENTATIONS[SDPA]
    swapped = own <= sdpa.shared and not launches.attention_families & sdpa.own
    return swapped and _called(launches, SDPA_CALLS) > 0


def _unfused(name: str, launches: Launches) -> bool | None:
    """No attention kernel was launched, or none whose name is known."""
    if launches.attention is not Attention.UNFUSED:
        return None
    by_sdpa, plain = _called(launches, SDPA_CALLS), _plain_softmaxes(launches)
    if by_sdpa:
        both = name == EAGER and plain > 0  # of two parts of the model
        return None if both else name == SDPA
    if launches.unnamed_share >= UNNAMED_MAX:
        return None
    if name not in {EAGER, SDPA}:
        return False
    # SDPA's math backend launches the same: only the host's own operators part them.
    return name == EAGER if plain > 0 else None


def _plain_softmaxes(launches: Launches) -> int:
    """Calls that neither SDPA's unfused way made, nor an uncompiled flex attention.

    Both call ``_safe_softmax`` where anything is masked, and that calls ``_softmax``.
    """
    called = launches.operators.get
    inner = max(called(SAFE_SOFTMAX, 0), called(SDPA_MATH, 0))
    return max(0, called(SOFTMAX, 0) - inner)


def _called(launches: Launches, operators: frozenset[str]) -> int:
    return sum(launches.operators.get(name, 0) for name in operators)


def _experts(requested: str, launches: Launches) -> bool | None:
    ran = launches.experts
    if ran is Experts.NONE:
        return None
    if requested == "grouped_mm":
        # Called, and nothing grouped known by name: torch's own loop, or a kernel with a new name.
        called = ran is Experts.ORDINARY and _called(launches, GROUPED_CALLS)
        return None if called else ran is Experts.GROUPED
    if requested in {"eager", "batched_mm"}:
        return None if ran is Experts.ORDINARY else False
    if requested == "deepgemm":
        return True if launches.families.get("deep_gemm") else None
    return None
