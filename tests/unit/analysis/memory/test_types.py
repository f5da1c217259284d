"""Bounds at real depth by the type of a class alone: no tensor listed, nothing checkpointed."""

import pytest

from pfid.analysis.memory.account import account
from pfid.domain.model import NormKind
from pfid.domain.training_plan import Method, Plan
from pfid.domain.weights import Weights
from pfid.formats.model_config.held import HELD
from pfid.formats.model_config.norms import BY_TYPE
from pfid.formats.model_config.read import read_config

EIGHT = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
TOLD = sorted(
    kind
    for kind, norms in BY_TYPE.items()
    if norms.each and norms.heads is not None and norms.kind is not NormKind.SINGLE and kind in HELD
)
"""Types that were held and tell all; those with a bias say it by their tensors alone."""
LENGTHS = ((1, 4096), (4, 4096), (2, 16384))


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("kind", TOLD)
def test_a_type_alone_is_enough_for_bounds_that_decide(kind, method):
    shape = read_config({**EIGHT, "model_type": kind})
    for rows, sequence in LENGTHS:
        plan = Plan(
            gpu_memory_bytes=1 << 40,
            method=method,
            sequence=sequence,
            micro_batch=rows,
            checkpointing=False,
        )
        found = account(shape, Weights(), plan).peak
        assert found is not None
        low, high = found.whole.low, found.whole.high
        assert (high - low) / (high + low) <= 0.15, (rows, sequence)


def test_types_that_others_met_are_told():
    assert {"ministral3", "apertus", "llama", "qwen3", "gemma3"} <= set(TOLD)
