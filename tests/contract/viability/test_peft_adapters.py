"""What PEFT itself saves and merges, by the names and the arithmetic that pfid reads out of it."""

import json
import warnings

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

pytestmark = [pytest.mark.full, pytest.mark.torch]
SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
EXPERTS = {"target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]}
KINDS = {
    # name: base, configuration, targets that must come out right
    "lora": ("llama", {"target_modules": ["q_proj", "down_proj"]}, 4),
    "rslora": ("llama", {"target_modules": "all-linear", "use_rslora": True}, 14),
    "dora": ("llama", {"target_modules": ["q_proj", "up_proj"], "use_dora": True}, 4),
    "patterns": (
        "llama",
        {
            "target_modules": ["q_proj"],
            "rank_pattern": {"layers.1.self_attn.q_proj": 2},
            "alpha_pattern": {"layers.1.*q_proj": 3},
        },
        2,
    ),
    "saved whole": (
        "llama",
        {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"], "bias": "lora_only"},
        5,
    ),
    "embedding": ("llama", {"target_modules": ["embed_tokens"]}, 1),
    "bias": ("llama", {"target_modules": ["q_proj"], "lora_bias": True}, 4),
    "tokens": ("llama", {"target_modules": ["q_proj"], "trainable_token_indices": [3, 5]}, 3),
    "conv1d": ("gpt2", {"target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True}, 4),
    "stacked": ("gpt_oss", {"target_modules": ["q_proj"], **EXPERTS}, 6),
    "stacked, saved singly": ("qwen3_moe", {"target_modules": ["q_proj"], **EXPERTS}, 50),
    "stacked, saved renamed": ("mixtral", {"target_modules": ["q_proj"], **EXPERTS}, 50),
}


def bases():
    import transformers as t

    few = {"num_experts_per_tok": 2, **SMALL}
    return {
        "llama": t.LlamaConfig(intermediate_size=96, attention_bias=True, **SMALL),
        "gpt2": t.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=128),
        "qwen3_moe": t.Qwen3MoeConfig(
            intermediate_size=96, moe_intermediate_size=48, num_experts=8, head_dim=16, **few
        ),
        "mixtral": t.MixtralConfig(intermediate_size=48, num_local_experts=8, **few),
        "gpt_oss": t.GptOssConfig(intermediate_size=48, num_local_experts=8, head_dim=16, **few),
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return tmp_path_factory.mktemp("peft")


@pytest.fixture(autouse=True)
def _proofs_are_kept(world, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(world / "state"))


@pytest.fixture(scope="module")
def base(world):
    """A base of each class, saved as its class saves it."""
    import torch
    from transformers import AutoModelForCausalLM

    def make(name):
        folder = world / f"base-{name}"
        if not folder.exists():
            torch.manual_seed(0)
            AutoModelForCausalLM.from_config(bases()[name]).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="module")
def adapted(base, world):
    """An adapter that was trained a little, saved by PEFT, and the model that it hangs in."""

    def make(name, **more):
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM

        kind, config, _ = KINDS[name]
        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AutoModelForCausalLM.from_pretrained(base(kind), **more)
            peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, **config))
            with torch.no_grad():
                for parameter in peft.parameters():
                    if parameter.requires_grad:
                        parameter.add_(torch.randn_like(parameter) * 0.05)
            folder = world / f"{name}-{len(list(world.iterdir()))}"
            peft.save_pretrained(folder)
        ran = CliRunner().invoke(main, ["merge-check", "--record", str(base(kind)), str(folder)])
        assert ran.exit_code == 0, ran.output
        return peft, folder

    return make


def merged(peft, folder, **how):
    """Merge as PEFT does, or with every product ``times`` as large."""
    times = how.get("times", 1)
    for module in peft.modules():
        if hasattr(module, "scaling") and isinstance(module.scaling, dict):
            module.scaling = {key: value * times for key, value in module.scaling.items()}
    place = folder.with_name(f"{folder.name}-merged")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft.merge_and_unload().save_pretrained(place)
    return place


def said(*arguments):
    ran = CliRunner().invoke(main, ["merge-check", *map(str, arguments), "--json"])
    body = json.loads(ran.stdout)
    return {v["check"]: v for v in body["verdicts"]}["targets_changed"]


def count(verdict, name):
    return verdict["figures"][name]["value"]


@pytest.mark.parametrize("name", KINDS)
def test_a_merge_by_peft_is_what_the_adapter_makes(name, adapted, base):
    kind, _, right = KINDS[name]
    peft, folder = adapted(name)
    assert said(folder, base(kind))["reason"] == "adapter_trained"
    found = said(folder, base(kind), "--merged", merged(peft, folder))
    assert found["reason"] == "as_told", found
    assert count(found, "right") == count(found, "targets") == right
    assert count(found, "unmatched") == count(found, "untouched_changed") == 0


@pytest.mark.parametrize("name", ["lora", "rslora", "stacked", "stacked, saved singly", "conv1d"])
def test_a_merge_with_another_scaling_fails_and_names_the_factor(name, adapted, base):
    kind = KINDS[name][0]
    peft, folder = adapted(name)
    found = said(folder, base(kind), "--merged", merged(peft, folder, times=0.5))
    assert found["reason"] == "wrong_factor", found
    assert count(found, "factor") == pytest.approx(0.5, rel=0.01)
    assert "0.5 times" in found["summary"]


def test_a_share_that_was_meant_is_right_when_it_is_told(adapted, base):
    peft, folder = adapted("lora")
    half = merged(peft, folder, times=0.5)
    assert said(folder, base("llama"), "--merged", half, "--share", 0.5)["reason"] == "as_told"


def test_rank_stabilised_scaling_that_was_left_out_is_found(adapted, base):
    """Alpha over the rank in the place of alpha over its root: half, for a rank of four."""
    peft, folder = adapted("rslora")
    place = merged(peft, folder)
    config = folder / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"use_rslora": False}))
    found = said(folder, base("llama"), "--merged", place)
    assert found["reason"] == "wrong_factor"
    assert count(found, "factor") == pytest.approx(2, rel=0.01)


def test_another_adapters_merge_fails(adapted, base):
    import torch

    peft, folder = adapted("lora")
    with torch.no_grad():
        for name, parameter in peft.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn_like(parameter))
    found = said(folder, base("llama"), "--merged", merged(peft, folder))
    assert found["reason"] == "another_change", found


@pytest.mark.parametrize("name", ["lora", "dora", "stacked"])
def test_a_merge_in_bfloat16_is_still_told_right_from_wrong(name, adapted, base):
    import torch

    kind = KINDS[name][0]
    for times, reason in ((1, "as_told"), (0.25, "wrong_factor")):
        peft, folder = adapted(name, dtype=torch.bfloat16)
        if name == "dora" and times != 1:
            continue  # its lengths are learned: another scaling is no factor
        found = said(folder, base(kind), "--merged", merged(peft, folder, times=times))
        assert found["reason"] == reason, found


def test_experts_that_no_token_reached_are_unknown_and_named(adapted, base):
    """A real step on tokens that are all the same reaches few experts; the others' factors stay."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    folder = base("qwen3_moe").with_name("reached")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_pretrained(base("qwen3_moe"))
        peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, **KINDS["stacked"][1]))
        optimizer = torch.optim.SGD([p for p in peft.parameters() if p.requires_grad], lr=50.0)
        ids = torch.full((1, 8), 7)
        for _ in range(2):
            peft(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        peft.save_pretrained(folder)
    CliRunner().invoke(main, ["merge-check", "--record", str(base("qwen3_moe")), str(folder)])
    first = said(folder, base("qwen3_moe"))
    assert first["reason"] == "experts_unreached", first
    assert first["outcome"] == "unknown"
    found = said(folder, base("qwen3_moe"), "--merged", merged(peft, folder))
    assert found["reason"] == "as_told", found
    assert 0 < count(found, "idle") < 8 * 3 * 2


WHICH = r".*experts\.(1|5)\.(gate|up|down)_proj"


def with_experts():
    """Two layers of eight experts, each expert's matrices modules of their own."""
    import torch
    from torch import nn

    def expert():
        sizes = {"gate_proj": (48, 40), "up_proj": (48, 40), "down_proj": (40, 48)}
        return nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()})

    def layer():
        experts = nn.ModuleList([expert() for _ in range(8)])
        return nn.ModuleDict({"mlp": nn.ModuleDict({"experts": experts})})

    torch.manual_seed(5)
    return nn.ModuleDict({"layers": nn.ModuleList([layer() for _ in range(2)])})


def save_stacked(model, folder, *, turned=False):
    """One file, experts in stacks as newer classes keep them, or turned."""
    import torch
    from safetensors.torch import save_file

    kept = {}
    for n, layer in enumerate(model["layers"]):
        at, of = f"model.layers.{n}.mlp.experts", layer["mlp"]["experts"]
        two = [torch.cat([e["gate_proj"].weight, e["up_proj"].weight]) for e in of]
        kept[f"{at}.gate_up_proj"] = torch.stack(two)
        kept[f"{at}.down_proj"] = torch.stack([e["down_proj"].weight for e in of])
    folder.mkdir()
    flat = {n: (t.transpose(1, 2) if turned else t).contiguous() for n, t in kept.items()}
    save_file(flat, folder / "model.safetensors")
    return folder


@pytest.fixture
def single_experts(world):
    """PEFT's adapter on two experts that are modules, of a base whose file has them stacked."""
    import torch
    from peft import LoraConfig, get_peft_model

    def make(name, *, turned=False, times=1.0, **config):
        place = world / f"single-{name}"
        place.mkdir()
        base = save_stacked(with_experts(), place / "base", turned=turned)
        peft = get_peft_model(
            with_experts(), LoraConfig(r=4, lora_alpha=8, target_modules=WHICH, **config)
        )
        with torch.no_grad():
            for parameter in peft.parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter) * 0.05)
        peft.save_pretrained(place / "adapter")
        ran = CliRunner().invoke(
            main, ["merge-check", "--record", str(base), str(place / "adapter")]
        )
        assert ran.exit_code == 0, ran.output
        for module in peft.modules():
            if hasattr(module, "scaling") and isinstance(module.scaling, dict):
                module.scaling = {key: value * times for key, value in module.scaling.items()}
        made = save_stacked(peft.merge_and_unload(), place / "made", turned=turned)
        return place / "adapter", base, made

    return make


@pytest.mark.parametrize(
    "how",
    [{}, {"turned": True}, {"use_rslora": True}, {"alpha_pattern": {r"experts\.5\.up_proj": 3}}],
    ids=["as it is", "turned", "rslora", "an alpha of its own"],
)
def test_an_adapter_on_single_experts_is_held_against_the_stack(how, single_experts, request):
    adapter, base, made = single_experts(request.node.callspec.id.replace(" ", "-"), **how)
    found = said(adapter, base, "--merged", made)
    assert found["reason"] == "as_told", found
    assert count(found, "modules") == 2 * 2 * 3
    assert count(found, "right") == count(found, "targets") == 4


def test_single_experts_merged_by_another_scaling_fail(single_experts):
    adapter, base, made = single_experts("half", times=0.5)
    found = said(adapter, base, "--merged", made)
    assert found["reason"] == "wrong_factor", found
    assert count(found, "factor") == pytest.approx(0.5, rel=0.01)
