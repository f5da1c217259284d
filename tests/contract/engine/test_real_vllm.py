"""vLLM's own source, of two generations of its rule, out of its wheels; never imported.

Each answer was read in that source. 0.24.0 asks the class and its children, 0.33.0 walks the
modules; 0.11.0 is older than the rule.
"""

import json
import subprocess
from pathlib import Path

import pytest

from pfid.adapters.source_tree import SourceTree
from pfid.formats.engine_source.engine import EngineSource, EngineSourceError

pytestmark = pytest.mark.full
CHILDREN, WALKS, OLDER = "0.24.0", "0.33.0", "0.11.0"
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "num_hidden_layers": 4,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
}
EXPECTED = {
    # class: configuration, then (mapping, support) in each generation
    "Gemma4ForConditionalGeneration": (
        "gemma",
        ("mapping_missing", "supported"),
        ("mapped", "supported"),
    ),
    "MixtralForCausalLM": ("moe", ("mapped", "supported"), ("mapped", "supported")),
    "MistralForCausalLM": ("dense", ("dense", "supported"), ("dense", "supported")),
    "MistralLarge3ForCausalLM": ("deepseek", ("mapped", "supported"), ("mapped", "supported")),
    "MiMoV2FlashForCausalLM": ("moe", ("mapped", "not_supported"), ("mapped", "not_supported")),
    "GraniteMoeForCausalLM": ("moe", ("mapping_missing", "supported"), ("mapped", "supported")),
    "Phi3SmallForCausalLM": (
        "dense",
        ("dense", "architecture_dropped"),
        ("dense", "architecture_dropped"),
    ),
    "NobodyForCausalLM": ("moe", ("backend_fallback",) * 2, ("backend_fallback",) * 2),
}
CASES = {
    "gemma4-26b-moe-config/config.json": ("mapping_missing", "mapped"),
    "llama4-scout-and-llama31/llama-4-scout.config.json": ("mapped", "mapped"),
    "mixtral-8x22b-index/config.json": ("mapped", "mapped"),
    "mimo-hybrid-is-not-linear/config.json": ("mapped", "mapped"),
    "nemotron-h-pattern-string/nemotron-3-nano.config.json": ("mapped", "mapped"),
    "qwen35-hybrid-configs/qwen3.5-35B-A3B.config.json": ("mapped", "mapped"),
    "qwen35-reap-lfs-pointers/config.json": ("mapped", "mapped"),
    "devstral-params-json/config.json": ("dense", "dense"),
}


@pytest.mark.parametrize("generation", [0, 1], ids=[CHILDREN, WALKS])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_rule_of_the_installed_version_decides(name, generation, vllm, asked, configs):
    kind, *answers = EXPECTED[name]
    config = {**configs, "deepseek": DEEPSEEK}[kind]
    version = (CHILDREN, WALKS)[generation]
    verdicts = asked({**config, "architectures": [name]}, vllm(version))
    got = verdicts["expert_mapping"], verdicts["lora_supported"]
    assert tuple(v.reason for v in got) == answers[generation], [v.evidence for v in got]


@pytest.mark.parametrize("stem", ["mistral", "mistral_large_3"])
@pytest.mark.parametrize("version", [CHILDREN, WALKS])
def test_a_search_of_the_real_file_finds_nothing(stem, version, vllm):
    """Both classes take adapters (see above), by what they inherit."""
    file = vllm(version) / "vllm" / "model_executor" / "models" / f"{stem}.py"
    call = ["grep", "-c", r"SupportsLoRA\|get_expert_mapping", file]
    found = subprocess.run(call, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "0"


def test_the_walk_needs_no_word_in_the_file_either(vllm):
    """Mixtral is mapped in both; the newer file no longer speaks of it."""
    models = Path("vllm") / "model_executor" / "models" / "mixtral.py"
    assert "get_expert_mapping" in (vllm(CHILDREN) / models).read_text()
    assert "get_expert_mapping" not in (vllm(WALKS) / models).read_text()


def test_a_version_older_than_the_rule_is_unknown_with_what_was_seen(vllm, asked, configs):
    config = {**configs["moe"], "architectures": ["MixtralForCausalLM"]}
    verdict = asked(config, vllm(OLDER))["expert_mapping"]
    assert verdict.reason == "rule_unknown"
    assert "0.11.0" in verdict.summary
    assert "has no process_packed_modules_mapping" in "\n".join(verdict.evidence)


FOUND_LATE = {
    # what is served on a CUDA build (mapping, support), and whether other builds serve otherwise
    "DeepseekV32ForCausalLM": ("mapped", "supported", True),  # a file each for CUDA, ROCm, others
    "FlintForCausalLM": ("mapped", "not_supported", False),  # made up when it is asked for
}


@pytest.mark.parametrize("name", FOUND_LATE)
def test_a_class_that_is_chosen_or_made_up_is_told_by_what_the_wheel_was_built_for(
    name, vllm, asked
):
    *reasons, chosen = FOUND_LATE[name]
    verdicts = asked({**DEEPSEEK, "architectures": [name]}, vllm(WALKS))
    got = [verdicts["expert_mapping"], verdicts["lora_supported"]]
    assert [v.reason for v in got] == reasons, [v.evidence for v in got]
    assert ("this build is for cuda" in "\n".join(got[0].evidence)) is chosen


@pytest.mark.parametrize(("version", "open_before"), [(CHILDREN, 5), (WALKS, 23)])
def test_no_class_that_a_package_chooses_or_makes_up_is_left_open(version, open_before, vllm):
    """In the packages that keep a class a platform; without a platform their choices stay open."""
    tree = SourceTree(vllm(version) / "vllm", "vllm")
    plain, cuda = EngineSource("vllm", tree.module), EngineSource("vllm", tree.module, "cuda")
    table = [a for a, (m, _) in plain.registry.classes.items() if m.startswith("vllm.models.")]
    unsettled = [a for a in table if not settled(plain, a)]
    assert len(unsettled) == open_before
    assert [a for a in unsettled if not settled(cuda, a)] == []


def settled(source, architecture):
    try:
        return source.serving([architecture]) is not None
    except EngineSourceError:
        return False


@pytest.mark.field_cases
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("generation", [0, 1], ids=[CHILDREN, WALKS])
def test_field_cases_come_out_as_their_classes_say(case, generation, vllm, asked, field_cases):
    config = json.loads((field_cases / case).read_text())
    verdict = asked(config, vllm((CHILDREN, WALKS)[generation]))["expert_mapping"]
    assert verdict.reason == CASES[case][generation], verdict.evidence


@pytest.mark.parametrize("version", [CHILDREN, WALKS])
def test_only_what_is_needed_is_read(version, vllm, asked, configs, monkeypatch):
    """A few hundred of the tree's thousands of modules, so that an answer takes seconds."""
    read = []
    text = SourceTree._text
    monkeypatch.setattr(SourceTree, "_text", lambda *a: read.append(a[2]) or text(*a))
    asked(configs["gemma"], vllm(version))
    assert 20 < len(set(read)) < 400
    assert len(read) == len(set(read))
