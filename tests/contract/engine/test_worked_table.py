"""The playbook's worked table (3.11), by the shapes as published and an engine of that time."""

import json

import pytest
from click.testing import CliRunner

from pfid.cli.viability import command

GEMMA = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "tie_word_embeddings": True,
    "text_config": {
        "model_type": "gemma4_text",
        "attention_k_eq_v": True,
        "dtype": "bfloat16",
        "enable_moe_block": True,
        "final_logit_softcapping": 30.0,
        "global_head_dim": 512,
        "head_dim": 256,
        "hidden_size": 2816,
        "intermediate_size": 2112,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
        "moe_intermediate_size": 704,
        "num_attention_heads": 16,
        "num_experts": 128,
        "num_global_key_value_heads": 2,
        "num_hidden_layers": 30,
        "num_key_value_heads": 8,
        "sliding_window": 1024,
        "top_k_experts": 8,
        "vocab_size": 262144,
    },
}
SMALL_4 = {
    "architectures": ["MistralLarge3ForCausalLM"],
    "model_type": "mistral4",
    "hidden_size": 4096,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 12288,
    "vocab_size": 131072,
    "q_lora_rank": 1024,
    "kv_lora_rank": 256,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 128,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 2048,
    "n_shared_experts": 1,
    "tie_word_embeddings": False,
}
MINISTRAL = {
    "architectures": ["MistralForCausalLM"],
    "model_type": "mistral",
    "hidden_size": 5120,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 16384,
    "vocab_size": 131072,
    "tie_word_embeddings": False,
}
PUBLISHED = {
    "gemma-4-26b-a4b": (GEMMA, "trainable, merge-only"),
    "mistral-small-4": (SMALL_4, "not trainable here, servable with hot-swap"),
    "ministral-3-14b": (MINISTRAL, "passes all"),
}


@pytest.fixture
def compared(tmp_path, engine, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, (config, _) in PUBLISHED.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))

    def compare(*more):
        place = ("--engine", "vllm", "--engine-path", engine("by_class"))
        plan = ("--gpu-memory", "97.9GiB", "--seq", "16384", "--micro-batch", "2")
        folders = [tmp_path / name for name in PUBLISHED]
        arguments = ["compare", *folders, *plan, *place, *more]
        return CliRunner().invoke(command, [str(argument) for argument in arguments]).stdout

    return compare


def test_each_base_gets_the_verdict_that_was_published(compared):
    found = {m["name"]: m["conclusion"] for m in json.loads(compared("--json"))["models"]}
    assert found == {name: verdict for name, (_, verdict) in PUBLISHED.items()}


def test_the_table_is_the_playbooks_a_row_a_base(compared):
    lines = compared().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("BASE"))
    head, *rows = lines[begin : begin + len(PUBLISHED) + 1]
    assert all(word in head for word in ("BASE", "FITS", "MOE MAPPING", "LORA", "VERDICT"))
    for row, (name, (_, verdict)) in zip(rows, PUBLISHED.items(), strict=True):
        assert row.split()[0] == name
        assert verdict in row
    assert "FAIL mapping_missing" in rows[0]
    assert "FAIL weights_do_not_fit" in rows[1]
    assert "n/a dense" in rows[2]
