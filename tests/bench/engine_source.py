"""How long an installed engine's source takes to answer about a class, and a whole viability.

The source is vLLM's own, out of its wheels (tests/contract/engine/parts/vllm_wheel.py), never
imported. Each look begins anew in a process of its own, interpreter's start and all other checks in
it. The limit holds the quickest of some rounds by the seconds of CPU, which are those of the wall
clock on a quiet box: a neighbour's work is none of pfid's. Each answer is held as well: it was
read in that source (tests/contract/engine/test_real_vllm.py).
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from limits import Limits

sys.path.insert(0, str(Path(__file__).parents[1] / "contract" / "engine" / "parts"))
from vllm_wheel import source_of

SOURCE_MAX_S = 5.0
WHOLE_MAX_S = 5.0
ROUNDS = 3
VERSIONS = ("0.24.0", "0.33.0")
DENSE = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
EXPERTS = {**DENSE, "num_local_experts": 8, "num_experts_per_tok": 2}
CLASSES = {
    # configuration, then (mapping, support) by the rule of each version
    "MixtralForCausalLM": (EXPERTS, ("mapped", "supported"), ("mapped", "supported")),
    "MistralForCausalLM": (DENSE, ("dense", "supported"), ("dense", "supported")),
    "GraniteMoeForCausalLM": (EXPERTS, ("mapping_missing", "supported"), ("mapped", "supported")),
    "MiMoV2FlashForCausalLM": (EXPERTS, ("mapped", "not_supported"), ("mapped", "not_supported")),
    "NobodyForCausalLM": (EXPERTS, ("backend_fallback",) * 2, ("backend_fallback",) * 2),
}


def children_s():
    """CPU that ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def asked(config, *more):
    """Seconds of CPU and of the clock for one call, and what two checks said."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config))
        call = [sys.executable, "-P", "-m", "pfid", "viability", str(file), "--gpu-memory", "96GiB"]
        begun, used = time.perf_counter(), children_s()
        done = subprocess.run([*call, *more, "--json"], capture_output=True, text=True, check=False)
        took = children_s() - used, time.perf_counter() - begun
    verdicts = {v["check"]: v["reason"] for v in json.loads(done.stdout)["verdicts"]}
    return *took, verdicts["expert_mapping"], verdicts["lora_supported"]


def best(config, *more):
    """The quickest of some rounds."""
    return min(asked(config, *more) for _ in range(ROUNDS))


def main():
    limits, longest = Limits(), 0.0
    asked(DENSE)  # proves the checks, which are kept proven
    print("| vLLM | class | CPU s | wall s | expert_mapping | lora_supported |")
    print("|---|---|---|---|---|---|")
    wrong = []
    for at, version in enumerate(VERSIONS):
        where = ("--engine", "vllm", "--engine-path", str(source_of(version)))
        for name, (config, *expected) in CLASSES.items():
            took, wall, *said = best({**config, "architectures": [name]}, *where)
            longest = max(longest, took)
            wrong += [f"{name} of {version}"] if tuple(said) != expected[at] else []
            row = f"| {version} | {name} | {took:.2f} | {wall:.2f} | {' | '.join(said)} |"
            print(row, flush=True)
    without, *_ = best(DENSE)
    limits.true(f"each class is answered as its source says {wrong or ''}".rstrip(), not wrong)
    limits.at_most("viability with the engine's source, the longest", longest, SOURCE_MAX_S, "s")
    limits.at_most("viability without an engine", without, WHOLE_MAX_S, "s")
    return limits.status()


if __name__ == "__main__":
    sys.exit(main())
