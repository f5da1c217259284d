"""Where no daemon watches, cards of other vendors are looked at before a launch as NVIDIA's are."""

import os

import pytest
from rocm_sampler import ROCM

from pfid.bootstrap.gpu_guard import refuse_orphaned_gpus
from pfid.bootstrap.preflight.cards import cards_facts
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.spec import loads_spec
from pfid.domain.errors import LaunchError
from pfid.spec.ports.preflight import CardFacts

GIB = 1024**3
HELD = ROCM.replace(
    "utilization=0.5",
    f"utilization=0.5, memory_used_bytes={40 * GIB}, memory_reserved_bytes=0, processes=()",
)


@pytest.fixture
def others(tmp_path, monkeypatch):
    """A configured folder of plugins, on a box without NVIDIA's library and without a daemon."""
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    config = tmp_path / "pfid.toml"
    config.write_text(f'[plugins]\ndirectories = ["{folder}"]\n')
    told = {
        "PFID_CONFIG": config,
        "PFID_SOCKET": tmp_path / "nobody",
        "LD_LIBRARY_PATH": tmp_path,
        "XDG_STATE_HOME": tmp_path / "state",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return folder


def test_no_run_is_launched_onto_a_card_of_theirs_whose_memory_nobody_who_lives_holds(others):
    (others / "rocm.py").write_text(HELD)
    with pytest.raises(LaunchError, match="GPU 0: memory of this GPU is held by no visible"):
        refuse_orphaned_gpus(os.environ)
    refuse_orphaned_gpus({**os.environ, "HIP_VISIBLE_DEVICES": "1"})
    refuse_orphaned_gpus({**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    (others / "rocm.py").write_text(ROCM)
    refuse_orphaned_gpus(os.environ)


@pytest.mark.full
def test_hiding_nvidias_cards_hides_none_of_a_vendor_that_does_not_heed_it(others):
    (others / "odd.py").write_text(HELD.replace('vendor="amd"', 'vendor="odd"'))
    with pytest.raises(LaunchError, match="GPU 0: memory of this GPU is held by no visible"):
        refuse_orphaned_gpus({**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def test_a_plugin_that_brings_no_cards_keeps_nobody_from_a_launch(others):
    (others / "bad.py").write_text("raise RuntimeError('no')\n")
    refuse_orphaned_gpus(os.environ)


def test_preflight_looks_at_their_cards_as_well(others, tmp_path):
    (others / "rocm.py").write_text(HELD)
    project = Project(
        spec=loads_spec("[gpus]\ncount = 1\n"),
        folder=tmp_path,
        environ=dict(os.environ),
        state=tmp_path,
    )
    found = cards_facts(project)
    (card,) = found.cards
    assert (found.problem, card) == (
        "",
        CardFacts(uuid="GPU-amd-00000000", holders=0, orphaned_bytes=40 * GIB),
    )
