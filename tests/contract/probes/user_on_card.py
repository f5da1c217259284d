"""A training whose profile holds what a card's has: torch's own file, with device rows put in.

The rows are as Kineto writes them for CUDA (key order, three decimals, categories); they stand
inside the windows of the steps that torch itself wrote.
"""

import json
from pathlib import Path

import torch
import user_training

ATTENTION = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4, false, false, "
    "cutlass::bfloat16_t>, false, true, false, false>(pytorch_flash::Flash_fwd_params)"
)
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ROWS = (
    # category, name, stream, begin and duration in ns behind the step's begin
    ("kernel", ATTENTION, 7, 1_000, 6_000),
    ("kernel", GEMM, 7, 8_000, 3_000),
    ("kernel", ELEMENTWISE, 7, 12_000, 1_000),
    ("kernel", NCCL, 20, 9_000, 4_000),
    ("kernel", "a_kernel_of_my_own", 7, 14_000, 500),
    ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 15_000, 700),
    ("gpu_memset", "Memset (Device)", 7, 16_000, 300),
    ("gpu_user_annotation", "ProfilerStep#1", 7, 999, 20_002),
    ("cuda_sync", "Stream Synchronize", 7, 2_000, 15_000),
)
DEVICE = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}


def _us(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


def _rows(step):
    begin_ns = round(step["ts"] * 1000)
    for n, (category, name, stream, at, lasted) in enumerate(ROWS):
        yield f"""  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": {stream},
    "ts": {_us(begin_ns + at)}, "dur": {_us(lasted)},
    "args": {{
      "External id": {n}, "device": 0, "context": 1, "stream": {stream}, "correlation": {n}
    }}
  }}"""


class OnCard(torch.profiler.profile):
    """torch's profiler on a machine with a card."""

    def export_chrome_trace(self, path):
        super().export_chrome_trace(path)
        text = Path(path).read_text()
        events = json.loads(text)["traceEvents"]
        steps = [e for e in events if e.get("name", "").startswith("ProfilerStep#")]
        more = ",\n".join(row for step in steps for row in _rows(step))
        begun, found, rest = text.partition('"traceEvents": [\n')
        properties = '"deviceProperties": ' + json.dumps([DEVICE]) + ",\n  "
        at = begun.rindex("\n  ") + 3 if found else 0
        Path(path).write_text(begun[:at] + properties + begun[at:] + found + more + ",\n" + rest)


torch.profiler.profile = OnCard
step = user_training.alone
