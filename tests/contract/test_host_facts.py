"""The machine as its files tell it, and what a file that is missing or odd means."""

import os
from pathlib import Path

from pfid.adapters.host_facts import host_identity

VERSION = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan 24 22:14:50 UTC 2025
GCC version:  gcc version 12.2.0
"""
OPEN_VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
INFORMATION = """Model: \t\t NVIDIA H200
IRQ:   \t\t 167
GPU UUID: \t GPU-1b6a5a32-0000-1111-2222-333344445555
Bus Location: \t 0000:18:00.0
"""


def box(root, **files):
    for place, text in files.items():
        file = root / place.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return f"{root}/"


def nvidia(root, version=VERSION, information=INFORMATION):
    folder = root / "proc/driver/nvidia"
    (folder / "gpus" / "0000:18:00.0").mkdir(parents=True)
    (folder / "version").write_text(version)
    (folder / "gpus" / "0000:18:00.0" / "information").write_text(information)
    return f"{root}/"


def test_this_machine_tells_who_it_is():
    found = host_identity({})
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found.boot_id == boot_id
    assert found.kernel == os.uname().release
    assert found.machine_id


def test_a_box_without_a_driver_says_so(tmp_path):
    found = host_identity({}, root=box(tmp_path))
    assert (found.driver, found.gpus, found.gpus_problem) == (None, (), "no_driver")


def test_driver_and_gpus_are_read_without_asking_the_driver(tmp_path):
    found = host_identity({}, root=nvidia(tmp_path))
    (gpu,) = found.gpus
    assert (found.driver, found.gpus_problem) == ("570.86.15", None)
    assert gpu.uuid == "GPU-1b6a5a32-0000-1111-2222-333344445555"
    assert (gpu.model, gpu.pci_bus_id) == ("NVIDIA H200", "0000:18:00.0")


def test_the_open_module_words_its_version_in_another_way(tmp_path):
    assert host_identity({}, root=nvidia(tmp_path, OPEN_VERSION)).driver == "580.65.06"


def test_a_gpu_that_does_not_say_its_uuid_has_none(tmp_path):
    unknown = INFORMATION.replace("1b6a5a32-0000", "????????-????")
    (gpu,) = host_identity({}, root=nvidia(tmp_path, information=unknown)).gpus
    assert gpu.uuid is None
    assert gpu.model == "NVIDIA H200"


def test_rubbish_where_a_driver_should_speak_is_nothing(tmp_path):
    found = host_identity({}, root=nvidia(tmp_path, "\x00\xff NVRM", "no colon"))
    assert found.driver is None
    assert found.gpus[0].pci_bus_id == "0000:18:00.0"


def test_what_is_declared_names_the_container(tmp_path):
    place = box(tmp_path, run__containerenv='image="docker.io/x:1"\n')
    found = host_identity({"CONTAINER_IMAGE": "other"}, "mine:7", root=place)
    assert (found.container_tag, found.container_source) == ("mine:7", "declared")


def test_a_container_that_says_its_image_is_believed(tmp_path):
    root = box(tmp_path, proc__1__comm="x")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".containerenv").write_text('engine="podman"\nimage="docker.io/x:1"\n')
    found = host_identity({}, root=root)
    assert (found.container_tag, found.contained) == ("docker.io/x:1", True)
    assert found.container_source == "/run/.containerenv"


def test_an_image_in_the_environment_is_told_with_its_variable(tmp_path):
    found = host_identity({"APPTAINER_CONTAINER": "/img.sif"}, root=box(tmp_path))
    assert (found.container_tag, found.container_source) == ("/img.sif", "APPTAINER_CONTAINER")


def test_in_a_container_or_not_or_not_known(tmp_path):
    assert host_identity({}, root=box(tmp_path)).contained is None
    root = box(tmp_path, proc__1__comm="systemd")
    assert host_identity({}, root=root).contained is False
    assert host_identity({"container": "lxc"}, root=root).contained is True
    (tmp_path / ".dockerenv").touch()
    assert host_identity({}, root=root).contained is True
