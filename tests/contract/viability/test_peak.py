"""The account of memory against torch's own tracker: real classes under fake tensors."""

import warnings

import pytest

from pfid.analysis.memory.account import account
from pfid.analysis.memory.peak import CONTEXT, SLACK
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.formats.model_config.read import read_config
from pfid.formats.safetensors import Index
from pfid.formats.weights import weights_of

pytestmark = [pytest.mark.full, pytest.mark.torch]
BATCH, SEQUENCE, RANK = 2, 2048, 16
SHARE_MAX = 0.15


def configs():
    import transformers as t

    small = {"num_hidden_layers": 2, "vocab_size": 8192, "pad_token_id": 0}
    wide = {"num_attention_heads": 16, "num_key_value_heads": 4}
    return {
        "llama": t.LlamaConfig(hidden_size=2048, intermediate_size=8192, **small, **wide),
        "qwen3": t.Qwen3Config(
            hidden_size=2048, intermediate_size=6144, head_dim=128, **small, **wide
        ),
        "gemma3": t.Gemma3TextConfig(
            hidden_size=1152, intermediate_size=6912, head_dim=256, num_attention_heads=4,
            num_key_value_heads=1, **small,
        ),
        "mixtral": t.MixtralConfig(
            hidden_size=1024, intermediate_size=3584, num_local_experts=8, **small, **wide
        ),
    }  # fmt: skip


def adapt(model):
    """Put adapters on every linear module of the decoder, as PEFT does without autocast."""
    import torch

    class Adapted(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.a = torch.nn.Linear(base.in_features, RANK, bias=False, dtype=torch.float32)
            self.b = torch.nn.Linear(RANK, base.out_features, bias=False, dtype=torch.float32)

        def forward(self, x):
            out = self.base(x)
            return out + self.b(self.a(x.float())).to(out.dtype)

    model.requires_grad_(requires_grad=False)
    for name, module in list(model.model.named_modules()):
        if type(module) is torch.nn.Linear:
            parent, _, last = name.rpartition(".")
            setattr(model.model.get_submodule(parent), last, Adapted(module))
    model.enable_input_require_grads()


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


def tracked(config, method, *, checkpointing):
    """Peak of two steps by torch's tracker, without device, and the names of the tensors."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import AutoModelForCausalLM

    with warnings.catch_warnings(), FakeTensorMode(allow_non_fake_inputs=True):
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        names = list(model.state_dict())
        model.train()
        if method is Method.LORA:
            adapt(model)
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, foreach=False)
        ids = torch.zeros(BATCH, SEQUENCE, dtype=torch.long)
        tracker = memory_tracker()
        tracker.track_external(model, optimizer, ids)
        with tracker:
            for _ in range(2):
                model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                tracker.reset_mod_stats()
        (peak,) = tracker.get_tracker_snapshot("peak").values()
    return peak["Total"], names


@pytest.mark.parametrize(
    ("family", "method", "checkpointing"),
    [
        ("llama", Method.FULL, True),
        ("llama", Method.FULL, False),
        ("llama", Method.LORA, True),
        ("qwen3", Method.LORA, False),
        ("gemma3", Method.FULL, True),
        ("mixtral", Method.FULL, False),
    ],
)
def test_the_tracked_peak_lies_within_bounds_that_decide(family, method, checkpointing):
    config = configs()[family]
    peak, names = tracked(config, method, checkpointing=checkpointing)
    plan = Plan(
        gpu_memory_bytes=1 << 40,
        method=method,
        sequence=SEQUENCE,
        micro_batch=BATCH,
        checkpointing=checkpointing,
        loss=Loss.WHOLE,
        rank=RANK,
        float32=True if method is Method.LORA else None,
    )
    index = Index(shards=dict.fromkeys(names, "m"), total_bytes=None, total_parameters=None)
    found = account(read_config(config.to_dict()), weights_of(index, ()), plan).peak
    assert found is not None
    low = found.whole.low - CONTEXT.low
    high = found.whole.high - CONTEXT.high
    assert low <= peak <= high, (round(low / 2**20), round(peak / 2**20), round(high / 2**20))
    assert (high - low) / (high + low) <= SHARE_MAX + SLACK.high / 2
