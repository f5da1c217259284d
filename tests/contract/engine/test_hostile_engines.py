"""Source that cannot be followed is named and never guessed about."""

import os

import pytest

pytestmark = pytest.mark.full
HEAD = """
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from .interfaces import SupportsLoRA
"""
BODY = """
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.experts = FusedMoE(8)
"""


def served(base, before="", body=BODY):
    return f"{HEAD}{before}\nclass LlamaForCausalLM({base}):{body}"


UNFOLLOWED = {
    "syntax error": ("class (", "cannot be parsed"),
    "NUL byte": ("class A:\0", "cannot be parsed"),
    "base that is computed": (served("make_base()"), "make_base"),
    "base that is missing": (served("Nowhere"), "binds Nowhere nowhere"),
    "base on conditions": (
        served(
            "Base",
            "import sys\nif sys.maxsize > 1:\n    class Base(nn.Module, SupportsLoRA): ...\n"
            "else:\n    class Base(nn.Module): ...\n",
        ),
        "on conditions",
    ),
    "base of itself": (served("LlamaForCausalLM"), "base of itself"),
    "bases without an order": (
        served("A, B", "class A: ...\nclass B(A): ...\n"),
        "have no order",
    ),
    "metaclass": (
        served("nn.Module, metaclass=Maker", "class Maker(type): ...\n"),
        "metaclass",
    ),
    "star of another library": (served("Base", "from somewhere import *\n"), "somewhere"),
    "base of another library": (served("Base", "from somewhere import Base\n"), "somewhere.Base"),
    "circle of imports": (served("Base", "from .mistral import Base\n"), "in a circle"),
    "base made up on demand": (served("Base", "from vllm import Base\n"), "makes Base up"),
}


@pytest.mark.parametrize("kind", UNFOLLOWED)
def test_a_class_that_cannot_be_followed_is_unknown_and_named(kind, engine, asked, configs):
    text, said = UNFOLLOWED[kind]
    place = engine("by_class", models__llama=text, models__mistral="from .llama import Base\n")
    (place / "vllm" / "__init__.py").write_text("def __getattr__(name):\n    return name\n")
    config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
    verdicts = asked(config, place)
    for check in ("expert_mapping", "lora_supported"):
        assert verdicts[check].outcome.value == "unknown", verdicts[check]
        assert said in "\n".join(verdicts[check].evidence), verdicts[check].evidence


def test_stars_inside_the_tree_are_followed(engine, asked, configs):
    text = served("Base", "from .mistral import *\n")
    method = "    def get_expert_mapping(self):\n        return [1]\n"
    base = f"{HEAD}\nclass Base(nn.Module, SupportsLoRA):\n{method}"
    place = engine("by_class", models__llama=text, models__mistral=base)
    config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
    verdicts = asked(config, place)
    assert verdicts["lora_supported"].reason == "supported"
    assert verdicts["expert_mapping"].reason == "mapped"


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_a_link_out_of_the_tree_is_not_followed(whole, engine, asked, configs, tmp_path):
    place = engine("by_class")
    models = place / "vllm" / "model_executor" / "models"
    at = models if whole else models / "llama.py"
    outside = tmp_path / "outside"
    at.rename(outside)
    at.symlink_to(outside)
    config = {**configs["dense"], "architectures": ["LlamaForCausalLM"]}
    verdict = asked(config, place)["lora_supported"]
    assert verdict.outcome.value == "unknown"
    assert "link out of the tree" in "\n".join(verdict.evidence)


def test_the_tree_itself_may_be_a_link(engine, asked, configs, tmp_path):
    (tmp_path / "link").symlink_to(engine("by_walk"))
    verdict = asked(configs["gemma"], tmp_path / "link")["expert_mapping"]
    assert verdict.reason == "mapped"


def test_a_pipe_in_the_tree_blocks_nothing(engine, asked, configs):
    place = engine("by_class")
    pipe = place / "vllm" / "model_executor" / "models" / "llama.py"
    pipe.unlink()
    os.mkfifo(pipe)
    config = {**configs["dense"], "architectures": ["LlamaForCausalLM"]}
    verdict = asked(config, place)["lora_supported"]
    assert "no regular file" in "\n".join(verdict.evidence)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('"LlamaForCausalLM": make(),', "registry_unknown"),
        ('make(): ("llama", "LlamaForCausalLM"),', "registry_unknown"),
        ("**{name: (name, name) for name in names()},", "registry_unknown"),
        ("", "registry_unknown"),
        ('"LlamaForCausalLM": ("../../secret", "LlamaForCausalLM"),', "class_unresolved"),
        ('"LlamaForCausalLM": ("os", "system"),', "class_unresolved"),
    ],
)
def test_a_registry_that_computes_or_points_out_of_the_tree_is_unknown(
    entry, reason, engine, asked, configs
):
    place = engine("by_class", models__registry=f"_VLLM_MODELS = {{\n{entry}\n}}\n")
    config = {**configs["dense"], "architectures": ["LlamaForCausalLM"]}
    assert asked(config, place)["lora_supported"].reason == reason


def test_a_child_that_the_rule_would_ask_and_nobody_sees_is_unknown(engine, asked, configs):
    """Experts are seen elsewhere, and the child may well have their names."""
    body = BODY + "        self.model = made()\n"
    text = served("nn.Module, SupportsLoRA", "from vllm.unwritten import made\n", body)
    config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
    verdict = asked(config, engine("by_class", models__llama=text))["expert_mapping"]
    assert verdict.reason == "experts_unseen"


def test_an_inner_model_found_when_the_engine_runs_is_unknown(engine, asked, configs):
    place = engine("by_class")
    file = place / "vllm" / "model_executor" / "models" / "gemma4.py"
    file.write_text(file.read_text().replace('architectures=["Gemma4ForCausalLM"],', ""))
    verdict = asked(configs["gemma"], place)["expert_mapping"]
    assert (verdict.outcome.value, verdict.reason) == ("unknown", "experts_unseen")
    assert "language_model" in "\n".join(verdict.evidence)


def test_a_module_that_is_made_where_nobody_can_look_is_unknown(engine, asked, configs):
    text = served(
        "nn.Module, SupportsLoRA", body=BODY.replace("FusedMoE(8)", "FACTORIES[prefix]()")
    )
    text = text.replace(
        "\nclass",
        "\nfrom somewhere import FACTORIES\nimport vllm.unwritten as u\nFACTORIES = u.made\nclass",
    )
    place = engine("by_class", models__llama=text)
    config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
    verdict = asked(config, place)["expert_mapping"]
    assert verdict.reason == "experts_unseen"


def test_constructors_without_an_end_are_given_up(engine, asked, configs):
    before = """
def one(n):
    return two(n) + two(n)
def two(n):
    return one(n) + one(n)
"""
    body = BODY.replace("FusedMoE(8)", "one(vllm_config)")
    place = engine("by_class", models__llama=served("nn.Module, SupportsLoRA", before, body))
    config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
    verdict = asked(config, place)["expert_mapping"]
    assert verdict.reason in ("too_large", "experts_unseen")


def test_plugins_of_others_leave_the_class_unknown(engine, asked, configs):
    place = engine("by_walk")
    for name, point in (
        ("vllm-0.33.0.dist-info", "own = vllm.plugins.lora:register"),
        ("other-1.0.dist-info", "own = other:register"),
    ):
        (place / name).mkdir()
        (place / name / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{point}\n")
        verdict = asked(configs["gemma"], place)["expert_mapping"]
        wanted = "mapped" if name.startswith("vllm") else "plugins_may_replace"
        assert verdict.reason == wanted
    assert "other: own" in "\n".join(verdict.evidence)


def test_hostile_names_reach_no_terminal(engine, asked, configs):
    config = {**configs["moe"], "architectures": ["\x1b[31mRed", "A" * 100_000]}
    verdict = asked(config, engine("by_class"))["expert_mapping"]
    assert verdict.outcome.value == "unknown"
    assert len("\n".join(verdict.evidence)) < 2000
