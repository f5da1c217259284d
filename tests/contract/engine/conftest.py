"""Small engines of our own, shaped as the two generations of the real one, and the real one."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "parts"))  # what these tests share

from pfid_plugins.viability import expert_mapping, lora_supported
from small_engine import write_engine
from vllm_wheel import source_of

from pfid.bootstrap.viability.candidate import Candidate, NamedEngine
from pfid.bootstrap.viability.world import candidate_world
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_viability import PLAN

CHECKS = [*expert_mapping.pfid_checks(), *lora_supported.pfid_checks()]

GEMMA = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {
        "model_type": "gemma4_text",
        "hidden_size": 2816,
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 256,
        "intermediate_size": 2112,
        "vocab_size": 262144,
        "enable_moe_block": True,
        "num_experts": 128,
        "top_k_experts": 8,
        "moe_intermediate_size": 704,
        "tie_word_embeddings": True,
    },
}
DENSE = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 4,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
MOE = {**DENSE, "num_local_experts": 8, "num_experts_per_tok": 2}


@pytest.fixture
def engine(tmp_path):
    """Write a small engine: by its class or by a walk, with files changed as given."""

    def make(kind, **changes):
        return write_engine(tmp_path / kind, kind, changes)

    return make


@pytest.fixture(scope="session")
def vllm():
    """The real engine's source of a version, out of its wheel; kept between runs."""
    return source_of


@pytest.fixture(scope="session")
def field_cases(checkout):
    """Where configurations of other projects lie."""
    return checkout.parent / "shared" / "cases"


@pytest.fixture
def asked(tmp_path):
    """Ask an engine about a configuration; verdicts by check."""

    def ask(config, path=None, python="", adapter=None):
        file = tmp_path / "config.json"
        file.write_text(json.dumps(config))
        named = NamedEngine(name="vllm", path=path, python=str(python), adapter=adapter)
        world = candidate_world(Candidate(paths=(file,), plan=PLAN, engine=named))
        return {check.name: run_check(check, world) for check in CHECKS}

    return ask


@pytest.fixture
def configs():
    """Configurations by what they are."""
    return {"gemma": GEMMA, "dense": DENSE, "moe": MOE}
