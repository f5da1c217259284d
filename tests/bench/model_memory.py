"""Weights and training peak by ``pfid viability``, beside ``accelerate estimate-memory`` and truth.

Truth is computed: parameters of the real class on the meta device, and the peak of two steps by
torch's own tracker under fake tensors (tests/contract/viability/tracked_peak.py). accelerate's
figures are those of its own functions for the same class, without its look at the Hub: it loads the
bare model and says four times its size for a step with Adam.

Held: pfid's bounds hold the real class's weights and the tracked peak, and are no wider than they
may be; accelerate's figures lie off both as it is said of them.
"""

import sys
from pathlib import Path

import torch
from accelerate import init_empty_weights
from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
from limits import Limits
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    LlamaConfig,
    MixtralConfig,
    Qwen3MoeConfig,
)

from pfid.analysis.memory.account import account
from pfid.analysis.memory.parameters import count_parameters
from pfid.analysis.memory.peak import CONTEXT
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.formats.model_config.read import read_config
from pfid.formats.safetensors import Index
from pfid.formats.weights import weights_of

MIB = 1 << 20
PEAKS = ("llama", "gemma3", "mixtral", "phi3", "cohere", "deepseek_v3")
SQUARE = (2, 2048)
COUNT_WIDE_MAX = 0.005
WIDE_MAX = 0.15
STEP_OFF_MIN = 0.2
"""How far accelerate's figure for a step lies off at the least: nothing in it knows of tokens."""
KNOWN_GIB = 64.73
"""What it said of a model that takes about 140 GB (huggingface/accelerate#3379)."""
sys.path.insert(0, str(Path(__file__).parents[1] / "contract" / "viability"))  # what tests share


def by_accelerate(config):
    """Bytes of the weights and of a step, both as its command would print them for bfloat16."""
    with init_empty_weights():
        model = AutoModel.from_config(config, dtype=torch.float32)
    size, _ = calculate_maximum_sizes(model)
    return size // 2, max(estimate_training_usage(size, "bfloat16").values())


def before_3383(config):
    """What its command said for float16 before it passed a type (huggingface/accelerate#3379).

    transformers of that time made the weights in the type of the configuration, and they were
    halved as if they were float32. Today's makes them in float32 where no type is passed.
    """
    with torch.device("meta"):
        model = AutoModel.from_config(config, dtype=torch.bfloat16)
    size, _ = calculate_maximum_sizes(model)
    return size // 2


def known_case(limits):
    """The 70 B that was said to take 64.73 GB and takes about 140."""
    config = LlamaConfig(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
        num_key_value_heads=8, vocab_size=128256, dtype="bfloat16",
    )  # fmt: skip
    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    true = 2 * sum(p.numel() for p in whole.parameters())
    counted = count_parameters(read_config(config.to_dict()))
    now, _ = by_accelerate(config)
    before = before_3383(config)
    off = abs(before / (1 << 30) - KNOWN_GIB)
    limits.true("70 B: the real class lies within pfid's bounds", holds(counted, true))
    limits.at_most("70 B: GiB between the known figure and what accelerate said", off, 0.01)
    for name, size in (
        ("real class", true),
        ("pfid", counted.low + counted.high),
        ("accelerate", now),
        ("accelerate before #3383", before),
    ):
        print(f"| {name} | {size / 1e9:.2f} | {size / (1 << 30):.2f} |")


def holds(counted, true):
    """Whether counted parameters, two bytes each, hold bytes that are true, and closely."""
    close = counted.high - counted.low <= COUNT_WIDE_MAX * counted.high
    return close and 2 * counted.low <= true <= 2 * counted.high


def row(name, config, limits):
    from tracked_peak import tracked

    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    weights = sum(p.numel() * p.element_size() for p in whole.parameters())
    plan = Plan(
        gpu_memory_bytes=1 << 40,
        method=Method.FULL,
        sequence=SQUARE[1],
        micro_batch=SQUARE[0],
        loss=Loss.WHOLE,
    )
    true, names = tracked(config, plan)
    index = Index(shards=dict.fromkeys(names, "m"), total_bytes=None, total_parameters=None)
    found = account(read_config(config.to_dict()), weights_of(index, ()), plan)
    theirs, step = by_accelerate(config)
    ours = (found.weights.low + found.weights.high) / 2
    low = round((found.peak.whole.low - CONTEXT.low) / MIB)
    high = round((found.peak.whole.high - CONTEXT.high) / MIB)
    print(
        f"| {name} | {weights / MIB:.0f} | {ours / MIB:.0f} | {theirs / MIB:.0f} "
        f"| {true / MIB:.0f} | {low}-{high} | {step / MIB:.0f} |"
    )
    limits.true(f"{name}: the tracked peak lies within pfid's bounds", low <= true / MIB <= high)
    limits.at_most(f"{name}: half of the bounds' width", (high - low) / (high + low), WIDE_MAX)
    limits.at_least(f"{name}: accelerate's step is off", abs(step - true) / true, STEP_OFF_MIN)


def full_size():
    """Shapes as published: an 8 B, a mixture of 141 B, one of many small experts."""
    return {
        "Llama-3.1-8B": LlamaConfig(
            hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
            num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
        ),
        "Mixtral-8x22B": MixtralConfig(
            hidden_size=6144, intermediate_size=16384, num_hidden_layers=56,
            num_attention_heads=48, num_key_value_heads=8, num_local_experts=8, vocab_size=32000,
        ),
        "Qwen3-30B-A3B": Qwen3MoeConfig(
            hidden_size=2048, moe_intermediate_size=768, num_hidden_layers=48, head_dim=128,
            num_attention_heads=32, num_key_value_heads=4, num_experts=128, vocab_size=151936,
        ),
    }  # fmt: skip


def weights_row(name, config, limits):
    with torch.device("meta"):
        whole = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    true = 2 * sum(p.numel() for p in whole.parameters())
    counted = count_parameters(read_config(config.to_dict()))
    theirs, _ = by_accelerate(config)
    ours = counted.low + counted.high
    print(f"| {name} | {true / 1e9:.2f} | {ours / 1e9:.2f} | {theirs / 1e9:.2f} |")
    limits.true(f"{name}: the real class lies within pfid's bounds", holds(counted, true))
    limits.true(f"{name}: accelerate leaves the output head out", theirs < 2 * counted.low)


def main():
    from tracked_peak import families

    limits = Limits()
    print("GB of weights in bfloat16, by the configuration alone")
    print("| model | real class | pfid | accelerate |")
    print("|---|---|---|---|")
    for name, config in full_size().items():
        weights_row(name, config, limits)
    print("MiB, full training in bfloat16, checkpointed, 2 x 2048 tokens, without CUDA context")
    print("| model | weights | pfid | accelerate | tracked peak | pfid | accelerate |")
    print("|---|---|---|---|---|---|---|")
    for name in PEAKS:
        row(name, families()[name], limits)
    print("Llama-3.1-70B in bfloat16")
    print("| by | GB | GiB |")
    print("|---|---|---|")
    known_case(limits)
    return limits.status()


if __name__ == "__main__":
    sys.exit(main())
