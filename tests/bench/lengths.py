"""What a sweep over lengths takes, and building an epoch beside transformers' length grouping.

Limits of the project: one million lengths with the whole sweep in 3 s, ten million in 30 s and
1.5 GB. The peer groups lengths only: it makes indices and no figure, so its time is a ratio to an
epoch of the sampler's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

import numpy as np
from limits import Limits

ROUNDS = 3
SWEEPS = ((1_000_000, 3.0, 1.5e9, ROUNDS), (10_000_000, 30.0, 1.5e9, 1))
KINDS = (
    ".npy",
    ".npy with sources",
    "text",
    "JSON",
    "JSON lines with sources",
    "JSON records with sources",
    "JSON columns with sources",
)
SOURCES = ("web", "the-stack/python", "books", "arxiv", "stackexchange", "news", "wikipedia.en")
EPOCH = 1_000_000
BATCH = 8
PEER = """
import gc, random, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import torch
from transformers.trainer_pt_utils import LengthGroupedSampler
from pfid.trainer import PairedBucketSampler
lengths = np.load(sys.argv[1]).tolist()
batch = int(sys.argv[2])

def figures(batches):
    width = [max(lengths[i] for i in b) for b in batches]
    padded = sum(w * len(b) for w, b in zip(width, batches))
    part = [batches[i : i + 8] for i in range(0, len(batches) - 7, 8)]
    source = lambda n: min(int(n).bit_length(), 12)
    roots = sum(len({source(lengths[i]) for b in p for i in b}) for p in part) / len(part)
    return 1 - sum(lengths) / padded, roots

def timed(build):
    took = []
    for walk in (gc.disable, gc.enable):
        gc.collect()
        walk()
        began = time.process_time()
        built = build()
        took.append(time.process_time() - began)
    return built, took

def peer():
    order = list(LengthGroupedSampler(batch, lengths=lengths))
    return [order[i : i + batch] for i in range(0, len(order), batch)]

for round in range(int(sys.argv[3])):
    ours, mine = timed(lambda: list(PairedBucketSampler(lengths, batch, seed=round)))
    theirs, its = timed(peer)
    print(*mine, *its, *figures(ours), *figures(theirs))
"""


def main() -> int:
    """Print both tables."""
    limits = Limits()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("pfid probe lengths --sweep, seconds of the whole command and RSS of its process")
        held = []
        head = ("", "s", "CPU s", "RSS MB", "limit s, MB")
        print(f"{head[0]:44}{head[1]:>8}{head[2]:>8}{head[3]:>8}  {head[4]}")
        for count, limit_s, limit_bytes, rounds in SWEEPS:
            for kind in KINDS:
                path, command = _written(folder, count, kind)
                took = min(_measured(command) for _ in range(rounds))
                path.unlink()
                bounds = f"{limit_s:g}, {limit_bytes / 1e6:.0f}"
                label = f"{count:,} lengths, {kind}"
                print(f"{label:44}{took[0]:8.2f}{took[1]:8.2f}{took[2] / 1e6:8.0f}  {bounds}")
                held.append((label, took, limit_s, limit_bytes))
        for label, took, limit_s, limit_bytes in held:
            limits.at_most(label, took[0], limit_s, "s")
            limits.at_most(f"{label}, RSS", took[2] / 1e6, limit_bytes / 1e6, "MB")
        _beside(folder, limits)
    return limits.status()


def _written(folder: Path, count: int, kind: str) -> tuple[Path, list[str]]:
    """A file of that many lengths, and the command that reads it."""
    rng = np.random.default_rng(7)
    lengths = np.minimum(rng.lognormal(6, 1, count).astype(np.int64) + 1, 8_192)
    sources = rng.integers(0, len(SOURCES), count)
    path = folder / ("lengths.npy" if kind.startswith(".npy") else "lengths")
    more = []
    if kind.startswith(".npy"):
        np.save(path, lengths)
        if kind.endswith("sources"):
            np.save(folder / "sources.npy", sources)
            more = ["--sources", str(folder / "sources.npy")]
    elif kind == "text":
        lengths.tofile(path, sep="\n")
    else:
        with path.open("w") as file:
            _write_json(file, kind, lengths.tolist(), [SOURCES[one] for one in sources])
    pfid = [sys.executable, "-P", "-m", "pfid", "probe", "lengths", str(path), "--sweep", "--json"]
    return path, [*pfid, "--batch", "2", "--accumulation", "8", *more]


def _write_json(file: TextIO, kind: str, lengths: list[int], sources: list[str]) -> None:
    """Write lengths alone, records in a list or by the line, or columns."""
    if kind == "JSON":
        json.dump(lengths, file)
    elif kind.startswith("JSON columns"):
        json.dump({"length": lengths, "source": sources}, file)
    else:
        begin, between, end = ("", "\n", "\n") if "lines" in kind else ("[", ", ", "]")
        for number, (length, source) in enumerate(zip(lengths, sources, strict=True)):
            record = f'{{"id": {number}, "length": {length}, "source": "{source}"}}'
            file.write((between if number else begin) + record)
        file.write(end)


def _measured(command: list[str]) -> tuple[float, float, int]:
    """Seconds, processor seconds and largest RSS of a command."""
    began_s = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command} failed")
    return (
        time.perf_counter() - began_s,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


def _beside(folder: Path, limits: Limits) -> None:
    """Build an epoch, in one process, rounds alternating."""
    path = folder / "peer.npy"
    rng = np.random.default_rng(7)
    np.save(path, np.minimum(rng.lognormal(6, 1, EPOCH).astype(np.int64) + 1, 8_192))
    done = subprocess.run(
        [sys.executable, "-c", PEER, str(path), str(BATCH), str(ROUNDS)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        limits.no_peer((done.stderr.strip().splitlines() or ["?"])[-1])
        return
    rows = np.array([[float(x) for x in line.split()] for line in done.stdout.splitlines()])
    best = rows.min(axis=0)
    print(f"\nan epoch of {EPOCH:,} records, batch {BATCH}: CPU s without and with the garbage")
    print("collector, which walks whatever torch holds too; padding waste, roots of 8")
    for name, at in (("PairedBucketSampler", 0), ("LengthGroupedSampler", 1)):
        seconds, figures = best[2 * at : 2 * at + 2], rows[0, 4 + 2 * at : 6 + 2 * at]
        print(f"{name:28}{seconds[0]:8.2f}{seconds[1]:8.2f}{figures[0]:8.2%}{figures[1]:8.2f}")
    limits.at_most("epoch over the peer's, no collector", best[0] / best[2], 1.2)
    limits.at_most("epoch over the peer's, with it", best[1] / best[3], 1.2)


if __name__ == "__main__":
    sys.exit(main())
