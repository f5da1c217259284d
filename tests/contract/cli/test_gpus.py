"""``pfid gpus`` and the GPU side of ``pfid show``, told by a daemon and sampled by itself."""

import dataclasses
import signal
import subprocess
import sys

import pytest
from nvml_shim import H200, H200_IDLE, H200_MIG
from rocm_sampler import ROCM

from pfid.domain.gpu import MigInstance
from pfid.domain.gpu_view import WorkKind


@pytest.fixture
def told(daemon, make):
    """Have the daemon say this about its GPUs."""

    def say(**changed):
        view = make.gpus(**changed)
        daemon.snapshot = dataclasses.replace(make.snapshot(runs=[make.run()]), gpus=view)
        return view

    return say


def test_each_gpu_is_a_line_of_what_it_does_and_for_whom(told, pfid):
    told()
    code, out, _ = pfid("gpus")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "H200" in line]
    for part in ("low power", "100 %", "627 / 700 W", "120.0 GiB", "train-0001 (anna)"):
        assert part in line
    assert line.rstrip()[-1] in "█@"


def test_a_divided_card_is_shown_with_its_slices(told, pfid, pfid_json):
    (gpu,) = told().gpus
    slices = tuple(
        MigInstance(
            uuid=f"MIG-{i}",
            gpu_instance=i,
            compute_instance=0,
            name="3g.71gb" if i else "1g.18gb",
            memory_total_bytes=i,
        )
        for i in range(3)
    )
    facts = dataclasses.replace(gpu.facts, mig=True, instances=slices)
    told(gpus=(dataclasses.replace(gpu, facts=facts),))
    assert "(MIG: 1g.18gb, 2 x 3g.71gb)" in " ".join(pfid("gpus")[1].split())
    _, found = pfid_json("gpus")
    (shown,) = found["gpus"]
    assert shown["mig"] is True
    assert shown["mig_instances"][1] == {
        "uuid": "MIG-1",
        "name": "3g.71gb",
        "gpu_instance": 1,
        "compute_instance": 0,
        "memory_total_bytes": 1,
    }


def test_what_is_absent_is_null_and_named(told, pfid_json):
    told()
    code, found = pfid_json("gpus")
    (gpu,) = found["gpus"]
    assert code == 0
    assert (gpu["tensor_activity"], gpu["absent"]) == (None, {"tensor_activity": "not_supported"})
    assert (gpu["runs"], gpu["users"]) == (["train-0001"], ["anna"])
    assert (found["source"], found["expected"], found["driver"]) == ("daemon", 1, "580")
    assert gpu["recent_utilization"] == [0.0, None, 1.0]


def test_a_gpu_that_is_missing_is_a_failure(told, pfid, pfid_json, make):
    gone = dataclasses.replace(
        make.gpus().gpus[0], present=False, last=None, holders=None, kind=WorkKind.UNKNOWN
    )
    told(gpus=(gone,), visible=0)
    code, out, err = pfid("gpus")
    assert code == 1
    assert "gone" in out
    assert "1 of 1 GPUs do not answer" in err
    absent = pfid_json("gpus")[1]["gpus"][0]["absent"]
    assert set(absent.values()) == {"lost"}
    assert "utilization" in absent


def test_cards_that_need_not_be_ours_are_said_and_are_no_failure(told, pfid, pfid_json):
    told(expected=None, withheld="allocation")
    code, _, err = pfid("gpus")
    assert code == 0
    assert "may not be ours to see: a job's allocation" in err
    assert pfid_json("gpus")[1]["withheld"] == "allocation"


def test_a_driver_that_cannot_be_read_is_could_not_look(told, pfid):
    told(up=False, problem="driver_mismatch", gpus=(), expected=None, visible=0)
    code, _, err = pfid("gpus")
    assert code == 3
    assert "running jobs are fine" in err


def test_one_object_cannot_be_watched(told, pfid):
    told()
    assert pfid("gpus", "--json", "--watch")[0] == 2


def test_the_gpus_of_a_run_are_shown_with_it(told, pfid, pfid_json):
    told()
    assert "0 NVIDIA H200: low power, 100 % busy, 627 / 700 W" in pfid("show", "train-0001")[1]
    (gpu,) = pfid_json("show", "train-0001")[1]["gpus"]
    assert gpu["uuid"] == "GPU-1"


def test_without_anybody_who_samples_that_is_not_known(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(runs=[make.run()])
    assert pfid_json("show", "train-0001")[1]["gpus"] is None


def test_without_a_daemon_it_samples_itself(nvml, pfid_json):
    nvml.play(H200, H200_MIG)
    code, found = pfid_json("gpus")
    assert code == 0
    assert (found["source"], found["driver"], found["visible"]) == ("own", "580.95.05", 2)
    busy, mig = found["gpus"]
    assert (busy["kind"], busy["power_source"]) == ("matmul", "energy")
    assert busy["power_w"] == pytest.approx(627.4, rel=0.2)
    assert (mig["utilization"], mig["absent"]["utilization"]) == (None, "not_supported")


def test_without_a_library_it_says_so(pfid, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    code, _, err = pfid("gpus")
    assert code == 3
    assert "no GPU library" in err


def test_watched_it_looks_again_until_it_is_interrupted(nvml):
    nvml.play(H200)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pfid", "gpus", "--watch"], stdout=subprocess.PIPE, text=True
    ) as watching:
        lines = (line for line in watching.stdout if "NVIDIA H200" in line)
        assert "matmul" in next(lines)
        nvml.play(H200_IDLE)
        assert next(line for line in lines if "100 %" not in line)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0


@pytest.fixture
def plugins(pfid, tmp_path, monkeypatch):
    """A configured folder of plugins; put some in."""
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    config = tmp_path / "pfid.toml"
    config.write_text(f'[plugins]\ndirectories = ["{folder}"]\n')
    monkeypatch.setenv("PFID_CONFIG", str(config))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    return folder


def test_without_a_daemon_another_vendors_sampler_is_loaded_from_its_plugin(
    plugins, pfid, pfid_json
):
    (plugins / "bad.py").write_text("raise RuntimeError('no')\n")
    (plugins / "rocm.py").write_text(ROCM)
    code, found = pfid_json("gpus")
    (card,) = found["gpus"]
    assert (code, card["name"], card["utilization"]) == (0, "MI300X", 0.5)
    assert (found["source"], found["visible"], found["expected"]) == ("own", 1, 1)
    code, out, err = pfid("gpus")
    assert "MI300X" in out
    assert code == 0
    assert "no GPU library" not in err, "that there is none is as it should be"


def test_both_vendors_are_seen_beside_each_other(nvml, plugins, pfid_json, monkeypatch):
    nvml.play(H200)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml.folder))
    (plugins / "rocm.py").write_text(ROCM)
    code, found = pfid_json("gpus")
    assert (code, [g["name"] for g in found["gpus"]]) == (0, ["NVIDIA H200", "MI300X"])


@pytest.mark.parametrize("text", ["x = 1\n", "raise RuntimeError('no')\n"])
def test_plugins_that_bring_no_gpus_are_not_waited_for(plugins, pfid, text):
    (plugins / "other.py").write_text(text)
    code, _, err = pfid("gpus")
    assert code == 3
    assert "no GPU library" in err


@pytest.mark.full
def test_a_sampler_that_cannot_be_opened_is_waited_for_no_longer_than_it_takes_to_say_so(
    plugins, pfid
):
    (plugins / "rocm.py").write_text(
        ROCM.replace("return GpuDriver", "raise GpuSamplerError(SamplerProblem.NO_DRIVER)#")
    )
    code, _, err = pfid("gpus")
    assert code == 3
    assert "no GPU library" in err
