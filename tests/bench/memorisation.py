"""What holding 1,000 outputs of 2,000 characters against a corpus takes.

Limits of the project: 1 GB in 120 s and 3 GB of memory. Another size in MB may be given. Every
planted quote must be found, to its last character, or there is no figure. The peer reads and
digests the same bytes and finds nothing (``sha256sum``).
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from limits import Limits

SIZE_MB = 1_000
LIMIT_S, LIMIT_GB = 120.0, 3.0
BASE_BYTES = 20_000_000
OUTPUTS, OUTPUT_CHARS, QUOTE_CHARS = 1_000, 2_000, 300
LETTERS = "etaoinshrdlucmfwypvbgk"
NOTICE = "Permission is hereby granted, free of charge, to any person obtaining a copy of it. " * 4
KINDS = ("one in twenty quotes", "every output is a quote", "all share a notice with the corpus")
LOOK = """
import json, resource, sys, time
from pathlib import Path
from pfid.bootstrap.judge.overlap import overlap_facts
from pfid.spec.fakes_results import arm, record, result_facts
from pfid.spec.result_gates.memorisation import MemorisationGate

outputs = json.loads(Path(sys.argv[1]).read_text())
results = result_facts(arm(record(i, output) for i, output in enumerate(outputs)))
gate = MemorisationGate(corpus=[sys.argv[2]])
began_s = time.perf_counter()
facts = overlap_facts(gate, Path("/"), results, lambda text: None)
took_s = time.perf_counter() - began_s
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "s": took_s, "cpu_s": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss * 1024,
    "quoting": facts.candidate.quoting, "longest": max((q.chars for q in facts.candidate.worst),
    default=0), "trusted": all(k.found_chars == k.expected_chars for k in facts.known),
    "bytes": facts.corpus_bytes,
}))
"""


def main() -> int:
    """Print a row for each kind of outputs and of corpus."""
    size = (int(sys.argv[1]) if len(sys.argv) > 1 else SIZE_MB) * 1_000_000
    limits = Limits()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chance = random.Random(7)
        base = _prose(chance, BASE_BYTES)
        print(f"{OUTPUTS} outputs of {OUTPUT_CHARS} characters, corpus of {size / 1e9:g} GB")
        print(f"{'outputs':36}{'corpus':8}{'s':>8}{'CPU s':>8}{'RSS MB':>8}{'MB/s':>8}")
        for kind in KINDS:
            corpus = folder / "corpus.txt"
            _write(corpus, base, size, notice=NOTICE if "notice" in kind else "")
            (folder / "outputs.json").write_text(json.dumps(_outputs(chance, base, kind)))
            _row(folder, corpus, kind, limits)
        lines = folder / "corpus.jsonl.gz"
        _pack(corpus, lines)
        _row(folder, lines, kind, limits)
        began_s = time.perf_counter()
        subprocess.run(["sha256sum", str(corpus)], check=True, stdout=subprocess.DEVNULL)
        print(f"sha256sum of the same bytes: {time.perf_counter() - began_s:.2f} s")
    return limits.status()


def _prose(chance: random.Random, size: int) -> str:
    """Words as often as words are: the k-th a k-th as often as the first."""
    coined = random.Random(3)
    words = ["".join(coined.choices(LETTERS, k=coined.randint(2, 10))) for _ in range(20_000)]
    weights = [1 / (at + 1) for at in range(len(words))]
    return " ".join(chance.choices(words, weights, k=size // 5))[:size]


def _write(path: Path, base: str, size: int, notice: str) -> None:
    """The base over and over, its pieces in another order each time."""
    chance = random.Random(11)
    pieces = [base[at : at + 10_000] for at in range(0, len(base), 10_000)]
    with path.open("w") as file:
        while file.tell() < size:
            chance.shuffle(pieces)
            file.write(("\n" + notice).join(pieces)[: size - file.tell()])


def _outputs(chance: random.Random, base: str, kind: str) -> list[str]:
    found = []
    own = _prose(chance, OUTPUTS * OUTPUT_CHARS)
    for at in range(OUTPUTS):
        text = own[at * OUTPUT_CHARS : (at + 1) * OUTPUT_CHARS]
        begins = chance.randrange(len(base) // 10_000) * 10_000
        if kind == KINDS[1]:
            text = base[begins : begins + OUTPUT_CHARS]
        elif kind == KINDS[2]:
            text = NOTICE + text[len(NOTICE) :]
        elif not at % 20:
            text = base[begins : begins + QUOTE_CHARS] + "|" + text[QUOTE_CHARS + 1 :]
        found.append(text)
    return found


def _pack(corpus: Path, packed: Path) -> None:
    script = (
        "import gzip, json, sys\n"
        "with open(sys.argv[1]) as file, gzip.open(sys.argv[2], 'wt', 1) as out:\n"
        "    while text := file.read(4000):\n"
        "        print(json.dumps({'id': 1, 'text': text}), file=out)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(corpus), str(packed)], check=True)


def _row(folder: Path, corpus: Path, kind: str, limits: Limits) -> None:
    command = [sys.executable, "-P", "-c", LOOK, str(folder / "outputs.json"), str(corpus)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    quoting = OUTPUTS // 20 if kind == KINDS[0] else OUTPUTS
    if found["quoting"] < quoting or not found["trusted"]:
        raise SystemExit(f"{kind}: {found}")
    form = corpus.name.partition(".")[2]
    rate = found["bytes"] / 1e6 / found["s"]
    print(
        f"{kind:36}{form:8.8}{found['s']:8.1f}{found['cpu_s']:8.1f}{found['rss'] / 1e6:8.0f}"
        f"{rate:8.0f}"
    )
    limit_s = LIMIT_S * found["bytes"] / 1e6 / SIZE_MB
    limits.at_most(f"{kind}, {form}", found["s"], limit_s, "s")
    limits.at_most(f"{kind}, {form}, memory", found["rss"] / 1e9, LIMIT_GB, "GB")


if __name__ == "__main__":
    raise SystemExit(main())
