"""What looking for superseded figures takes in a large repository, with ripgrep and without.

The figures that the starter ledger calls superseded, in a repository as they are: half of it code
(the files of this Python and of what is installed in it), the rest text, settings, lock files, data
of numbers, and files that are no text. Limit of the project: 2 GB in 10 s where ripgrep is there.
Another size in MB may be given. The files are tracked by git, whose objects are left out: nothing
reads those. They were just written, so that the system has them in memory.

Below stands the worst kind, code and tables that are numbers throughout; nothing is promised of it.
"""

import datetime as dt
import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from limits import Limits

from pfid.bootstrap.claims.starter import starter_text

SIZE_MB = 2_000
NUMBERS_MB = 100
LIMIT_S = 10.0
ROUNDS = 2
PYTHON_LIMIT_S = 60.0
"""Without ripgrep: our own bound, the project's is for where it is there."""
FILE_BYTES = 64_000
FILE_MAX_BYTES = 4_000_000
SHARES = {"code": 0.55, "text": 0.1, "settings": 0.05, "lock": 0.05, "data": 0.15, "binary": 0.1}
CODE = (".py", ".pyi", ".c", ".cc", ".cpp", ".h", ".hpp", ".cuh", ".js", ".css", ".sh")
TEXT = (".md", ".rst", ".txt", ".html")
CODE_NUMBERS = (
    *("for at in range({0}):", "x = torch.zeros({0}, {1}, {2})", "self.depth = {0}  # of {3}"),
    *("assert found == [{0}, {1}, {2}, {3}]", "nn.Conv2d({1}, {2}, kernel_size={0})"),
    *("if step % {2} == 0 and epoch > {0}:", "loss = ({0} * a - b) / {3}", "lr=1e-{0}, k={1}"),
)
NUMBERS = (0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 100, 128, 256, 512, 1024)
"""As often as programs hold them: the starter's own figures begin with some."""
PLANTED = ("# ~4.3 HOURS to rebuild\n", "It is between 2x and 5x as fast.\n", "256 samples each\n")
PLANTED_FILES = 60
IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "gc.auto=0")


def main() -> int:
    """Print a row for each engine."""
    size_mb = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE_MB
    limits = Limits()
    with tempfile.TemporaryDirectory() as name:
        engines = _engines(Path(name, "bare"))
        print(f"{'repository':34}{'engine':10}{'s':>8}{'CPU s':>8}{'files read':>12}{'places':>8}")
        ordinary = _repository(Path(name, "repository"), size_mb)
        rows = _rows(f"{size_mb} MB, {_counted(ordinary)} files", ordinary, engines)
        for engine, took in rows.items():
            limit_s = (LIMIT_S if engine == "ripgrep" else PYTHON_LIMIT_S) * size_mb / SIZE_MB
            limits.at_most(f"{size_mb} MB with {engine}", took, limit_s, "s")
        shutil.rmtree(ordinary)
        numbers = Path(name, "numbers")
        _number_files(numbers, NUMBERS_MB * size_mb // SIZE_MB)
        _tracked(numbers)
        _rows(f"numbers throughout, {NUMBERS_MB * size_mb // SIZE_MB} MB", numbers, engines)
    return limits.status()


def _rows(what: str, folder: Path, engines: list[tuple[str, str]]) -> dict[str, float]:
    best, found = {}, set()
    for engine, path in engines:
        took, cpu, read, places = min(_measured(folder, path) for _ in range(ROUNDS))
        print(f"{what:34}{engine:10}{took:8.2f}{cpu:8.2f}{read:12}{len(places):8}")
        planted = {place for place in places if place.startswith("planted/")}
        if len(planted) != PLANTED_FILES:
            raise SystemExit(f"{engine}: {len(planted)} planted places found of {PLANTED_FILES}")
        best[engine] = took
        found.add(places)
    if len(found) != 1:
        raise SystemExit("the engines do not find the same places")
    return best


def _repository(folder: Path, size_mb: int) -> Path:
    """Files of every kind, in the shares above."""
    chance = random.Random(7)
    installed = sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")})
    files = sorted(p for root in installed for p in Path(root).rglob("*") if _is_copied(p))
    chance.shuffle(files)
    held = {
        "code": [path for path in files if path.suffix in CODE],
        "text": [path for path in files if path.suffix in TEXT],
    }
    for kind, share in SHARES.items():
        room = round(size_mb * 1e6 * share)
        for at in count():
            if room <= 0:
                break
            name, body = _file(kind, at, held.get(kind, ()), chance)
            path = folder / kind / f"d{at % 97}" / f"{at}{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
            room -= max(len(body), 1)
    _plant(folder)
    _tracked(folder)
    return folder


def _is_copied(path: Path) -> bool:
    return (
        path.suffix in (*CODE, *TEXT) and path.is_file() and path.stat().st_size <= FILE_MAX_BYTES
    )


def _file(kind: str, at: int, held: Sequence[Path], chance: random.Random) -> tuple[str, bytes]:
    """What a file is called, and what it holds."""
    if held:
        path = held[at % len(held)]
        return path.suffix, path.read_bytes() + f"\n# {at}\n".encode()
    if kind == "binary":
        return ".bin", b"\0" + chance.randbytes(1_000_000)
    if kind == "data":
        return _table(at, chance)
    body = "".join(_settings(chance))
    return (".yaml" if kind == "settings" else ".lock"), body.encode()


def _settings(chance: random.Random) -> Iterator[str]:
    for at in range(FILE_BYTES // 100):
        yield f"  option_{at}: {chance.choice((True, chance.randrange(4_096), chance.random()))}\n"
        yield f"  digest_{at}: sha256:{chance.randbytes(32).hex()}\n"


def _table(at: int, chance: random.Random) -> tuple[str, bytes]:
    """Measurements, as a table or as lines of JSON."""
    rows = [(n, chance.gauss(2, 1), chance.randrange(100_000), chance.random())
            for n in range(FILE_BYTES // 40)]  # fmt: skip
    if at % 2:
        lines = [f"{n},{loss:.5f},{tokens},{lr:.3e}" for n, loss, tokens, lr in rows]
        return ".csv", "\n".join(("step,loss,tokens,lr", *lines)).encode()
    lines = [json.dumps({"step": n, "loss": round(loss, 5), "tokens": tokens, "lr": lr})
             for n, loss, tokens, lr in rows]  # fmt: skip
    return ".jsonl", "\n".join(lines).encode()


def _number_files(folder: Path, size_mb: int) -> None:
    """Code of many small numbers, and tables of them."""
    chance = random.Random(11)
    for at in range(size_mb * 1_000_000 // FILE_BYTES):
        lines = [
            chance.choice(CODE_NUMBERS).format(*chance.choices(NUMBERS, k=4))
            if at % 2
            else ",".join(map(str, chance.choices(NUMBERS, k=10)))
            for _ in range(FILE_BYTES // 28)
        ]
        path = folder / f"d{at % 97}" / f"{at}{'.py' if at % 2 else '.csv'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines))
    _plant(folder)


def _plant(folder: Path) -> None:
    for at in range(PLANTED_FILES):
        path = folder / "planted" / f"{at}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLANTED[at % len(PLANTED)])
    (folder / "claims.toml").write_text(starter_text(dt.date(2026, 8, 26)))


def _counted(folder: Path) -> int:
    return sum(1 for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)


def _tracked(folder: Path) -> None:
    _git(folder, "init", "--quiet")
    listed = "\n".join(
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if p.is_file() and ".git" not in p.parts
    )
    _git(folder, "update-index", "--add", "--info-only", "--stdin", told=listed + "\n")
    tree = _git(folder, "write-tree", "--missing-ok")
    _git(folder, "update-ref", "HEAD", _git(folder, *IDENTITY, "commit-tree", tree, "-m", "all"))


def _git(folder: Path, *arguments: str, told: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=told,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _engines(bare: Path) -> list[tuple[str, str]]:
    """Ripgrep if it is there, and a PATH with git alone."""
    found = [("ripgrep", os.environ["PATH"])] if shutil.which("rg") else []
    if not found:
        print("ripgrep is not there: its row is left out, and its limit not held")
    bare.mkdir()
    (bare / "git").symlink_to(shutil.which("git") or "git")
    return [*found, ("python", str(bare))]


def _measured(folder: Path, path: str) -> tuple[float, float, int, frozenset[str]]:
    """Seconds and processor seconds of the command, files it read, places it found."""
    began_s, before = time.perf_counter(), _children_s()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "claims", "check", "--json"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        check=False,
    )
    took, cpu = time.perf_counter() - began_s, _children_s() - before
    shown = json.loads(done.stdout)
    stand = [one["where"] for one in shown["findings"] if one["code"] == "superseded_stands"]
    return took, cpu, shown["searched"]["read"], frozenset(stand)


def _children_s() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


if __name__ == "__main__":
    raise SystemExit(main())
