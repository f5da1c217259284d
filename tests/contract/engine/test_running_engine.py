"""What its source says is confirmed by the engine itself, imported in its own interpreter."""

import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.torch]


@pytest.fixture
def installed(engine, monkeypatch):
    """An engine that this interpreter would import."""

    def install(kind, **changes):
        place = engine(kind, **changes)
        monkeypatch.setenv("PYTHONPATH", str(place))
        return place

    return install


def mistral(configs):
    return {**configs["dense"], "architectures": ["MistralForCausalLM"]}


def test_the_source_is_found_and_confirmed_by_the_running_engine(installed, asked, configs):
    installed("by_walk")
    verdict = asked(mistral(configs), python=sys.executable)["lora_supported"]
    assert verdict.reason == "supported"
    assert "vLLM 0.33.0; MistralForCausalLM" in verdict.summary
    assert "imported and says the same" in "\n".join(verdict.evidence)


def test_an_engine_that_cannot_be_imported_is_told_from_its_source(installed, asked, configs):
    text = "raise OSError('libcudart.so.13: cannot open')\n"
    installed("by_class", **{"plugins/__init__": text})
    verdicts = asked(configs["gemma"], python=sys.executable)
    assert verdicts["expert_mapping"].reason == "mapping_missing"
    text = "\n".join(verdicts["expert_mapping"].evidence)
    assert "it was not imported: OSError: libcudart.so.13" in text


def test_an_engine_that_says_otherwise_is_unknown(installed, asked, configs):
    place = installed("by_walk")
    file = place / "vllm" / "model_executor" / "models" / "mistral.py"
    file.write_text(
        file.read_text()
        + "\nglobals()['MistralForCausalLM'] = type('MistralForCausalLM', (), {})\n"
    )
    verdict = asked(mistral(configs), python=sys.executable)["lora_supported"]
    assert verdict.reason == "engine_contradicts"
    assert "says otherwise" in "\n".join(verdict.evidence)


def large(configs):
    return {**configs["moe"], "architectures": ["MistralLarge3ForCausalLM"]}


@pytest.mark.parametrize(
    ("kind", "giver"), [("by_class", "MistralLarge3ForCausalLM"), ("by_walk", "RoutedExperts")]
)
def test_the_names_of_experts_are_confirmed_by_the_class_that_gives_them(
    installed, asked, configs, kind, giver
):
    installed(kind)
    config = large(configs) if kind == "by_class" else configs["gemma"]
    verdict = asked(config, python=sys.executable)["expert_mapping"]
    assert verdict.reason == "mapped"
    confirmed = next(line for line in verdict.evidence if "says the same" in line)
    assert confirmed.endswith(f"adapters True, names of experts from {giver}")


GONE = """
def load_general_plugins():
    from {module} import {owner}
    del {owner}.get_expert_mapping
"""
GAINED = """
def load_general_plugins():
    from vllm.model_executor.models.gemma4 import Gemma4ForConditionalGeneration as found
    found.get_expert_mapping = lambda self: [("experts.w13_", "experts.0.gate_proj.", 0, "w1")]
"""


@pytest.mark.parametrize(
    ("kind", "module", "owner"),
    [
        ("by_class", "vllm.model_executor.models.deepseek", "DeepseekV2ForCausalLM"),
        ("by_walk", "vllm.model_executor.layers.fused_moe.routed_experts", "RoutedExperts"),
    ],
)
def test_an_engine_that_loses_the_names_of_experts_when_it_loads_is_unknown(
    installed, asked, configs, kind, module, owner
):
    installed(kind, **{"plugins/__init__": GONE.format(module=module, owner=owner)})
    config = large(configs) if kind == "by_class" else configs["gemma"]
    verdict = asked(config, python=sys.executable)["expert_mapping"]
    assert verdict.reason == "engine_contradicts"
    assert "says otherwise" in "\n".join(verdict.evidence)


def test_an_engine_that_gains_the_names_of_experts_when_it_loads_is_unknown(
    installed, asked, configs
):
    installed("by_class", **{"plugins/__init__": GAINED})
    verdict = asked(configs["gemma"], python=sys.executable)["expert_mapping"]
    assert verdict.reason == "engine_contradicts"


def test_plugins_are_believed_where_the_engine_has_loaded_them(installed, asked, configs):
    place = installed("by_walk")
    told = place / "other-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[vllm.general_plugins]\nown = other:register\n")
    verdict = asked(mistral(configs), python=sys.executable)["lora_supported"]
    assert verdict.reason == "supported"
    file = place / "vllm" / "plugins" / "__init__.py"
    file.write_text("raise ImportError('no driver')\n")
    verdict = asked(mistral(configs), python=sys.executable)["lora_supported"]
    assert verdict.reason == "plugins_may_replace"
    assert "other: own" in "\n".join(verdict.evidence)


def test_an_interpreter_without_the_engine_is_unknown(asked, configs):
    verdict = asked(mistral(configs), python=sys.executable)["lora_supported"]
    assert verdict.reason == "engine_not_found"


def test_an_interpreter_that_is_not_there_is_unknown(asked, configs, tmp_path):
    verdict = asked(mistral(configs), python=tmp_path / "python")["lora_supported"]
    assert verdict.reason == "python_not_found"
