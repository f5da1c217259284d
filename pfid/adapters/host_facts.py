"""The machine a run is launched on, from what anybody may read: no driver is called."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import boot_id, machine_id
from pfid.domain.errors import StateError
from pfid.domain.provenance import GpuIdentity, HostIdentity

NVIDIA: Final = "proc/driver/nvidia"
NO_DRIVER: Final = "no_driver"
_TAG_VARIABLES: Final = ("CONTAINER_IMAGE", "IMAGE_TAG", "NVIDIA_PYTORCH_VERSION")
"""What images and clusters call the image in its own environment; the last is NGC's release."""


def host_identity(
    environ: Mapping[str, str], declared_tag: str = "", root: str = "/"
) -> HostIdentity:
    """Look at the machine.

    Args:
        environ: of the launch.
        declared_tag: the container's image, as the spec says; "" if it does not.
        root: where ``proc`` and ``run`` lie.
    """
    tag, source = _container_tag(environ, declared_tag, root)
    gpus = tuple(_gpus(f"{root}{NVIDIA}/gpus"))
    driver = _driver(root)
    return HostIdentity(
        hostname=os.uname().nodename,
        machine_id=machine_id(),
        boot_id=_boot_id(),
        kernel=os.uname().release,
        contained=_contained(environ, root),
        container_tag=tag,
        container_source=source,
        driver=driver,
        gpus=gpus,
        gpus_problem=None if gpus or driver else NO_DRIVER,
    )


def _boot_id() -> str | None:
    try:
        return boot_id()
    except StateError:
        return None


def _driver(root: str) -> str | None:
    """``NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan ...``."""
    for line in _lines(f"{root}{NVIDIA}/version"):
        if line.startswith("NVRM version:"):
            return next((w for w in line.split() if w[0].isdigit() and "." in w), None)
    amd = _lines(f"{root}sys/module/amdgpu/version")
    return amd[0] if amd else None


def _gpus(folder: str) -> Iterable[GpuIdentity]:
    try:
        buses = sorted(os.listdir(folder))  # noqa: PTH208 - a plain list of names
    except OSError:
        return
    for bus in buses:
        parts = (line.partition(":") for line in _lines(f"{folder}/{bus}/information"))
        said = {name.strip(): value.strip() for name, _, value in parts}
        uuid = said.get("GPU UUID", "")
        yield GpuIdentity(
            uuid=uuid if uuid and "?" not in uuid else None,
            model=said.get("Model") or None,
            pci_bus_id=said.get("Bus Location") or bus,
        )


def _container_tag(
    environ: Mapping[str, str], declared: str, root: str
) -> tuple[str | None, str | None]:
    if declared:
        return declared, "declared"
    for line in _lines(f"{root}run/.containerenv"):
        name, _, value = line.partition("=")
        if name == "image" and value.strip('"'):
            return value.strip('"'), "/run/.containerenv"
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", *_TAG_VARIABLES):
        if environ.get(name):
            return environ[name], name
    return None, None


def _contained(environ: Mapping[str, str], root: str) -> bool | None:
    """By the marks that container engines leave; a namespace alone may be anything."""
    marks = (".dockerenv", "run/.containerenv", ".singularity.d", "run/systemd/container")
    if any(Path(root, mark).exists() for mark in marks) or environ.get("container"):
        return True
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return True
    return False if Path(root, "proc/1").exists() else None


def _lines(place: str) -> list[str]:
    try:
        with open(place, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(65_536).splitlines()
    except OSError:
        return []
