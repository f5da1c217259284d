"""The stand-in for NVML, built with gcc, and scenarios of real cards for it to play."""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

SOURCE = Path(__file__).with_name("shim.c")
LIBRARY = "libnvidia-ml.so.1"

NOT_SUPPORTED = "error 3"
NO_PERMISSION = "error 4"
UNKNOWN = "error 999"
LOST = "error 15"
HANG = "hang"
CRASH = "crash"
GIB = 1024**3

H200 = {
    "name": "NVIDIA H200",
    "capability": "9.0",
    "utilization": 100,
    "power": 627_400,
    "limit": 700_000,
    "clock": 1755,
    "clock_of_another_domain": 3201,
    "throttle": 0,
    "temperature": 58,
    "ecc": 0,
    "ecc_of_another_kind": 17,
    "memory_total": 150_754_820_096,
    "memory_used": 120 * GIB,
    "memory_reserved": 600 * 1024**2,
    "mig": 0,
    "gpm": 1,
    "sm": 97.0,
    "tensor": 81.0,
    "dram": 38.5,
}
H200_IDLE = {
    **H200,
    "utilization": 0,
    "power": 77_700,
    "clock": 345,
    "throttle": 1,
    "memory_used": 4 * 1024**2,
    "sm": 0.0,
    "tensor": 0.0,
    "dram": 0.0,
}
H200_MIG = {
    **H200,
    "utilization": NOT_SUPPORTED,
    "power": 295_000,
    "mig": 1,
    "gpm": NOT_SUPPORTED,
    "processes": NO_PERMISSION,  # of the whole card, to whoever is not root
}
L40S_IDLE = {
    "name": "NVIDIA L40S",
    "capability": "8.9",
    "utilization": 100,
    "power": 145_000,
    "limit": 350_000,
    "clock": 2520,
    "throttle": 0,
    "temperature": 45,
    "ecc": 0,
    "memory_total": 48_305_799_168,
    "memory_used": 2 * GIB,
    "mig": NOT_SUPPORTED,
    "gpm": 0,
}
RTX_3090_CAPPED = {
    **L40S_IDLE,
    "name": "NVIDIA GeForce RTX 3090",
    "capability": "8.6",
    "power": 199_000,
    "limit": 200_000,
    "default_limit": 350_000,
    "throttle": 4,
    "ecc": NOT_SUPPORTED,
    "memory_total": 25_769_803_776,
}
V100_HUNG = {
    **L40S_IDLE,
    "name": "Tesla V100-SXM2-32GB",
    "capability": "7.0",
    "power": "40000@0 47000@1 43000@2",
    "limit": 250_000,
    "memory_total": 34_359_738_368,
}
A100_NCCL_HANG = {
    **L40S_IDLE,
    "name": "NVIDIA A100-SXM4-80GB",
    "capability": "8.0",
    "power": 70_000,
    "limit": 400_000,
    "memory_total": 85_899_345_920,
    "mig": 0,
}
PLAYBOOK_300 = {
    **L40S_IDLE,
    "name": "NVIDIA RTX PRO 6000 Blackwell Max-Q",
    "capability": "12.0",
    "power": "279000@0 292000@1 285000@2",
    "limit": 300_000,
    "memory_total": 102_641_958_912,
}
PLAYBOOK_600 = {**PLAYBOOK_300, "name": "NVIDIA RTX PRO 6000 Blackwell", "limit": 600_000}
GB10 = {
    "name": "NVIDIA GB10",
    "capability": "12.1",
    "utilization": 93,
    "average": 38_000,
    "clock": 2418,
    "throttle": 0,
    "temperature": 61,
}
SENTINELS = {
    **H200,
    "utilization": 4_294_967_295,
    "energy": NOT_SUPPORTED,
    "instant": 0,
    "average": 0,
    "power": 0,
    "limit": 0,
    "clock": 4_294_967_295,
    "throttle": 18_446_744_073_709_551_615,
    "temperature": 4_294_967_295,
    "ecc": 18_446_744_073_709_551_615,
    "memory_used": 18_446_744_073_709_551_615,
    "sm": 1.4e16,
    "tensor": "nan",
    "dram": 250.0,
}


@cache
def library() -> Path:
    """Build the shim once; every scenario gets a copy of its own beside its file."""
    built = Path(mkdtemp(prefix="nvml-shim-")) / LIBRARY
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
    subprocess.run(["gcc", *flags, "-o", built, SOURCE, "-ldl"], check=True)
    return built


class Shim:
    """A box whose NVML says what we want, changed by writing the scenario anew."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / LIBRARY).write_bytes(library().read_bytes())
        self.system: dict[str, Any] = {
            "driver": "580.95.05",
            "library": "13.580.95.05",
            "log": "on",
        }
        self.gpus: list[dict[str, Any]] = []
        self.processes: list[tuple[int, int, int | None]] = []
        self.extra: list[str] = []
        self.xids = 0
        self.write()

    @property
    def environ(self) -> dict[str, str]:
        """What makes a process find this library first."""
        return {"LD_LIBRARY_PATH": str(self.folder)}

    def play(self, *gpus: dict[str, Any], **system: Any) -> None:
        """Have these GPUs; further facts are about the library as a whole."""
        self.gpus = [{**_identity(i), **gpu} for i, gpu in enumerate(gpus)]
        self.system |= system
        self.write()

    def change(self, index: int, **facts: Any) -> None:
        """Change one GPU while it is watched."""
        self.gpus[index] |= facts
        self.write()

    def run_on(self, index: int, pid: int, used: int | None = None, kind: str = "process") -> None:
        """Put a process on a GPU, as "process", "graphics", or "mps" for a client of MPS."""
        if kind == "process":
            self.processes.append((index, pid, used))
        else:
            self.extra.append(f"gpu {index} {kind} {pid} {used}")
        self.write()

    def clear(self) -> None:
        """Take every process away."""
        self.processes.clear()
        self.write()

    def xid(self, index: int, code: int) -> None:
        """Report an error now."""
        self.xids += 1
        self.extra.append(f"xid {self.xids} {index} {code}")
        self.write()

    def write(self) -> None:
        """Put the scenario in place in one step."""
        new = self.folder / "scenario.new"
        new.write_text("\n".join(self._lines()) + "\n")
        new.replace(self.folder / "scenario")

    def _lines(self) -> Iterable[str]:
        yield f"count {len(self.gpus)}"
        yield from (f"{key} {value}" for key, value in self.system.items())
        for index, facts in enumerate(self.gpus):
            yield from (f"gpu {index} {key} {value}" for key, value in facts.items())
        for index, pid, used in self.processes:
            yield f"gpu {index} process {pid} {2**64 - 1 if used is None else used}"
        yield from self.extra

    def calls(self) -> list[tuple[int, str, int]]:
        """Every call so far: process, name, device."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(p), name, int(i)) for p, name, i in (line.split() for line in lines)]

    def forget_calls(self) -> None:
        """Start counting anew."""
        (self.folder / "calls").unlink(missing_ok=True)


def _identity(index: int) -> dict[str, Any]:
    return {
        "uuid": f"GPU-5eed0000-0000-0000-0000-{index:012d}",
        "bus": f"00000000:{index + 10:02X}:00.0",
    }


def uuid(index: int) -> str:
    """Uuid of a GPU of the scenario."""
    return str(_identity(index)["uuid"])


def with_library(shim: Shim) -> dict[str, str]:
    """This process's environment with the shim's library in front."""
    return {**os.environ, **shim.environ}
