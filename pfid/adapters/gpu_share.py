"""Whether GPUs on the PCI bus may be kept from this process: sysfs shows them to everybody.

A container and a job of a scheduler see all cards of the box on the bus and are given some. Nothing
here opens a device: a driver may hang over that. ``access`` asks the kernel's rules alone, those of
the control group among them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pfid.spec.ports.gpus import Withheld

MARKS: Final = (".dockerenv", "run/.containerenv", ".singularity.d", "run/systemd/container")
"""What container engines leave in the root of what they start."""
LISTS: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
ON_NODE: Final = "SLURM_GPUS_ON_NODE"
_SLURM: Final = re.compile(r"SLURM_(?:\w+_)?GPUS(?:_\w+)?")
_NODE: Final = re.compile(r"nvidia\d+")


def why_withheld(
    silent: int, total: int, environ: Mapping[str, str], *, ours: bool = True, root: str = "/"
) -> Withheld:
    """Why cards that only the bus shows may be somebody else's; NONE where the box is ours to see.

    Args:
        silent: how many cards never answered.
        total: how many there are on the bus.
        environ: of this process.
        ours: whether it counts processes as the driver does.
        root: where ``dev`` and the marks of containers lie.
    """
    if 0 < silent <= _refused(Path(root, "dev")):
        return Withheld.NO_PERMISSION
    if _allocated(environ, total):
        return Withheld.ALLOCATION
    return Withheld.CONTAINER if not ours or _contained(environ, root) else Withheld.NONE


def _refused(dev: Path) -> int:
    """How many cards have a node that this process may not open."""
    try:
        names = os.listdir(dev)  # noqa: PTH208 - a plain list of names
    except OSError:
        return 0
    nodes = [dev / name for name in names if _NODE.fullmatch(name)]
    return sum(not os.access(node, os.R_OK | os.W_OK) for node in nodes)


def _allocated(environ: Mapping[str, str], total: int) -> bool:
    """Whether the environment gives this process a part of the box."""
    on_node = environ.get(ON_NODE, "")
    if on_node.isdecimal():
        return int(on_node) < total
    lists = [value for name in LISTS if (value := environ.get(name, "")) not in {"", "all"}]
    if lists:
        return min(len(value.split(",")) for value in lists) < total
    return any(_SLURM.fullmatch(name) for name in environ)


def _contained(environ: Mapping[str, str], root: str) -> bool:
    marked = any(Path(root, mark).exists() for mark in MARKS)
    return marked or bool(environ.get("container") or environ.get("KUBERNETES_SERVICE_HOST"))
