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
