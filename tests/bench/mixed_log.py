"""A training log of every dialect at once, as large as asked, the same bytes every time.

``MIXES`` says how many of 1,000 lines are of which kind: in ``mixed`` 24 carry a step, as where a
program prints every few seconds and its libraries talk all the time; in ``dense`` 240 do; ``bar``
is little but a bar redrawn. Ordinary lines are what programs print beside: timestamped messages,
warnings with paths, a table of a configuration, a traceback now and then.
Bars end with a carriage return, as on a terminal; a few messages begin in the middle of one.
"""

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 20261129
BLOCK_LINES = 20_000
BEGAN = datetime(2026, 8, 21, 10, tzinfo=UTC)
_STEPS = {
    "tqdm": 10,
    "hf_dict": 3,
    "torchtitan": 2,
    "megatron": 2,
    "deepspeed": 2,
    "nanogpt": 2,
    "json": 2,
    "lightning": 1,
}
MIXES = {
    "mixed": {"ordinary": 976, **_STEPS},
    "dense": {"ordinary": 760, **{kind: share * 10 for kind, share in _STEPS.items()}},
    "bar": {"ordinary": 50, "tqdm": 940, "nanogpt": 10},
}
_SAID = """
loading shard from cache directory while the dataset is being tokenized by worker process optimizer
state gradient norm clipped learning rate schedule rank group allocated memory reserved cuda stream
collective all_reduce bucket broadcast parameters
"""
_WORDS = _SAID.split()
TOTAL = 900_000_000
TEMPLATES = {
    "tqdm": "\r{percent:3}%|##        | {step}/{total} [{at}<12:43:50, {took_s:5.2f}s/it]{glued}",
    "lightning": "\rEpoch 0:   1%|▏ | {step}/{total} [{at}<12:43:50,  {rate:.2f}it/s, v_num=3]",
    "hf_dict": "{{'loss': '{loss:.4f}', 'grad_norm': '0.6211', 'learning_rate': '5e-05', "
    "'epoch': '{epoch:.4f}'}}\n",
    "torchtitan": "[titan] {stamp},345 - root - INFO - \x1b[31mstep: {step}  "
    "\x1b[32mloss: {loss:8.5f}  \x1b[38;2;180;60;0mgrad_norm:  0.5321  \x1b[33mmemory: "
    "45.21GiB(57.08%)  \x1b[34mtps: 7,321  \x1b[36mtflops: 398.21  \x1b[35mmfu: 40.27%\x1b[39m\n",
    "megatron": " [{stamp}.123456] iteration {step:8}/ {total} | consumed samples: "
    "{samples:12} | elapsed time per iteration (ms): {took_ms:.1f} | throughput per GPU "
    "(TFLOP/s/GPU): 612.3 | learning rate: 2.400000E-05 | global batch size:  1024 | lm loss: "
    "{loss:.6E} | loss scale: 1.0 | grad norm: 0.512 | number of skipped iterations:   0 | "
    "number of nan iterations:   0 |\n",
    "deepspeed": "[{stamp},123] [INFO] [timer.py:264:stop] epoch=0/micro_step={step}/"
    "global_step={step}, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec={samples_per_s:.2f}, "
    "MemAllocated=1.2GB, MaxMemAllocated=30.1GB\n",
    "nanogpt": "iter {step}: loss {loss:.4f}, time {took_ms:.2f}ms, mfu 31.20%\n",
    "json": '{{"current_steps": {step}, "total_steps": {total}, "loss": {loss:.4f}, "lr": 5e-05, '
    '"epoch": 0.1, "percentage": 0.1, "elapsed_time": "{at}", "remaining_time": "12:43:50"}}\n',
}


def write(path: Path, size_bytes: int, mix: dict[str, int]) -> dict[str, int]:
    """Write the log; return how many lines of each kind it holds."""
    counts = dict.fromkeys(mix, 0)
    written = 0
    with path.open("wb") as file:
        for block in _blocks(counts, mix):
            file.write(block)
            written += len(block)
            if written >= size_bytes:
                return counts
    raise AssertionError("blocks do not end")


def _blocks(counts: dict[str, int], mix: dict[str, int]) -> Iterator[bytes]:
    chance = random.Random(SEED)
    ordinary = [_ordinary(chance, n) for n in range(4000)]
    kinds, weights = list(mix), list(mix.values())
    step = 0
    while True:
        lines = []
        for kind in chance.choices(kinds, weights, k=BLOCK_LINES):
            counts[kind] += 1
            step += 1
            lines.append(chance.choice(ordinary) if kind == "ordinary" else _step(kind, step))
        yield "".join(lines).encode()


def _ordinary(chance: random.Random, n: int) -> str:
    words = " ".join(chance.choices(_WORDS, k=chance.randint(6, 18)))
    if n % 400 == 0:
        return (
            "Traceback (most recent call last):\n"
            f'  File "/opt/train/data.py", line {n}, in __next__\n    return next(self.it)\n'
            "ConnectionResetError: [Errno 104] Connection reset by peer\n"
        )
    if n % 7 == 0:
        return (
            f"/opt/train/venv/lib/python3.11/site-packages/data/{n}.py:88: UserWarning: {words}\n"
        )
    if n % 11 == 0:
        return f"    {words[:20]!r}: {chance.random():.6f},\n"
    return f"2026-08-21 10:{n % 60:02}:{n % 59:02},{n % 1000:03} - train.data - INFO - {words}\n"


def _step(kind: str, step: int) -> str:
    took_s = 0.9 + (step * 7919 % 200) / 1000
    return TEMPLATES[kind].format(
        step=step,
        total=TOTAL,
        percent=step * 100 // TOTAL,
        at=f"{step // 3600:02}:{step // 60 % 60:02}:{step % 60:02}",
        stamp=(BEGAN + timedelta(seconds=step)).strftime("%Y-%m-%d %H:%M:%S"),
        took_s=took_s,
        took_ms=took_s * 1000,
        rate=1 / took_s,
        loss=2.0 + (step * 104729 % 1000) / 1000,
        epoch=step / 1e6,
        samples=step * 1024,
        samples_per_s=16 / took_s,
        glued="" if step % 10 else "[rank0] a message that begins in the middle\n",
    )


if __name__ == "__main__":
    mix = MIXES[sys.argv[3]]
    sys.stdout.write(f"{write(Path(sys.argv[1]), int(sys.argv[2]) << 20, mix)}\n")
