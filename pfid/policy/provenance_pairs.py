"""Which consequence shows that a configured value took effect, and when the two contradict.

A field that records a configured value is a claim about intent; a second field that records an
observed consequence can fail, and the pairing is the check (playbook section 4.3). A rule here says
only what cannot be otherwise: a consequence that is merely odd contradicts nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Rule = Callable[[Any, Any], str]
"""From the configured and the observed value to why they contradict, "" if they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRule:
    """One configured field and what shows its consequence.

    Attributes:
        observed: the field that shows it; "" where there is nothing to show.
        contradicts: see Rule.
        hint: how to have it observed.
    """

    observed: str
    contradicts: Rule
    hint: str


def _differs(configured: Any, observed: Any) -> str:
    if observed is None:
        return "the process that looked found none"
    return "" if observed == configured else "another value was observed"


def _longer_than_asked(configured: Any, observed: Any) -> str:
    longest = _number(observed, "longest", "max")
    if isinstance(configured, int | float) and longest is not None and longest > configured:
        return f"a sequence of {longest:g} was seen where {configured:g} is the limit"
    return ""


def _mask_without_effect(configured: Any, observed: Any) -> str:
    delta = _number(observed, "delta", "loss")
    if configured and delta == 0:
        return "not one loss token is masked"
    return ""


def _quantized_or_not(configured: Any, observed: Any) -> str:
    count = _number(observed, "quantized", "count", "n")
    if count is None:
        return ""
    if configured and count == 0:
        return "no tensor is quantised"
    if configured is False and count > 0:
        return f"{count:g} tensors are quantised"
    return ""


def _adapter_untrained(configured: Any, observed: Any) -> str:
    if not configured:
        return ""
    n, zero = _number(observed, "n"), _number(observed, "zero")
    if isinstance(observed, Mapping) and n is not None and zero is not None:
        return _counted_norms(observed, n, zero)
    return _norms(list(_numbers(observed)))


def _counted_norms(observed: Mapping[str, Any], n: float, zero: float) -> str:
    """What ``pfid.trainer.observe_adapter`` tells: counts among the norms are no norms."""
    if n == 0:
        return "no adapter was found: there is no lora_B"
    if n == zero:
        return _norms([0.0])
    lost = [math.nan] if _number(observed, "not_finite") else []
    return _norms([*lost, *_numbers([observed.get("min"), observed.get("max")])])


def _norms(norms: Sequence[float]) -> str:
    if any(not math.isfinite(norm) for norm in norms):
        return "a norm of the adapter is not finite"
    if norms and all(norm == 0 for norm in norms):
        return "every norm of the adapter is zero: nothing was trained"
    return ""


def _decision(configured: Any, observed: Any) -> str:
    del configured, observed
    return ""


_ADAPTER: Final = PairRule(
    observed="adapter.norm",
    contradicts=_adapter_untrained,
    hint="observe the norms of lora_B after training",
)
RULES: Final[Mapping[str, PairRule]] = {
    "max_seq_len": PairRule(
        observed="truncation",
        contradicts=_longer_than_asked,
        hint="observe how many records were cut and the longest that was not",
    ),
    "mask.sha256": PairRule(
        observed="tokens.loss_delta",
        contradicts=_mask_without_effect,
        hint="observe by how many loss tokens the masked encoding differs from the unmasked one",
    ),
    "quantized_base": PairRule(
        observed="quantized_tensors",
        contradicts=_quantized_or_not,
        hint="observe how many tensors of the loaded base are quantised",
    ),
    "template.sha256": PairRule(
        observed="template.sha256",
        contradicts=_differs,
        hint="observe, in the worker, the sha256 of the template its tokenizer carries",
    ),
    "adapter.rank": _ADAPTER,
    "adapter.alpha": _ADAPTER,
    "adapter.targets": _ADAPTER,
    "eligibility_override": PairRule(
        observed="", contradicts=_decision, hint="its consequence is a decision, not a measurement"
    ),
}
"""The playbook's own table. What stands in no rule is paired with an observation of its name."""
BY_NAME: Final = PairRule(
    observed="", contradicts=_differs, hint="observe it by the same name, in another process"
)


def rule_of(name: str, expected: Mapping[str, str]) -> PairRule:
    """The rule of a field: the spec's pair where it names one, pfid's, or by its own name."""
    if name in expected:
        known = RULES.get(name)
        same = known is not None and known.observed == expected[name]
        contradicts = known.contradicts if known is not None and same else _decision
        if expected[name] == name:
            contradicts = _differs
        return PairRule(
            observed=expected[name], contradicts=contradicts, hint=f"observe {expected[name]}"
        )
    if name in RULES:
        return RULES[name]
    return PairRule(observed=name, contradicts=BY_NAME.contradicts, hint=BY_NAME.hint)


def _number(value: Any, *keys: str) -> float | None:
    """A number that stands alone or under one of the keys."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in keys if key in value), None)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and value is not None else None


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner)
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and value.lower() in {"nan", "inf", "-inf"}
    ):
        yield float(value)
