"""Two small engines that can be imported, shaped as two generations of vLLM's rules for adapters.

The first asks a model's class and its direct children for the names of experts; the second walks
every module and finds them in the layer that holds experts.
"""

import textwrap
from pathlib import Path

MODELS = "model_executor/models/"
COMMON = {
    "__init__.py": "",
    "model_executor/__init__.py": "",
    "model_executor/layers/__init__.py": "",
    "lora/__init__.py": "",
    "plugins/__init__.py": """
        def load_general_plugins():
            pass
    """,
    "model_executor/layers/linear.py": """
        import torch.nn as nn

        class LinearBase(nn.Module):
            def __init__(self, *sizes, prefix=""):
                super().__init__()

        class QKVParallelLinear(LinearBase):
            pass

        class RowParallelLinear(LinearBase):
            pass
    """,
    "model_executor/layers/vocab_parallel_embedding.py": """
        import torch.nn as nn

        class VocabParallelEmbedding(nn.Module):
            pass

        class ParallelLMHead(VocabParallelEmbedding):
            pass
    """,
    "lora/utils.py": """
        from torch import nn

        from vllm.model_executor.layers.fused_moe import KIND
        from vllm.model_executor.utils import get_moe_expert_mapping, get_packed_modules_mapping

        def is_moe_model(model: nn.Module) -> bool:
            if any(isinstance(module, KIND) for module in model.modules()):
                return True
            return False

        def process_packed_modules_mapping(model: nn.Module) -> dict:
            if is_moe_model(model):
                if mapping := get_moe_expert_mapping(model):
                    packed = get_packed_modules_mapping(model)
                    packed["experts"] = [name for _, name, _, _ in mapping]
                    return packed
                raise AttributeError("'get_expert_mapping' must be implemented")
            return get_packed_modules_mapping(model)
    """,
    MODELS + "__init__.py": "from .registry import ModelRegistry\n",
    MODELS + "interfaces.py": """
        from typing import ClassVar, Literal, Protocol

        class SupportsLoRA(Protocol):
            supports_lora: ClassVar[Literal[True]] = True
            embedding_modules: ClassVar[dict] = {}
            packed_modules_mapping: dict = {}

        class SupportsMultiModal(Protocol):
            supports_multimodal: ClassVar[Literal[True]] = True

        def supports_lora(model):
            return bool(getattr(model, "supports_lora", False))
    """,
    MODELS + "registry.py": """
        import importlib

        _TEXT_MODELS = {
            "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),
            "MistralForCausalLM": ("mistral", "MistralForCausalLM"),
            "MistralLarge3ForCausalLM": ("mistral_large_3", "MistralLarge3ForCausalLM"),
            "DeepseekV3ForCausalLM": ("deepseek", "DeepseekV3ForCausalLM"),
            "BrokenForCausalLM": ("broken", "BrokenForCausalLM"),
        }
        _ALIASES = {
            "AliasForCausalLM": ("llama", "LlamaForCausalLM"),
            "OtherForCausalLM": ("nowhere", "OtherForCausalLM"),
        }
        _MULTIMODAL_MODELS = {
            "Gemma4ForConditionalGeneration": ("gemma4", "Gemma4ForConditionalGeneration"),
        }
        _TRANSFORMERS_BACKEND_MODELS = {
            "TransformersForCausalLM": ("transformers", "TransformersForCausalLM"),
        }
        _VLLM_MODELS = {
            **_TEXT_MODELS,
            **{k: (mod, arch) for k, (mod, arch) in _ALIASES.items() if arch == "LlamaForCausalLM"},
            **_MULTIMODAL_MODELS,
            **_TRANSFORMERS_BACKEND_MODELS,
            "Gemma4ForCausalLM": ("gemma4", "Gemma4ForCausalLM"),
        }
        _PREVIOUSLY_SUPPORTED_MODELS = {"GoneForCausalLM": "0.9.2"}

        class _Lazy:
            def __init__(self, module, name):
                self.module, self.name = module, name

            def load_model_cls(self):
                found = importlib.import_module(f"vllm.model_executor.models.{self.module}")
                return getattr(found, self.name)

        class _Registry:
            def __init__(self, models):
                self.models = models

        ModelRegistry = _Registry({a: _Lazy(m, n) for a, (m, n) in _VLLM_MODELS.items()})
    """,
    MODELS + "utils.py": """
        from dataclasses import dataclass, field

        import torch.nn as nn

        @dataclass
        class WeightsMapper:
            orig_to_new_substr: dict = field(default_factory=dict)
            orig_to_new_prefix: dict = field(default_factory=dict)
            orig_to_new_suffix: dict = field(default_factory=dict)

        @dataclass
        class MultiModelKeys:
            language_model: list = field(default_factory=list)
            tower_model: list = field(default_factory=list)

        class PPMissingLayer(nn.Identity):
            pass

        def make_layers(number, layer_fn, prefix):
            modules = nn.ModuleList(
                [PPMissingLayer() for _ in range(0)]
                + [layer_fn(prefix=f"{prefix}.{at}") for at in range(number)]
            )
            return 0, number, modules

        def init_vllm_registered_model(vllm_config, *, hf_config=None, architectures=None):
            raise NotImplementedError
    """,
    MODELS + "llama.py": """
        import torch.nn as nn

        from vllm.model_executor.layers.linear import QKVParallelLinear, RowParallelLinear
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

        from .interfaces import SupportsLoRA
        from .utils import make_layers

        class LlamaAttention(nn.Module):
            def __init__(self, config, prefix):
                super().__init__()
                self.qkv_proj = QKVParallelLinear(config.hidden_size)
                self.o_proj = RowParallelLinear(config.hidden_size)

        class LlamaDecoderLayer(nn.Module):
            def __init__(self, config, prefix):
                super().__init__()
                self.self_attn = LlamaAttention(config, prefix=f"{prefix}.self_attn")

        class LlamaModel(nn.Module):
            def __init__(self, *, vllm_config, prefix="", layer_type=LlamaDecoderLayer):
                super().__init__()
                config = vllm_config.model_config.hf_config
                self.start_layer, self.end_layer, self.layers = make_layers(
                    config.num_hidden_layers,
                    lambda prefix: layer_type(config=config, prefix=prefix),
                    prefix=f"{prefix}.layers",
                )

        class LlamaForCausalLM(nn.Module, SupportsLoRA):
            packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
            embedding_modules = {"lm_head": "output_embeddings"}
            layer_type = LlamaDecoderLayer

            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                self.model = self._init_model(vllm_config, self.layer_type)
                self.lm_head = ParallelLMHead()

            def _init_model(self, vllm_config, layer_type):
                return LlamaModel(vllm_config=vllm_config, prefix="model", layer_type=layer_type)
    """,
    MODELS + "mistral.py": """
        from .llama import LlamaDecoderLayer, LlamaForCausalLM

        class MistralDecoderLayer(LlamaDecoderLayer):
            pass

        class MistralForCausalLM(LlamaForCausalLM):
            layer_type = MistralDecoderLayer
    """,
    MODELS + "deepseek.py": """
        import torch.nn as nn

        from vllm.model_executor.layers.fused_moe import FusedMoE

        from .interfaces import SupportsLoRA

        class DeepseekModel(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.experts = FusedMoE(config.num_local_experts)

        class DeepseekV2ForCausalLM(nn.Module, SupportsLoRA):
            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                self.model = DeepseekModel(vllm_config.model_config.hf_config)

            def get_expert_mapping(self):
                return [("experts.w13_", "experts.0.gate_proj.", 0, "w1")]

        class DeepseekV3ForCausalLM(DeepseekV2ForCausalLM):
            pass
    """,
    MODELS + "mistral_large_3.py": """
        from .deepseek import DeepseekV3ForCausalLM

        class MistralLarge3ForCausalLM(DeepseekV3ForCausalLM):
            remapping = {"layers.": "model.layers."}
    """,
    MODELS + "gemma4.py": """
        import torch.nn as nn

        from vllm.model_executor.layers.fused_moe import FusedMoE
        from vllm.model_executor.layers.linear import LinearBase, QKVParallelLinear

        from .interfaces import SupportsLoRA, SupportsMultiModal
        from .utils import MultiModelKeys, WeightsMapper, init_vllm_registered_model, make_layers

        class Gemma4DecoderLayer(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.qkv_proj = QKVParallelLinear(config.hidden_size)
                if getattr(config, "enable_moe_block", False):
                    self.experts = FusedMoE(config.num_experts)
                else:
                    self.experts = None

        class Gemma4Model(nn.Module):
            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                config = vllm_config.model_config.hf_config
                _, _, self.layers = make_layers(
                    config.num_hidden_layers, lambda prefix: Gemma4DecoderLayer(config), prefix
                )

        # get_expert_mapping is spoken of here, and no class has it.
        class Gemma4ForCausalLM(nn.Module, SupportsLoRA):
            packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}

            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                self.model = Gemma4Model(vllm_config=vllm_config)

        class Tower(nn.Module):
            def __init__(self):
                super().__init__()
                self.q_proj = LinearBase(8)

        class Gemma4ForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsLoRA):
            packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
            hf_to_vllm_mapper = WeightsMapper(
                orig_to_new_prefix={
                    "model.vision_tower.": "vision_tower.",
                    "model.language_model.": "language_model.model.",
                }
            )

            def __init__(self, *, vllm_config, prefix=""):
                super().__init__()
                config = vllm_config.model_config.hf_config
                self.vision_tower = Tower()
                self.language_model = init_vllm_registered_model(
                    vllm_config=vllm_config,
                    hf_config=config.text_config,
                    architectures=["Gemma4ForCausalLM"],
                )

            def get_mm_mapping(self):
                towers = ["vision_tower"]
                return MultiModelKeys(language_model=["language_model"], tower_model=towers)
    """,
}
PACKED = """
    def get_packed_modules_mapping(model):
        return dict(model.packed_modules_mapping)
"""
BY_CLASS = {
    "_version.py": "__version__ = version = '0.24.0'\n",
    "model_executor/utils.py": PACKED
    + """
    def get_moe_expert_mapping(model):
        if parent_map := getattr(model, "get_expert_mapping", None):
            return parent_map()
        else:
            for child in model.children():
                child_map = getattr(child, "get_expert_mapping", None)
                if child_map is not None:
                    return child_map()
            return []
    """,
    "model_executor/layers/fused_moe/__init__.py": """
        from .layer import FusedMoE

        KIND = FusedMoE
    """,
    "model_executor/layers/fused_moe/layer.py": """
        import torch.nn as nn

        class FusedMoE(nn.Module):
            def __init__(self, num_experts):
                super().__init__()
                self.num_experts = num_experts
    """,
}
BY_WALK = {
    "_version.py": "__version__ = version = '0.33.0'\n",
    "model_executor/utils.py": PACKED
    + """
    def get_moe_expert_mapping(model):
        for _, module in model.named_modules():
            get_mapping = getattr(module, "get_expert_mapping", None)
            if get_mapping is not None:
                return get_mapping()
        raise ValueError("No module in the model has a `get_expert_mapping` method.")
    """,
    "model_executor/layers/fused_moe/__init__.py": """
        from .layer import FusedMoE
        from .runner import MoERunner as KIND
    """,
    "model_executor/layers/fused_moe/layer.py": """
        from .routed_experts import RoutedExperts
        from .runner import MoERunner

        def FusedMoE(num_experts):
            experts = RoutedExperts(num_experts)
            return MoERunner(experts)
    """,
    "model_executor/layers/fused_moe/runner.py": """
        import torch.nn as nn

        class MoERunner(nn.Module):
            def __init__(self, routed_experts):
                super().__init__()
                self.routed_experts = routed_experts
    """,
    "model_executor/layers/fused_moe/routed_experts.py": """
        import torch.nn as nn

        class RoutedExperts(nn.Module):
            def __init__(self, num_experts):
                super().__init__()
                self.num_experts = num_experts

            def get_expert_mapping(self):
                return [("w13", "experts.0.gate_proj.", 0, "w1")]
    """,
}
KINDS = {"by_class": BY_CLASS, "by_walk": BY_WALK}


def write_engine(folder, kind, changes):
    """Write one; ``changes`` are texts by file, None to leave a file out.

    Returns:
        the folder that holds the package.
    """
    files = {**COMMON, **KINDS[kind], **{_path(name): text for name, text in changes.items()}}
    for name, text in files.items():
        if text is None:
            continue
        path = Path(folder) / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return Path(folder)


def _path(name):
    """``models__llama`` is a file of a model; ``__`` stands for ``/`` where none is written."""
    path = (name if "/" in name else name.replace("__", "/")) + ".py"
    return path.replace("models/", MODELS, 1) if path.startswith("models/") else path
