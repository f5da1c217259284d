"""Peak of two training steps of a real class by torch's own tracker: fake tensors, no device."""

import warnings
from contextlib import contextmanager

from pfid.domain.training_plan import Method

RANK = 16


def adapt(model, method):
    """Put adapters on every linear module of the decoder, as PEFT does without autocast."""
    import torch

    class Adapted(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = packed(base) if method is Method.QLORA else base
            self.a = torch.nn.Linear(base.in_features, RANK, bias=False, dtype=torch.float32)
            self.b = torch.nn.Linear(RANK, base.out_features, bias=False, dtype=torch.float32)

        @property
        def weight(self):
            """Looked at by mixers that would hand it to a kernel."""
            return self.base.weight

        @property
        def bias(self):
            return self.base.bias

        def forward(self, x):
            out = self.base(x)
            return out + self.b(self.a(x.float())).to(out.dtype)

    model.requires_grad_(requires_grad=False)
    for name, module in list(model.base_model.named_modules()):
        if type(module) is torch.nn.Linear:
            parent, _, last = name.rpartition(".")
            setattr(model.base_model.get_submodule(parent), last, Adapted(module))
    model.enable_input_require_grads()


def packed(base):
    """A linear module whose weight lies in four bits and is whole only while it is used."""
    import torch

    shape = tuple(base.weight.shape)

    class Four(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(weight)
            return torch.nn.functional.linear(x, torch.empty(shape, dtype=x.dtype))

        @staticmethod
        def backward(_, gradient):
            return gradient @ torch.empty(shape, dtype=gradient.dtype), None

    class Packed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            elements = base.weight.numel()
            self.register_buffer("weight", torch.empty(elements // 2, dtype=torch.uint8))
            self.register_buffer("scales", torch.empty(elements // 64, dtype=torch.uint8))
            self.bias = base.bias

        def forward(self, x):
            out = Four.apply(x, self.weight)
            return out if self.bias is None else out + self.bias

    return Packed()


def memory_tracker():
    """Torch's tracker, which puts a hook on every parameter; a frozen one refuses."""
    from torch.distributed._tools.mem_tracker import MemTracker

    class Removed:
        def remove(self):
            """There was no hook."""

    class Tracker(MemTracker):
        def _track_module_params_and_buffers(self, module, **hooks):
            for parameter in module.parameters():
                if not parameter.requires_grad:
                    none = (Removed(), Removed())
                    self._param_to_grad_hook_handles.setdefault(parameter, none)
            return super()._track_module_params_and_buffers(module, **hooks)

    return Tracker()


@contextmanager
def one_document_a_row(told):
    """What transformers sees in the positions of rows without padding, and fake tensors hide.

    It hands no mask on then; fake ones look like packed documents to it, which want one.
    """
    from transformers import masking_utils

    before = masking_utils.find_packed_sequence_indices
    if told:
        masking_utils.find_packed_sequence_indices = lambda _: None
    try:
        yield
    finally:
        masking_utils.find_packed_sequence_indices = before


def tracked(config, plan):
    """Peak in bytes, and the names of the tensors."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import AutoModelForCausalLM

    with warnings.catch_warnings(), FakeTensorMode(allow_non_fake_inputs=True):
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        names = list(model.state_dict())
        model.train()
        if plan.method is not Method.FULL:
            adapt(model, plan.method)
        if plan.checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, foreach=False)
        ids = torch.zeros(plan.micro_batch, plan.sequence, dtype=torch.long)
        tracker = memory_tracker()
        tracker.track_external(model, optimizer, ids)
        with tracker, one_document_a_row(plan.masked is False):
            for _ in range(2):
                model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                tracker.reset_mod_stats()
        (peak,) = tracker.get_tracker_snapshot("peak").values()
    return peak["Total"], names


def families():
    """Shapes of a hundred million parameters or so, two layers each."""
    import transformers as t

    small = {"num_hidden_layers": 2, "vocab_size": 8192, "pad_token_id": 0}
    wide = {"num_attention_heads": 16, "num_key_value_heads": 4}
    plain = {"hidden_size": 2048, "intermediate_size": 8192}
    experts = {"hidden_size": 1024, "moe_intermediate_size": 512, "num_experts_per_tok": 4}
    routed = {"n_routed_experts": 16, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}
    few = {"num_attention_heads": 8, "num_key_value_heads": 2}
    delta = {
        "linear_num_key_heads": 8,
        "linear_num_value_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "head_dim": 256,
        "layer_types": ["linear_attention", "full_attention"],
    }
    scan = {"mamba_n_heads": 32, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_chunk_size": 64}
    return {
        "apertus": t.ApertusConfig(**plain, **small, **wide),
        "bloom": t.BloomConfig(hidden_size=1024, n_layer=2, n_head=16, vocab_size=8192),
        "nemotron": t.NemotronConfig(**plain, **small, **wide, head_dim=128),
        "qwen3_5": t.Qwen3_5TextConfig(
            hidden_size=2048, intermediate_size=6144, **delta, **few, **small
        ),
        "mamba2": t.Mamba2Config(
            hidden_size=2048, num_heads=64, head_dim=64, state_size=128, n_groups=1, chunk_size=64,
            **small,
        ),
        "qwen3_5_moe": t.Qwen3_5MoeTextConfig(
            hidden_size=1024, num_experts=16, num_experts_per_tok=4, moe_intermediate_size=512,
            shared_expert_intermediate_size=512, **delta, **few, **small,
        ),
        "granitemoehybrid": t.GraniteMoeHybridConfig(
            hidden_size=1024, intermediate_size=512, shared_intermediate_size=1024,
            num_local_experts=8, num_experts_per_tok=2, layer_types=["mamba", "attention"], **scan,
            **few, **small,
        ),
        "llama": t.LlamaConfig(**plain, **small, **wide),
        "gemma3": t.Gemma3TextConfig(
            hidden_size=1152, intermediate_size=6912, head_dim=256, num_attention_heads=4,
            num_key_value_heads=1, **small,
        ),
        "mixtral": t.MixtralConfig(
            hidden_size=1024, intermediate_size=3584, num_local_experts=8, **small, **wide
        ),
        "llama4": t.Llama4TextConfig(
            hidden_size=1280, intermediate_size=2048, intermediate_size_mlp=4096, head_dim=128,
            num_local_experts=8, num_attention_heads=10, num_key_value_heads=2, **small,
        ),
        "phi": t.PhiConfig(**plain, **small, num_attention_heads=32),
        "gemma2": t.Gemma2Config(
            hidden_size=1536, intermediate_size=6144, head_dim=256, num_attention_heads=8,
            num_key_value_heads=4, **small,
        ),
        "gpt_oss": t.GptOssConfig(
            hidden_size=1024, intermediate_size=1024, num_local_experts=8, num_experts_per_tok=2,
            head_dim=64, **small, **wide,
        ),
        "lfm2": t.Lfm2Config(
            **plain, **small, **wide, layer_types=["conv", "full_attention"],
            block_auto_adjust_ff_dim=False,
        ),
        "qwen2": t.Qwen2Config(
            hidden_size=1536, intermediate_size=8960, num_attention_heads=12,
            num_key_value_heads=2, **small,
        ),
        "mistral": t.MistralConfig(
            hidden_size=2048, intermediate_size=7168, head_dim=128, sliding_window=None, **small,
            **wide,
        ),
        "phi3": t.Phi3Config(
            **plain, **small, sliding_window=None, num_attention_heads=16, num_key_value_heads=16
        ),
        "cohere": t.CohereConfig(**plain, **small, **wide),
        "gpt2": t.GPT2Config(
            vocab_size=8192, n_layer=2, n_embd=1536, n_head=12, n_positions=4096, attn_pdrop=0.0,
            resid_pdrop=0.0, embd_pdrop=0.0,
        ),
        "glm4_moe": t.Glm4MoeConfig(
            intermediate_size=4096, n_shared_experts=1, head_dim=128, **experts, **routed,
            **small, **wide,
        ),
        "qwen3": t.Qwen3Config(
            hidden_size=2048, intermediate_size=6144, head_dim=128, **small, **wide
        ),
        "olmo2": t.Olmo2Config(**plain, **small, **wide),
        "starcoder2": t.Starcoder2Config(
            **plain, **small, **wide, sliding_window=None, residual_dropout=0.0,
            embedding_dropout=0.0,
        ),
        "stablelm": t.StableLmConfig(hidden_size=2048, intermediate_size=5632, **small, **wide),
        "qwen3_moe": t.Qwen3MoeConfig(
            hidden_size=1024, moe_intermediate_size=512, num_experts=32, num_experts_per_tok=4,
            head_dim=128, **small, **wide,
        ),
        "gemma4": t.Gemma4TextConfig(
            hidden_size=1408, intermediate_size=1056, head_dim=128, global_head_dim=256,
            num_attention_heads=8, num_key_value_heads=4, num_global_key_value_heads=1,
            enable_moe_block=True, num_experts=16, top_k_experts=4, moe_intermediate_size=352,
            layer_types=["sliding_attention", "full_attention"], sliding_window=512,
            attention_k_eq_v=True, hidden_size_per_layer_input=0, **small,
        ),
        "deepseek_v3": t.DeepseekV3Config(
            intermediate_size=4096, q_lora_rank=512, kv_lora_rank=256, qk_nope_head_dim=64,
            qk_rope_head_dim=32, v_head_dim=96, num_attention_heads=16, num_key_value_heads=16,
            **experts, **routed, **small,
        ),
    }  # fmt: skip
