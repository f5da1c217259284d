"""What recurrent mixers of transformers keep without fused kernels, tensor by tensor.

One forward pass under fake tensors with a hook on everything that is saved: no device, no kernel.
"""

import warnings

import pytest

from pfid.analysis.memory.recurrent import is_accounted, recurrent_bytes
from pfid.domain.model import Mixer
from pfid.domain.training_plan import Method, Plan
from pfid.formats.model_config.read import read_config

pytestmark = [pytest.mark.full, pytest.mark.torch]
ROWS = 4
STEPPING = {"mamba", "jamba"}
"""Go on token by token in Python: short rows."""
SMALL = {"num_hidden_layers": 2, "vocab_size": 512, "pad_token_id": 0, "hidden_size": 512}
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64}
DELTA = {
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 128,
}
SCAN = {"mamba_n_heads": 16, "mamba_d_head": 64, "mamba_d_state": 128}
MIXERS = {
    # model type: class of the mixer, fields
    "qwen3_next": ("Qwen3NextGatedDeltaNet", {**DELTA, **HEADS}),
    "qwen3_5_text": ("Qwen3_5GatedDeltaNet", {**DELTA, **HEADS}),
    "mamba2": ("Mamba2Mixer", {"num_heads": 16, "head_dim": 64, "n_groups": 1}),
    "mamba": ("MambaMixer", {}),
    "olmo_hybrid": (
        "OlmoHybridGatedDeltaNet",
        {
            "linear_num_key_heads": 4,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 96,
            "linear_value_head_dim": 192,
        },
    ),
    "nemotron_h": (
        "NemotronHMamba2Mixer",
        {
            "hybrid_override_pattern": "M*",
            "mamba_num_heads": 16,
            "mamba_head_dim": 64,
            "ssm_state_size": 64,
            "n_groups": 8,
            "chunk_size": 64,
            **HEADS,
        },
    ),
    "bamba": ("BambaMixer", {**SCAN, "attn_layer_indices": [1]}),
    "granitemoehybrid": ("GraniteMoeHybridMambaLayer", {**SCAN, "layer_types": ["mamba"] * 2}),
    "jamba": ("JambaMambaMixer", {"attn_layer_period": 2, "attn_layer_offset": 1, **HEADS}),
}
"""The first four taught the account; nothing was adjusted to the rest."""


def length_of(kind):
    return 64 if kind in STEPPING else 256


def described_and_kept(kind, trains):
    """The layer as its configuration describes it, and bytes a token that its mixer saves."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import CONFIG_MAPPING

    name, fields = MIXERS[kind]
    folder = kind.removesuffix("_text")
    modelling = __import__(f"transformers.models.{folder}.modeling_{folder}", fromlist=[name])
    config = CONFIG_MAPPING[kind](**{**SMALL, **fields})
    sizes, kept = {}, []

    def saved(tensor):
        kept.append(tensor)  # a storage that is gone would give its address to the next
        storage = tensor.untyped_storage()
        sizes[storage._cdata] = storage.nbytes()
        return tensor

    with warnings.catch_warnings(), FakeTensorMode(allow_non_fake_inputs=True):
        warnings.simplefilter("ignore")
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            mixer = getattr(modelling, name)(config, 0)
        finally:
            torch.set_default_dtype(before)
        mixer.train().requires_grad_(trains)
        shape = (ROWS, length_of(kind), config.hidden_size)
        x = torch.empty(shape, dtype=torch.bfloat16, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor):
            norm = x * 1
            mixer(norm)
        for own in (norm, *mixer.parameters()):  # what comes in is the norm's before it
            sizes.pop(own.untyped_storage()._cdata, None)
    raw = config.to_dict()
    layers = read_config(raw).layers
    layer = next(one for one in layers if one.recurrence is not None)
    return layer, sum(sizes.values()) / (ROWS * length_of(kind))


@pytest.mark.parametrize("method", [Method.FULL, Method.LORA])
@pytest.mark.parametrize("kind", MIXERS)
def test_a_mixer_without_kernels_keeps_what_is_counted(kind, method):
    layer, real = described_and_kept(kind, method is Method.FULL)
    plan = Plan(gpu_memory_bytes=1 << 40, method=method, sequence=length_of(kind), fused=False)
    counted = recurrent_bytes(layer, plan).kept
    assert is_accounted(layer)
    assert 0.98 * counted.low <= real <= 1.02 * counted.high, (counted, real)
    assert counted.high <= 1.15 * counted.low


def test_with_kernels_it_keeps_a_fraction_of_that():
    layer, real = described_and_kept("qwen3_5_text", trains=False)
    assert layer.mixer is Mixer.DELTA
    plan = Plan(gpu_memory_bytes=1 << 40, sequence=256, fused=True)
    assert recurrent_bytes(layer, plan).kept.high < 0.6 * real
