"""Which real training the demo can run here, and with what it is run."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A real training that can lose its fast path.

    Attributes:
        module: run as a program; its argument is the file that plants the fault.
        what: what it is, for the reader.
        fault: what planting does to it.
        limit_is_logged: whether the fault also leaves dynamo's warning in the log.
    """

    module: str
    what: str
    fault: str
    limit_is_logged: bool

    def command(self, plant: Path) -> Sequence[str]:
        """Return the command line that ``pfid run`` is given."""
        return (sys.executable, "-m", self.module, str(plant))


TORCH = Training(
    module="pfid.probes.demo_torch",
    what="torch: 25 operations over 8 million floats, which the first step compiles into one",
    fault="every batch now has a new size, until dynamo stops compiling",
    limit_is_logged=True,
)
NUMPY = Training(
    module="pfid.probes.demo_numpy",
    what="numpy: gradient descent on a cubic, 150,000 rows, vectorised",
    fault="one missing value makes numpy keep the column as Python objects",
    limit_is_logged=False,
)


def choose(kind: str) -> Training:
    """Choose the training: ``torch``, ``numpy``, or what is possible here for ``auto``.

    torch needs a C++ compiler beside it, else it has no compiled path to lose.
    """
    if kind != "auto":
        return TORCH if kind == "torch" else NUMPY
    compiles = shutil.which("g++") or shutil.which("clang++")
    return TORCH if find_spec("torch") and compiles else NUMPY
