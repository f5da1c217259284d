"""Two generations of an engine, asked through the command over source that is never imported."""

import subprocess

import pytest


def arch(config, name):
    return {**config, "architectures": [name]}


def test_gemma_is_refused_where_the_class_decides(engine, asked, configs):
    verdict = asked(configs["gemma"], engine("by_class"))["expert_mapping"]
    assert (verdict.outcome.value, verdict.reason) == ("fail", "mapping_missing")
    assert "vLLM 0.24.0; Gemma4ForConditionalGeneration" in verdict.summary
    text = "\n".join(verdict.evidence)
    assert "looks at: children, class" in text
    assert "FusedMoE at language_model.model.layers.*.experts" in text


def test_gemma_is_mapped_where_the_modules_are_walked(engine, asked, configs):
    verdict = asked(configs["gemma"], engine("by_walk"))["expert_mapping"]
    assert (verdict.outcome.value, verdict.reason) == ("pass", "mapped")
    assert "vLLM 0.33.0" in verdict.summary
    assert any("RoutedExperts.get_expert_mapping" in line for line in verdict.evidence)


@pytest.mark.parametrize("name", ["MistralForCausalLM", "MistralLarge3ForCausalLM"])
def test_a_search_of_the_file_is_wrong_and_the_class_is_right(name, engine, asked, configs):
    """The file of either class has neither word; the class inherits what the words stand for."""
    place = engine("by_class")
    stem = {"MistralForCausalLM": "mistral", "MistralLarge3ForCausalLM": "mistral_large_3"}[name]
    file = place / "vllm" / "model_executor" / "models" / f"{stem}.py"
    found = subprocess.run(
        ["grep", "-c", r"SupportsLoRA\|get_expert_mapping", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.strip() == "0"
    config = configs["dense" if name == "MistralForCausalLM" else "moe"]
    verdicts = asked(arch(config, name), place)
    assert verdicts["lora_supported"].reason == "supported"
    wanted = "dense" if name == "MistralForCausalLM" else "mapped"
    assert verdicts["expert_mapping"].reason == wanted


def test_a_search_of_the_file_is_wrong_the_other_way_too(engine, asked, configs):
    """Gemma's file names the method in a comment, and no class has it."""
    place = engine("by_class")
    text = (place / "vllm/model_executor/models/gemma4.py").read_text()
    assert "get_expert_mapping" in text
    assert asked(configs["gemma"], place)["expert_mapping"].outcome.value == "fail"


def test_an_alias_of_the_registry_is_followed(engine, asked, configs):
    verdict = asked(arch(configs["dense"], "AliasForCausalLM"), engine("by_walk"))
    assert "LlamaForCausalLM" in verdict["lora_supported"].summary


def test_an_entry_that_a_comprehension_leaves_out_is_not_there(engine, asked, configs):
    verdict = asked(arch(configs["dense"], "OtherForCausalLM"), engine("by_walk"))["lora_supported"]
    assert verdict.reason == "backend_fallback"


@pytest.mark.parametrize(
    ("name", "reason", "said"),
    [
        ("NobodyForCausalLM", "backend_fallback", "TransformersForCausalLM"),
        ("TransformersForCausalLM", "backend_fallback", "another library's"),
        ("GoneForCausalLM", "architecture_dropped", "until 0.9.2"),
        ("BrokenForCausalLM", "class_unresolved", "broken is not in the tree"),
        (None, "class_not_told", "names no class"),
    ],
)
def test_what_the_registry_does_not_settle_is_unknown_and_named(
    name, reason, said, engine, asked, configs
):
    config = {**configs["moe"], "architectures": [name] if name else None}
    verdicts = asked(config, engine("by_class"))
    for check in ("expert_mapping", "lora_supported"):
        assert (verdicts[check].outcome.value, verdicts[check].reason) == ("unknown", reason)
        assert said in "\n".join(verdicts[check].evidence)


def test_a_folder_without_an_engine_is_unknown(tmp_path, asked, configs):
    verdict = asked(configs["gemma"], tmp_path)["expert_mapping"]
    assert verdict.reason == "engine_not_found"


def test_the_package_itself_may_be_named(engine, asked, configs):
    verdict = asked(configs["gemma"], engine("by_walk") / "vllm")
    assert verdict["expert_mapping"].reason == "mapped"


def test_a_dense_sibling_builds_no_experts_and_is_asked_for_no_names(engine, asked, configs):
    """The configuration decides the branch; one that says nothing leaves both open."""
    off = {**configs["gemma"]["text_config"], "enable_moe_block": False}
    verdict = asked({**configs["gemma"], "text_config": off}, engine("by_class"))
    assert verdict["expert_mapping"].reason in ("dense", "mapping_not_asked_for")


RULES = {
    "renamed": "def other(model): ...",
    "asks_elsewhere": """
        from vllm.model_executor.layers.fused_moe import KIND
        from vllm.model_executor.utils import get_packed_modules_mapping

        def is_moe_model(model):
            return any(isinstance(module, KIND) for module in model.modules())

        def mapping_of(model):
            return getattr(model.config.registry, "get_expert_mapping", None)()

        def process_packed_modules_mapping(model):
            if is_moe_model(model) and not mapping_of(model):
                raise AttributeError
            return get_packed_modules_mapping(model)
    """,
    "asks_elsewhere_too": """
        from vllm.model_executor.layers.fused_moe import KIND

        def is_moe_model(model):
            return any(isinstance(module, KIND) for module in model.modules())

        def mapping_of(model):
            if found := getattr(model, "get_expert_mapping", None):
                return found()
            return getattr(model.config.registry, "get_expert_mapping", list)()

        def process_packed_modules_mapping(model):
            if is_moe_model(model) and not mapping_of(model):
                raise AttributeError
            return {}
    """,
    "refuses_nothing": """
        from vllm.model_executor.layers.fused_moe import KIND

        def is_moe_model(model):
            return any(isinstance(module, KIND) for module in model.modules())

        def mapping_of(model):
            return getattr(model, "get_expert_mapping", list)()

        def process_packed_modules_mapping(model):
            return mapping_of(model) if is_moe_model(model) else {}
    """,
    "syntax": "def process_packed_modules_mapping(model:",
}


@pytest.mark.parametrize("kind", RULES)
def test_a_rule_of_another_shape_is_no_rule(kind, engine, asked, configs):
    place = engine("by_class", lora__utils=RULES[kind])
    verdict = asked(configs["gemma"], place)["expert_mapping"]
    assert (verdict.outcome.value, verdict.reason) == ("unknown", "rule_unknown")
    assert any("vllm.lora.utils" in line for line in verdict.evidence)


GETTERS = {
    "a stub": "def get_expert_mapping(self):\n        ...",
    "only declared": "def get_expert_mapping(self):\n        raise NotImplementedError",
    "nothing": "def get_expert_mapping(self):\n        return []",
}


@pytest.mark.parametrize("body", GETTERS.values(), ids=GETTERS)
def test_a_method_that_gives_nothing_is_no_mapping(body, engine, asked, configs):
    text = f"""
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from .interfaces import SupportsLoRA

class LlamaForCausalLM(nn.Module, SupportsLoRA):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.experts = FusedMoE(8)

    {body}
"""
    place = engine("by_class", models__llama=text, models__mistral="")
    config = arch(configs["moe"], "LlamaForCausalLM")
    assert asked(config, place)["expert_mapping"].reason == "mapping_missing"


def test_a_method_that_hands_on_counts_if_somebody_answers(engine, asked, configs):
    text = """
        import torch.nn as nn
        from vllm.model_executor.layers.fused_moe import FusedMoE
        from .interfaces import SupportsLoRA

        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.experts = FusedMoE(8)

            def ANSWERS(self):
                return [("w13", "experts.0.gate_proj.", 0, "w1")]

        class LlamaForCausalLM(nn.Module, SupportsLoRA):
            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                self.model = Inner()

            def get_expert_mapping(self):
                return self.model.get_expert_mapping()
    """
    config = arch(configs["moe"], "LlamaForCausalLM")
    good = engine("by_class", models__llama=text.replace("ANSWERS", "get_expert_mapping"))
    assert asked(config, good)["expert_mapping"].reason == "mapped"
    bad = engine("by_class", models__llama=text.replace("ANSWERS", "another"))
    verdict = asked(config, bad)["expert_mapping"]
    assert (verdict.outcome.value, verdict.reason) == ("unknown", "experts_unseen")


GATED = """
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from .interfaces import SupportsLoRA

class LlamaForCausalLM(nn.Module, SupportsLoRA):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_config
        if CONDITION:
            self.mlp = FusedMoE(8)
        else:
            self.mlp = None
"""


@pytest.mark.parametrize(
    ("condition", "builds"),
    [
        ("config.on", True),
        ("config.off", False),
        ("not config.off", True),
        ("config.kind == 'moe'", True),
        ("config.kind != 'moe'", False),
        ("config.kind in ('moe', 'other')", True),
        ("config.kind not in ('moe', 'other')", False),
        ("config.number > 2", True),
        ("config.number <= 2", False),
        ("config.nothing is None", True),
        ("config.nothing is not None", False),
        ("getattr(config, 'off', True)", False),
        ("config.on and config.off", False),
        ("config.off or config.on", True),
        ("config.inner.on", True),
        ("config.inner is None", False),
        ("hasattr(config, 'on')", True),
        ("config.absent", True),  # the class may have a default: both ways are open
        ("getattr(config, 'absent', False)", True),
        ("hasattr(config, 'absent')", True),
        ("config.absent is None", True),
        ("vllm_config.cache_config.anything", True),
    ],
)
def test_the_models_configuration_decides_what_is_built_and_nothing_else(
    condition, builds, engine, asked, configs
):
    told = {"on": True, "off": False, "kind": "moe", "number": 3, "nothing": None}
    config = {**arch(configs["moe"], "LlamaForCausalLM"), **told, "inner": {"on": True}}
    place = engine("by_class", models__llama=GATED.replace("CONDITION", condition))
    verdict = asked(config, place)["expert_mapping"]
    assert verdict.reason == ("mapping_missing" if builds else "mapping_not_asked_for")


CALLS = """
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from vllm.config import settings_of
from .interfaces import SupportsLoRA

def same(one, two):
    for key in one:
        if not same(one[key], two[key]) or not same(two[key], one[key]):
            return False
    return True

class LlamaForCausalLM(nn.Module, SupportsLoRA):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        STATEMENT
        self.experts = FusedMoE(8)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "self.alike = same(vllm_config.one, vllm_config.two)",
        "self.settings = settings_of(vllm_config)",
    ],
    ids=["a function that calls itself twice", "the engine's own settings"],
)
def test_what_gives_no_module_hides_none(statement, engine, asked, configs):
    settings = "def settings_of(config):\n    return SCHEMES[config.kind](settings_of)\n"
    text = CALLS.replace("STATEMENT", statement)
    place = engine(
        "by_walk", models__llama=text, models__mistral="", **{"config/__init__": settings}
    )
    config = arch(configs["moe"], "LlamaForCausalLM")
    assert asked(config, place)["expert_mapping"].reason == "mapped"
    dense = engine(
        "by_walk",
        models__llama=text.replace("FusedMoE(8)", "nn.Identity()"),
        models__mistral="",
        **{"config/__init__": settings},
    )
    verdict = asked(config, dense)["expert_mapping"]
    assert verdict.reason == "mapping_not_asked_for", verdict.evidence


@pytest.mark.parametrize(
    "text",
    [
        "_A, KIND = None, FusedMoE",
        "(_A, [KIND]) = range(2), [FusedMoE]",
        "def pair():\n    return None, FusedMoE\n\n_A, KIND = pair()",
    ],
    ids=["listed", "nested", "given back"],
)
def test_names_that_are_bound_together_are_told_apart(text, engine, asked, configs):
    model = f"""
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from .interfaces import SupportsLoRA

{text}

class LlamaForCausalLM(nn.Module, SupportsLoRA):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.place = _A
        self.experts = KIND(8)
"""
    place = engine("by_class", models__llama=model, models__mistral="")
    config = arch(configs["moe"], "LlamaForCausalLM")
    verdict = asked(config, place)["expert_mapping"]
    assert verdict.reason == "mapping_missing", verdict.evidence
