"""Targets that are declared as PEFT takes them are judged as real PEFT places its adapters."""

import warnings

import pytest

from pfid.probes import lora_step
from pfid.probes.channel import Refused

pytestmark = [pytest.mark.full, pytest.mark.torch]
NAMES = 560


def adapted(targets, **more):
    """A tiny transformers model with PEFT's adapters, and the modules that they sit on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft = pytest.importorskip("peft")
        transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, vocab_size=64,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.LlamaForCausalLM(config)
        model = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=targets, **more))
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    return model, {lora_step.owner(name) for name in trained}


@pytest.mark.parametrize(
    "targets",
    ["all-linear", "All-Linear", r".*\.layers\.1\..*_proj", r"model\.layers\.\d+\.mlp\.up_proj"],
)
def test_a_string_that_peft_took_misses_nothing(targets):
    model, hit = adapted(targets)
    assert hit
    assert lora_step.missed(model, targets, hit) == []


def test_what_peft_was_told_to_leave_out_is_not_missed():
    model, hit = adapted("all-linear", exclude_modules=["down_proj"])
    assert lora_step.missed(model, "all-linear", hit) == []
    model, hit = adapted("all-linear", modules_to_save=["lm_head"])
    assert lora_step.missed(model, "all-linear", hit) == []


def test_linear_modules_left_out_are_missed_by_name():
    model, hit = adapted(["q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"])
    assert lora_step.missed(model, "all-linear", hit) == [
        f"model.layers.{n}.mlp.gate_proj" for n in range(2)
    ]


def test_an_expression_that_no_module_hit_bears_is_missed():
    model, hit = adapted(["q_proj"])
    assert lora_step.missed(model, r".*\.mlp\..*", hit) == [r".*\.mlp\..*"]
    assert lora_step.missed(model, "q_proj", hit) == []


def test_what_is_no_expression_is_refused(monkeypatch):
    monkeypatch.setattr(lora_step, "find", lambda _: lambda model: "(" + str(model))
    with pytest.raises(Refused) as caught:
        lora_step._declared("own:targets", "model")
    assert caught.value.args[0] == "no_targets"


def test_modules_are_counted_before_any_list_is_cut():
    modules = [f"layers.{n // 2}.{'qv'[n % 2]}_proj" for n in range(NAMES)]
    assert lora_step.by_suffix(modules) == {"q_proj": NAMES // 2, "v_proj": NAMES // 2}
    assert NAMES > lora_step.NAMES_MAX
