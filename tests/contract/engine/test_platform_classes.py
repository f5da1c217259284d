"""Classes that an engine writes once a platform: its build tells which one serves, or all agree."""

import pytest

MODEL = """
import torch.nn as nn
from vllm.model_executor.layers.fused_moe import FusedMoE
from vllm.model_executor.models.interfaces import SupportsLoRA

class LlamaForCausalLM(nn.Module{bases}):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.experts = FusedMoE(8)

    def {method}(self):
        return [("w13", "experts.0.gate_proj.", 0, "w1")]
"""
MAPPED = MODEL.format(bases=", SupportsLoRA", method="get_expert_mapping")
UNMAPPED = MODEL.format(bases="", method="another")
CHOICES = {
    "taken by a chain": """
        from vllm.platforms import current_platform
        if current_platform.is_rocm():
            from .amd import LlamaForCausalLM
        elif current_platform.is_xpu():
            from .amd import LlamaForCausalLM
        else:
            from .nvidia import LlamaForCausalLM
    """,
    "seen by type checkers": """
        from typing import TYPE_CHECKING
        from vllm.platforms import current_platform
        if TYPE_CHECKING or not (current_platform.is_rocm() or current_platform.is_xpu()):
            from .nvidia import LlamaForCausalLM
        else:
            from .amd import LlamaForCausalLM
    """,
    "alike": """
        from vllm import platforms
        if platforms.current_platform.is_cuda_alike() and not platforms.current_platform.is_rocm():
            from .nvidia import LlamaForCausalLM
        elif platforms.current_platform.is_cpu():
            from .nvidia import LlamaForCausalLM
        else:
            from .amd import LlamaForCausalLM
    """,
    "put in its place": """
        from vllm.platforms import current_platform
        from .nvidia import LlamaForCausalLM
        if current_platform.is_rocm():
            from .amd import LlamaForCausalLM
        if current_platform.device_type == "xpu":
            from .amd import LlamaForCausalLM
    """,
    "made up": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .amd import LlamaForCausalLM

        def __getattr__(name):
            if name in {"Draft"}:
                from . import nowhere
                return nowhere.Draft
            if TYPE_CHECKING:
                from .amd import LlamaForCausalLM
                return LlamaForCausalLM
            if name in {"LlamaForCausalLM", "Other"}:
                from vllm.platforms import current_platform
                if current_platform.is_tpu():
                    raise NotImplementedError("not on tpu")
                if current_platform.is_rocm() or current_platform.is_xpu():
                    from .amd import LlamaForCausalLM
                else:
                    from .nvidia import LlamaForCausalLM
                return {"LlamaForCausalLM": LlamaForCausalLM}[name]
            raise AttributeError(name)
    """,
    "made up by its name": """
        from vllm.platforms import current_platform
        __all__ = ["LlamaForCausalLM"]

        def __getattr__(name):
            if name in __all__:
                other = current_platform.is_rocm() or current_platform.is_xpu()
                if other:
                    from . import amd
                    return getattr(amd, name)
                from . import nvidia as chosen
                return getattr(chosen, name)
            raise AttributeError(name)
    """,
}
HERE = "models/llama/"


@pytest.fixture
def of_platforms(engine, asked, configs):
    """Ask an engine whose class is chosen by platform; ``built`` is its distribution's version."""

    def ask(choice, nvidia=MAPPED, amd=UNMAPPED, built=None, **more):
        files = {HERE + "__init__": choice, HERE + "nvidia": nvidia, HERE + "amd": amd}
        files |= {"models__llama": None, "models__mistral": ""}
        place = engine("by_class", **files)
        if built is not None:
            told = place / f"vllm-{built}.dist-info"
            told.mkdir()
            (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {built}\n")
        config = {**configs["moe"], "architectures": ["LlamaForCausalLM"]}
        return asked(config, place, **more)

    return ask


@pytest.mark.parametrize("choice", CHOICES)
def test_the_platform_that_the_build_is_for_decides(choice, of_platforms):
    found = of_platforms(CHOICES[choice], built="0.24.0")
    assert found["expert_mapping"].reason == "mapped", found["expert_mapping"].evidence
    assert found["lora_supported"].reason == "supported"
    assert "this build is for cuda" in "\n".join(found["expert_mapping"].evidence)


@pytest.mark.parametrize("choice", CHOICES)
def test_another_build_is_served_by_its_own_class(choice, of_platforms):
    found = of_platforms(CHOICES[choice], built="0.24.0+rocm711")
    assert found["expert_mapping"].reason == "mapping_missing", found["expert_mapping"].evidence
    assert found["lora_supported"].reason == "not_supported"
    assert "vLLM 0.24.0" in found["expert_mapping"].summary


@pytest.mark.parametrize("choice", CHOICES)
def test_where_no_build_tells_and_they_differ_each_is_named(choice, of_platforms):
    found = of_platforms(CHOICES[choice])
    mapping, lora = found["expert_mapping"], found["lora_supported"]
    assert (mapping.outcome.value, mapping.reason) == ("unknown", "class_unresolved")
    said = "\n".join(mapping.evidence)
    assert "cuda: names of experts are found; rocm: no names are found; xpu: no names" in said
    assert (lora.outcome.value, lora.reason) == ("unknown", "support_unseen")
    assert "cuda: takes adapters; rocm: takes none" in "\n".join(lora.evidence)


@pytest.mark.parametrize("choice", CHOICES)
def test_where_all_agree_no_build_need_tell(choice, of_platforms):
    found = of_platforms(CHOICES[choice], amd=MAPPED)
    assert found["expert_mapping"].reason == "mapped", found["expert_mapping"].evidence
    assert found["lora_supported"].reason == "supported"
    assert "looked at cuda, rocm, xpu, cpu" in "\n".join(found["expert_mapping"].evidence)


def test_a_platform_without_the_class_is_left_out(of_platforms):
    found = of_platforms(CHOICES["made up"], amd=MAPPED)["expert_mapping"]
    assert "looked at cuda, rocm, xpu, cpu" in "\n".join(found.evidence)
    assert "tpu" not in "\n".join(found.evidence)


def test_a_platform_on_which_it_cannot_be_followed_leaves_all_unknown(of_platforms):
    found = of_platforms(CHOICES["alike"], amd="def __getattr__(name):\n    return make(name)\n")
    said = "\n".join(found["expert_mapping"].evidence)
    assert found["expert_mapping"].reason == "class_unresolved"
    assert "rocm: LlamaForCausalLM of vllm.model_executor.models.llama" in said


UNDECIDED = {
    "by the environment": """
        import os
        if os.environ.get("FAST"):
            from .nvidia import LlamaForCausalLM
        else:
            from .amd import LlamaForCausalLM
    """,
    "an attempt": """
        try:
            from .nvidia import LlamaForCausalLM
        except ImportError:
            from .amd import LlamaForCausalLM
    """,
    "deeper and deeper": """
        def __getattr__(name):
            return __getattr__([name])
    """,
    "of itself": """
        def __getattr__(name):
            return [__getattr__(name)]
    """,
}


@pytest.mark.parametrize("built", [None, "0.24.0"])
@pytest.mark.parametrize("choice", UNDECIDED)
def test_what_no_platform_decides_stays_unknown(choice, built, of_platforms):
    found = of_platforms(UNDECIDED[choice], built=built)["expert_mapping"]
    assert (found.outcome.value, found.reason) == ("unknown", "class_unresolved")
    assert "LlamaForCausalLM of vllm.model_executor.models.llama" in "\n".join(found.evidence)


def test_a_package_that_computes_without_end_is_unknown(of_platforms, monkeypatch):
    monkeypatch.setattr("pfid.formats.engine_source.core.STEPS_MAX", 300)
    endless = (
        "def __getattr__(name):\n    return __getattr__([name]) or __getattr__([name, name])\n"
    )
    found = of_platforms(endless, built="0.24.0")["expert_mapping"]
    assert (found.outcome.value, found.reason) == ("unknown", "class_unresolved")


def test_an_inner_model_is_the_one_of_the_same_platform(engine, asked, configs):
    """The outer class is one; the class that it looks up is another on each platform."""
    inner = {HERE + "nvidia": MAPPED, HERE + "amd": UNMAPPED}
    outer = """
        import torch.nn as nn
        from vllm.platforms import current_platform
        from .interfaces import SupportsLoRA
        from .utils import init_vllm_registered_model

        class Gemma4ForConditionalGeneration(nn.Module, SupportsLoRA):
            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                self.language_model = init_vllm_registered_model(
                    vllm_config=vllm_config, architectures=["LlamaForCausalLM"]
                )
    """
    files = {HERE + "__init__": CHOICES["taken by a chain"], **inner, "models__gemma4": outer}
    for built, reason in (("0.24.0", "mapped"), ("0.24.0+rocm711", "mapping_missing")):
        place = engine("by_class", models__llama=None, models__mistral="", **files)
        told = place / "vllm-0.24.0.dist-info"
        told.mkdir(exist_ok=True)
        (told / "METADATA").write_text(f"Version: {built}\n")
        assert asked(configs["gemma"], place)["expert_mapping"].reason == reason


def test_an_adapter_is_held_against_the_class_of_each_platform(of_platforms, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    name = "base_model.model.experts.0.gate_proj.lora_A.weight"
    header = f'{{"{name}": {{"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}}}'.encode()
    data = len(header).to_bytes(8, "little") + header + bytes(4)
    (adapter / "adapter_model.safetensors").write_bytes(data)
    (adapter / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    other = MAPPED.replace("self.experts", "self.others")
    found = of_platforms(CHOICES["alike"], amd=other, adapter=adapter)["lora_supported"]
    assert found.reason == "class_unresolved", found
    assert "cuda: 1 modules bound, 0 not; rocm: 0 modules bound, 1 not" in "\n".join(found.evidence)
