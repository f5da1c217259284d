"""Fused kernels for the model's class, as the training interpreter has them."""

from collections.abc import Mapping
from typing import Any, Final

from pfid.bootstrap.viability.candidate import Candidate
from pfid.formats.model_config.fields import Fields
from pfid.formats.model_config.nesting import text_part
from pfid.spec.ports.python import PythonAnswer
from pfid.spec.ports.viability import KernelFacts

DEADLINE_S: Final = 60.0


def kernel_facts(candidate: Candidate) -> KernelFacts:
    """Ask."""
    answer = _ask(candidate, want_layers=False)
    if answer.said is None:
        return KernelFacts(problem=answer.problem.value, detail=_last_line(answer.detail))
    said = answer.said
    if said.get("problem"):
        return KernelFacts(
            problem=str(said["problem"]),
            detail=str(said.get("detail", "")),
            transformers=str(said.get("transformers", "")),
        )
    return _facts(said)


def class_layers(candidate: Candidate) -> tuple[str, ...]:
    """Layer types as the model's installed class completes them; empty if nobody can say."""
    said = _ask(candidate, want_layers=True).said if candidate.python else None
    return tuple(str(word) for word in (said or {}).get("layer_types", ()))


def _ask(candidate: Candidate, *, want_layers: bool) -> PythonAnswer:
    raw = candidate.files.config or {}
    whole = Fields(raw)
    kinds = [text_part(whole).text("model_type"), whole.text("model_type")]
    asked = {
        "model_type": [kind for kind in dict.fromkeys(kinds) if kind],
        "config": raw,
        "want_layers": want_layers,
    }
    return candidate.interpreter.ask("hybrid_kernels", asked, deadline_s=DEADLINE_S)


def _facts(said: Mapping[str, Any]) -> KernelFacts:
    return KernelFacts(
        transformers=str(said["transformers"]),
        needed=tuple(str(name) for name in said["needed"]),
        missing=tuple((str(name), str(why)) for name, why in said["missing"]),
        boundaries=said.get("boundaries") is True,
    )


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
