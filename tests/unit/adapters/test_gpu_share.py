"""Whether cards that only the PCI bus shows are ours to see."""

import os
import tempfile
from pathlib import Path

import pytest

from pfid.adapters.gpu_share import MARKS, why_withheld
from pfid.spec.ports.gpus import Withheld


@pytest.fixture
def why(tmp_path):
    (tmp_path / "dev").mkdir()

    def ask(silent=7, total=8, **environ):
        return why_withheld(silent, total, environ, root=str(tmp_path))

    return ask


def test_a_box_without_a_word_of_anybody_else_is_ours(why):
    assert why() is Withheld.NONE
    assert why(PATH="/bin", SLURM_CONF="/etc/slurm.conf") is Withheld.NONE


@pytest.mark.parametrize(
    "environ",
    [
        {"CUDA_VISIBLE_DEVICES": "3"},
        {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6"},
        {"NVIDIA_VISIBLE_DEVICES": "GPU-5eed"},
        {"NVIDIA_VISIBLE_DEVICES": "void"},
        {"SLURM_JOB_GPUS": "3"},
        {"SLURM_STEP_GPUS": "3"},
        {"SLURM_GPUS": "h200:1"},
        {"SLURM_GPUS_ON_NODE": "1"},
    ],
)
def test_an_allocation_of_a_part_is_a_part(why, environ):
    assert why(**environ) is Withheld.ALLOCATION


@pytest.mark.parametrize(
    "environ",
    [
        {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"},
        {"CUDA_VISIBLE_DEVICES": ""},
        {"NVIDIA_VISIBLE_DEVICES": "all"},
        {"SLURM_GPUS_ON_NODE": "8", "SLURM_JOB_GPUS": "0,1", "CUDA_VISIBLE_DEVICES": "0"},
    ],
)
def test_an_allocation_of_the_whole_box_hides_no_dead_card(why, environ):
    assert why(**environ) is Withheld.NONE


@pytest.mark.parametrize("mark", MARKS)
def test_a_container_is_known_by_its_marks(why, tmp_path, mark):
    (tmp_path / mark).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / mark).touch()
    assert why() is Withheld.CONTAINER


@pytest.mark.parametrize("name", ["container", "KUBERNETES_SERVICE_HOST"])
def test_a_container_is_known_by_its_environment(why, name):
    assert why(**{name: "x"}) is Withheld.CONTAINER


def test_whoever_counts_processes_otherwise_than_the_driver_is_in_a_container(tmp_path):
    assert why_withheld(7, 8, {}, ours=False, root=str(tmp_path)) is Withheld.CONTAINER


@pytest.fixture
def entered():
    """A folder that others may enter: pytest shuts its own whenever another worker begins."""
    with tempfile.TemporaryDirectory(prefix="entered-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_nodes_that_may_not_be_opened_account_for_as_many_cards(entered):
    """Looked at by another user: nothing is refused to root by a mode."""
    folder = entered / "dev"
    folder.mkdir()
    for number in range(8):
        (folder / f"nvidia{number}").touch(mode=0o666 if number == 0 else 0o000)
        (folder / f"nvidia{number}").chmod(0o666 if number == 0 else 0o000)
    (folder / "nvidiactl").touch()
    (folder / "nvidiactl").chmod(0o000)
    found = [_as_nobody(silent, str(entered)) for silent in (7, 8)]
    assert found == [Withheld.NO_PERMISSION.value, Withheld.NONE.value], "an eighth has no excuse"


def _as_nobody(silent, root):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, why_withheld(silent, 8, {}, root=root).value.encode() or b"-")
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        return told.read().decode().strip("-")
