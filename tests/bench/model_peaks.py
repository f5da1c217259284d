"""Peaks of every class for causal text by torch's own tracker, beside what pfid says of its type.

Each class is made with two layers, at the widths that its configuration has by default, under fake
tensors, and takes two steps: full training and adapters, with and without checkpointing. pfid is
asked twice, with the tensors' names and by the configuration alone.

Held: of a type in `pfid/formats/model_config/held.py` every peak lies within the narrow bounds; of
any other within the wide ones, so that an unknown type is never passed wrongly. A row says which
of the others would be held as well. `model_peaks.py TYPE…` takes some alone.
"""

import signal
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import transformers
from limits import Limits
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from pfid.analysis.memory.account import account
from pfid.analysis.memory.peak import CONTEXT
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.domain.weights import Weights
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.held import HELD
from pfid.formats.model_config.read import read_config
from pfid.formats.safetensors import Index
from pfid.formats.weights import weights_of

sys.path.insert(0, str(Path(__file__).parents[1] / "contract" / "viability"))  # what tests share
from test_norms import OWN
from tracked_peak import RANK, tracked

MIB = 1 << 20
RUN_MAX_S = 120
SQUARE, ROWS = (8, 2048), (32, 128)
"""Recurrent layers loop over chunks in Python, so that rows are short there."""
WAYS = [(m, c) for c in (False, True) for m in (Method.FULL, Method.LORA)]
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers")
SMALL = {
    **dict.fromkeys(DEPTHS, 2), "vocab_size": 8192, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "tie_word_embeddings": False,
}  # fmt: skip


LATENT = {
    "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 96, "kv_lora_rank": 256,
    "q_lora_rank": 512,
}  # fmt: skip
WIDE = {"hidden_size": 4096, "intermediate_size": 16384, "num_attention_heads": 32}
ROUTED = {
    "n_routed_experts": 16, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "moe_intermediate_size": 1024, "first_k_dense_replace": 1,
}  # fmt: skip
HERE = {
    **dict.fromkeys(("youtu", "minicpm3", "deepseek_v3"), LATENT),
    "deepseek_v2": {**LATENT, **ROUTED, "num_attention_heads": 16, "num_key_value_heads": 16},
    "mimo_v2_flash": {"v_head_dim": 192},
    "nemotron": WIDE,
    "dots1": ROUTED,
    "hunyuan_v1_moe": {"num_experts": 16, "moe_topk": 2},
}
"""Latent heads are as wide as their values: for others the CPU has no fused attention. The rest is
what a class refuses by default."""


def configured(kind):
    """Two layers without dropout, of which the CPU keeps more than a card."""
    name = kind.removesuffix("_text")
    plain, own = CONFIG_MAPPING[kind](), {**OWN.get(name, {}), **HERE.get(name, {})}
    other = getattr(plain, "attribute_map", {})
    drops = {k: 0.0 for k, v in plain.to_dict().items() if "drop" in k and isinstance(v, float)}
    small = {k: v for k, v in SMALL.items() if hasattr(plain, k) and other.get(k) not in SMALL}
    return CONFIG_MAPPING[kind](**{**drops, **small, **own})


def planned(method, checkpointing, shape):
    recurs = any(layer.recurrence is not None for layer in shape.layers)
    rows, sequence = ROWS if recurs else SQUARE
    return Plan(
        gpu_memory_bytes=1 << 40,
        method=method,
        sequence=sequence,
        micro_batch=rows,
        checkpointing=checkpointing,
        loss=Loss.WHOLE,
        rank=RANK,
        padded=True,
        float32=None if method is Method.FULL else True,
        fused=False,
    )


@contextmanager
def deadline():
    """A class that loops over every position in Python is left."""
    signal.signal(signal.SIGALRM, late)
    signal.alarm(RUN_MAX_S)
    try:
        yield
    finally:
        signal.alarm(0)


def late(*_):
    raise TimeoutError("it takes too long")


def bounds(shape, weights, plan):
    """Both bounds without a CUDA context, in bytes; None where pfid says that it cannot count."""
    found = account(shape, weights, plan).peak
    return found and (found.whole.low - CONTEXT.low, found.whole.high - CONTEXT.high)


def measured(kind):
    """Of each way the tracked peak, and both narrow bounds and both wide ones."""
    raw = configured(kind).to_dict()
    shape = read_config(raw)
    for method, checkpointing in WAYS:
        plan = planned(method, checkpointing, shape)
        if bounds(shape, Weights(), plan) is None:
            return
        with deadline():
            peak, names = tracked(configured(kind), plan)
        index = Index(shards=dict.fromkeys(names, "m"), total_bytes=None, total_parameters=None)
        for weights in (weights_of(index, ()), Weights()):
            asked = [bounds(replace(shape, held=held), weights, plan) for held in (True, False)]
            yield f"{method.value}{', checkpointed' * checkpointing}", peak, *asked


def row(kind, limits):
    """One type: the worst of its cases on either side, and whether its list is right."""
    found = list(measured(kind))
    if not found:
        print(f"| {kind} | not counted | | |", flush=True)
        return
    under = max(narrow[0] / peak for _, peak, narrow, _ in found)
    over = max(peak / narrow[1] for _, peak, narrow, _ in found)
    within, is_held = max(under, over) <= 1, kind.removesuffix("_text") in HELD
    wide = all(low <= peak <= high for _, peak, _, (low, high) in found)
    said = "held" if is_held else "may be held" if within else "wide"
    print(f"| {kind} | {said} | {under:.3f} | {over:.3f} |", flush=True)
    if is_held:
        limits.true(f"{kind}: every peak lies within the bounds", within)
    limits.true(f"{kind}: every peak lies within those of a type that was never held", wide)


def main(kinds):
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    limits = Limits()
    print("| type | pfid | low bound / peak, worst | peak / high bound, worst |")
    print("|---|---|---|---|")
    for kind in kinds or MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            row(kind, limits)
        except (ModelConfigError, TimeoutError) as error:
            print(f"| {kind} | not counted: {str(error)[:60]} | | |", flush=True)
        except Exception as error:  # noqa: BLE001 - a default that its own class refuses
            print(f"| {kind} | not made: {type(error).__name__} | | |", flush=True)
    return limits.status()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
