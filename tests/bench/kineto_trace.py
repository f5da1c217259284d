"""A trace as Kineto writes it, of any size and the same bytes every time, for ``trace.py``."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

NAMES = 51
STEPS = 10
HEAD = """
{
  "schemaVersion": 1,
  "distributedInfo": {"rank": 0},
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85097971712,
      "computeMajor": 8, "computeMinor": 0, "warpSize": 32, "numSms": 108
    }
  ],
  "record_shapes": 1,
  "traceEvents": [
"""
TAIL = """
  ],
  "traceName": "bench.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1735632360000000000
}
"""
OP = """  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::{op}", "pid": 4037, "tid": 4037,
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": {n},"Record function id": 0, "Concrete Inputs": ["", "", "", "1"], \
"Input type": ["float", "float", "float", "Scalar"], "Input Dims": [[64], [8, 64], [64, 64], []], \
"Ev Idx": {n}
    }}
  }}"""
LAUNCH = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4037, "tid": 4037,
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": {n},
      "cbid": 211, "correlation": {n}
    }}
  }},
  {{
    "ph": "s", "id": {n}, "pid": 4037, "tid": 4037, "ts": {ts},
    "cat": "ac2g", "name": "ac2g"
  }}"""
KERNEL = """  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream},
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": {n},
      "queued": 0, "device": 0, "context": 1,
      "stream": {stream}, "correlation": {n},
      "registers per thread": 32,
      "shared memory": 1024,
      "blocks per SM": 1.185185, "warps per SM": 4.740741,
      "grid": [128, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": 7
    }}
  }},
  {{
    "ph": "f", "id": {n}, "pid": 0, "tid": {stream}, "ts": {ts},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"""
COPY = """  {{
    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, \
"tid": {stream},
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": {n},
      "device": 0, "context": 1,
      "stream": {stream}, "correlation": {n},
      "bytes": 92928, "memory bandwidth (GB/s)": 7.744
    }}
  }}"""
STEP = """  {{
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{n}", "pid": 4037, "tid": 4037,
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": {n},"Record function id": {n}, "Ev Idx": {n}
    }}
  }}"""


def names() -> list[str]:
    """Kernel names of the lengths that real traces have."""
    functors = [f"at::native::CUDAFunctor_{n}<float>" for n in range(NAMES - 6)]
    return [
        "ampere_sgemm_32x32_sliced1x4_tn",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        (
            "fmha_cutlassF_bf16_aligned_32x128_gmem_sm80(PyTorchMemEffAttention::AttentionKernel"
            "<cutlass::bfloat16_t, cutlass::arch::Sm80, true, 32, 128, 65536, true, true>::Params)"
        ),
        (
            "fmha_cutlassB_bf16_aligned_128x64_k65536_sm80(PyTorchMemEffAttention::"
            "AttentionBackwardKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true>::Params)"
        ),
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "triton_poi_fused_add_mul_silu_7",
        *(
            f"void at::native::vectorized_elementwise_kernel<4, {one}, std::array<char*, 3ul> >"
            f"(int, {one}, std::array<char*, 3ul>)"
            for one in functors
        ),
    ]


def records(launches: int, *, host: bool = True) -> Iterator[str]:
    """The rows of so many launches, in ten steps, on two streams that overlap a little.

    Args:
        launches: how many device rows.
        host: with the host's rows; without them a trace of CUDA's activities alone.
    """
    rng = random.Random(7)
    kernels = names()
    at_ns = 4_203_669_603_187_439
    device_ns = at_ns
    began_ns = at_ns
    for n in range(launches):
        which = min(int(rng.expovariate(0.12)), NAMES - 1)
        if host:
            for op in ("add", "mul"):
                yield OP.format(op=op, ts=_us(at_ns), dur=_us(rng.randrange(3000, 9000)), n=n)
            yield LAUNCH.format(ts=_us(at_ns + 500), dur=_us(rng.randrange(2000, 6000)), n=n)
        dur_ns = int(rng.lognormvariate(8 + which % 5, 0.4))
        start_ns = max(device_ns, at_ns + 9000) - (rng.randrange(400) if which == 4 else 0)
        stream = 20 if which == 4 else 7
        row = COPY if n % 400 == 0 else KERNEL
        yield row.format(name=kernels[which], stream=stream, ts=_us(start_ns), dur=_us(dur_ns), n=n)
        device_ns = start_ns + dur_ns + rng.randrange(800)
        at_ns += 10_000
        if (n + 1) % (launches // STEPS) == 0:
            end_ns = max(at_ns, device_ns)
            step = n // (launches // STEPS)
            yield STEP.format(n=step, ts=_us(began_ns), dur=_us(end_ns - began_ns))
            at_ns = began_ns = end_ns


def write(path: Path, launches: int, *, host: bool = True) -> None:
    """Write a trace, gzipped, with ``launches`` device rows.

    Each takes about 1,870 bytes with what the host did for it, and 680 alone.
    """
    with gzip.open(path, "wt", compresslevel=6) as file:
        file.write(HEAD)
        between = ""
        for record in records(launches, host=host):
            file.write(between)
            file.write(record)
            between = ",\n"
        file.write(TAIL)


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03}"
