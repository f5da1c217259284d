"""Engines with fixed facts, for controls and tests."""

from dataclasses import replace
from typing import Any, Final

from pfid.domain.model import FeedForward
from pfid.spec.fakes_viability import DENSE, DENSE_LAYER
from pfid.spec.ports.engine import EngineFacts

EXPERTS: Final = FeedForward(experts=128, top_k=8, expert=704)


MOE: Final = replace(DENSE, layers=(replace(DENSE_LAYER, feed=EXPERTS),) * 4)
"""An ordinary model whose every layer has experts."""


def engine(**more: Any) -> EngineFacts:
    """An engine that serves the model with adapters, but for what is given."""
    said: dict[str, Any] = {
        "version": "0.33.0",
        "class_name": "ControlForCausalLM",
        "order": ("ControlForCausalLM", "SupportsLoRA"),
    }
    return EngineFacts(**{**said, **more})
