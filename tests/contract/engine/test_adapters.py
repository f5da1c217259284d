"""Names of real adapter files against the modules that an engine's constructors build."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from pfid.adapters.adapter_files import NAME

pytestmark = pytest.mark.full


@pytest.fixture
def adapter(tmp_path):
    """Write an adapter on modules, as PEFT names its weights."""

    def write(*modules, ends=("lora_A.weight", "lora_B.weight"), prefix="base_model.model."):
        place = tmp_path / "adapter"
        place.mkdir(exist_ok=True)
        keys = [f"{prefix}{module}.{end}" for module in modules for end in ends]
        save_file({key: np.zeros((2, 2), np.float32) for key in keys}, place / NAME)
        return place

    return write


def llama(configs):
    return {**configs["dense"], "architectures": ["LlamaForCausalLM"]}


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        (["model.layers.0.self_attn.q_proj", "model.layers.3.self_attn.o_proj"], "adapter_binds"),
        (["lm_head"], "adapter_binds"),
        (["layers.0.self_attn.q_proj"], "adapter_does_nothing"),
        (["model.language_model.layers.0.self_attn.q_proj"], "adapter_does_nothing"),
        (["model.layers.0.self_attn.q_proj", "layers.1.self_attn.q_proj"], "adapter_in_part"),
        (["model.layers.0.self_attn.qkv_proj"], "adapter_refused"),
        (["model.layers.0.self_attn.unheard_of"], "adapter_refused"),
        (["model.layers.0.o_proj"], "adapter_does_nothing"),
    ],
)
def test_a_weight_binds_by_its_whole_path(modules, reason, engine, asked, adapter, configs):
    verdict = asked(llama(configs), engine("by_class"), adapter=adapter(*modules))["lora_supported"]
    assert verdict.reason == reason, verdict.evidence


def test_a_packed_name_is_refused_even_where_not_every_module_is_seen(
    engine, asked, adapter, configs
):
    place = engine("by_class")
    file = place / "vllm" / "model_executor" / "models" / "llama.py"
    text = file.read_text().replace("self.lm_head = ParallelLMHead()", "self.other = made()")
    file.write_text(f"from vllm.unwritten import made\n{text}")
    packed = adapter("model.layers.0.self_attn.qkv_proj")
    assert (
        asked(llama(configs), place, adapter=packed)["lora_supported"].reason == "adapter_refused"
    )
    strange = adapter("model.layers.0.self_attn.strange")
    verdict = asked(llama(configs), place, adapter=strange)["lora_supported"]
    assert verdict.reason == "adapter_does_nothing"


def test_weights_are_counted_by_module_and_shown(engine, asked, adapter, configs):
    place = adapter("model.layers.0.self_attn.q_proj", "layers.1.self_attn.q_proj")
    verdict = asked(llama(configs), engine("by_class"), adapter=place)["lora_supported"]
    assert (verdict.figures["bound"].value, verdict.figures["nowhere"].value) == (1, 1)
    text = "\n".join(verdict.evidence)
    assert "nowhere: layers.1.self_attn.q_proj -> layers.1.self_attn.q_proj" in text
    assert "packed into qkv_proj" in text


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("model.language_model.layers.0.q_proj", "adapter_binds"),
        ("language_model.model.layers.0.q_proj", "adapter_binds"),
        ("model.layers.0.q_proj", "adapter_does_nothing"),
        ("model.vision_tower.q_proj", "adapter_does_nothing"),
        ("model.language_model.layers.0.experts.3.gate_proj", "adapter_binds"),
    ],
)
def test_prefixes_are_renamed_by_the_classs_own_mapper(
    module, reason, engine, asked, adapter, configs
):
    verdict = asked(configs["gemma"], engine("by_walk"), adapter=adapter(module))["lora_supported"]
    assert verdict.reason == reason, verdict.evidence


def test_a_tower_gets_no_adapters_and_it_is_said(engine, asked, adapter, configs):
    place = adapter("model.vision_tower.q_proj", "model.language_model.layers.0.q_proj")
    verdict = asked(configs["gemma"], engine("by_walk"), adapter=place)["lora_supported"]
    assert verdict.reason == "adapter_in_part"
    assert "adapters go to language_model alone" in "\n".join(verdict.evidence)


def test_a_mapper_that_is_computed_leaves_the_adapter_unknown(engine, asked, adapter, configs):
    place = engine("by_walk")
    file = place / "vllm" / "model_executor" / "models" / "gemma4.py"
    text = file.read_text().replace(
        "hf_to_vllm_mapper = WeightsMapper(", "hf_to_vllm_mapper = made("
    )
    file.write_text(f"from vllm.unwritten import made\n{text}")
    given = adapter("model.language_model.layers.0.q_proj")
    verdict = asked(configs["gemma"], place, adapter=given)["lora_supported"]
    assert verdict.reason == "adapter_unseen"


@pytest.mark.parametrize(
    "ends",
    [("lora_A.default.weight",), ("lora_magnitude_vector",), ("weight",), ("lora_A.bias",)],
)
def test_weights_that_the_engine_has_no_word_for_are_refused(ends, engine, asked, adapter, configs):
    place = adapter("model.layers.0.self_attn.q_proj", ends=ends)
    verdict = asked(llama(configs), engine("by_class"), adapter=place)["lora_supported"]
    assert verdict.reason == "adapter_refused"


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda _: None, "adapter_missing"),
        (lambda f: (f / "adapter_model.bin").write_bytes(b"pickled"), "adapter_unreadable"),
        (lambda f: (f / NAME).write_bytes(b"\x08"), "adapter_unreadable"),
        (lambda f: (f / NAME).write_bytes(b"\xff" * 64), "adapter_unreadable"),
        (lambda f: (f / NAME).mkdir(), "adapter_unreadable"),
    ],
    ids=["none", "pickled", "short", "huge", "folder"],
)
def test_an_adapter_that_cannot_be_read_is_unknown(write, reason, engine, asked, configs, tmp_path):
    place = tmp_path / "adapter"
    place.mkdir()
    write(place)
    verdict = asked(llama(configs), engine("by_class"), adapter=place)["lora_supported"]
    assert verdict.reason == reason
