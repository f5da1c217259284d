"""An engine is named whole or not at all."""

import json

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 512,
}


@pytest.fixture
def viability(tmp_path):
    model = tmp_path / "config.json"
    model.write_text(json.dumps(CONFIG))

    def run(*options):
        call = ["viability", str(model), "--gpu-memory", "96GiB", "--json", *map(str, options)]
        return CliRunner().invoke(main, call)

    return run


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", "vllm"),
        ("--engine", "vllm", "--engine-python", "python3", "--engine-path", "."),
        ("--engine-python", "python3"),
        ("--engine-path", "."),
        ("--adapter", "."),
        ("--engine", "sglang", "--engine-path", "."),
        ("--engine", "vllm", "--engine-path", "/nowhere/at/all"),
    ],
)
def test_an_engine_named_by_halves_is_a_usage_error(options, viability):
    result = viability(*options)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_without_an_engine_nothing_of_it_is_judged(viability):
    found = {v["check"]: v for v in json.loads(viability().stdout)["verdicts"]}
    assert found["lora_supported"]["reason"] == "no_engine"
    assert found["expert_mapping"]["reason"] == "dense"


def test_a_folder_without_an_engine_is_said(viability, tmp_path):
    result = viability("--engine", "vllm", "--engine-path", tmp_path)
    found = {v["check"]: v for v in json.loads(result.stdout)["verdicts"]}
    assert found["lora_supported"]["reason"] == "engine_not_found"
    assert str(tmp_path) not in found["lora_supported"]["summary"]
