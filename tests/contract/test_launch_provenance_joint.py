"""A launch samples what it can: whatever is hostile, slow or broken is a reason and no obstacle."""

import os
import sys

import pytest

from pfid.adapters import content_digest
from pfid.adapters.manifest_files import read_manifest
from pfid.bootstrap import asked_python
from pfid.bootstrap.declarations import Declarations
from pfid.bootstrap.launch_provenance import LaunchProvenance
from pfid.config.provenance import Provenance
from pfid.launch.request import LaunchRequest


@pytest.fixture
def launch(tmp_path):
    """Sample a launch of a command, in a folder that is no repository."""
    said = []
    (tmp_path / "run").mkdir()
    (tmp_path / "preflight.toml").write_text("")

    def sample(*argv, table=None, python="", **environ):
        declared = Declarations(
            table=table or Provenance(), file=str(tmp_path / "preflight.toml"), python=python
        )
        provenance = LaunchProvenance(said.append, declared, tmp_path / "digests.json")
        request = LaunchRequest(
            name="train", argv=argv, log_paths=(), cwd=str(tmp_path),
            environ={"PATH": "/usr/bin:/bin", **environ},
        )  # fmt: skip
        provenance.begin(request)
        provenance.sample(request, "train-1", 1, tmp_path / "run")
        return read_manifest(tmp_path / "run" / "provenance.json").manifest

    sample.said = said
    return sample


@pytest.fixture
def script(tmp_path):
    def make(name, text):
        file = tmp_path / name
        file.write_text(text)
        file.chmod(0o755)
        return str(file)

    return make


def test_an_interpreter_that_hangs_holds_a_launch_up_to_its_deadline_and_is_said(
    launch, script, monkeypatch
):
    monkeypatch.setattr(asked_python, "DEADLINE_S", 0.3)
    found = launch(script("python3", "#!/bin/sh\nexec sleep 60\n"), "train.py")
    assert found.interpreter.problem == "python_hung"
    assert launch.said == ["provenance: the training interpreter tells nothing (python hung)"]


def test_one_that_answers_what_is_no_list_of_versions_tells_none(launch, script):
    answer = '{"pfid": 1, "version": "9", "answer": {"distributions": [1], "prefix": 7}}'
    found = launch(script("python3", f"#!/bin/sh\necho '{answer}' >&3\n"), "train.py")
    assert found.interpreter.problem is None
    assert (found.interpreter.distributions, found.interpreter.prefix) == (None, None)
    assert found.interpreter.version == "9"


def test_the_interpreter_that_the_spec_names_outranks_the_command(launch):
    found = launch("bash", "train.sh", python=sys.executable)
    assert found.interpreter.problem is None
    assert launch("bash", "train.sh").interpreter.problem == "behind_a_launcher"


def test_a_script_of_an_interpreter_leads_to_it(launch, script):
    found = launch(script("torchrun", f"#!{sys.executable}\n"), "train.py")
    assert found.interpreter.distributions["pytest"]
    assert launch(script("tool", "#!/bin/sh\n")).interpreter.problem == "not_a_python"


def test_a_digest_is_kept_only_where_the_spec_wants_that(launch, tmp_path, monkeypatch):
    monkeypatch.setattr(content_digest, "SETTLED_S", -1.0)
    (tmp_path / "preflight.toml").write_text("")
    (tmp_path / "data").write_text("x")
    for trusted in (False, True):
        table = Provenance(datasets=["data"], trust_unchanged=trusted)
        kept = [launch("true", table=table).files[1].cached for _ in range(2)]
        assert kept == [False, trusted]


def test_a_declared_file_that_is_not_there_is_said_at_the_launch(launch, tmp_path):
    """It stood in the manifest alone, and nobody reads that before the run has ended."""
    (tmp_path / "here.toml").write_text("")
    table = Provenance(config=["here.toml", "gone.toml"], datasets=[f"no{n}" for n in range(9)])
    found = launch("true", table=table)
    assert sum(one.problem == "missing" for one in found.files) == 10
    assert launch.said[0] == f"provenance: {tmp_path}/gone.toml has no digest (missing)"
    assert launch.said[5:] == ["provenance: and 5 more have none"]
    assert not any("here.toml" in line for line in launch.said)


def test_a_refused_launch_leaves_no_question_behind(launch, script, tmp_path):
    python = script("python3", "#!/bin/sh\nexec sleep 60\n")
    request = LaunchRequest(
        name="n", argv=(python, "x"), log_paths=(), cwd=str(tmp_path), environ={"PATH": "/bin"}
    )
    provenance = LaunchProvenance(print, Declarations(), tmp_path / "digests.json")
    provenance.begin(request)
    process = provenance._asked._pending._process
    provenance.drop()
    with pytest.raises(ChildProcessError):
        os.waitpid(process._pid, os.WNOHANG)


def test_the_base_is_recorded_by_what_its_tensors_hold(launch, tmp_path):
    import numpy as np
    from safetensors.numpy import save_file

    (tmp_path / "base").mkdir()
    save_file({"a.weight": np.ones((4, 4), np.float32)}, tmp_path / "base" / "model.safetensors")
    found = launch("true", table=Provenance(base="base")).fields["base.weights"]
    assert found.observed["tensors"] == 1
    assert found.observed["read_bytes"] == 64
    assert found.observed_by.detail == str(tmp_path / "base")
    recorded = (tmp_path / "run" / "base.json").read_text()
    assert found.observed["digest"] in recorded
    save_file({"a.weight": np.zeros((4, 4), np.float32)}, tmp_path / "base" / "model.safetensors")
    other = launch("true", table=Provenance(base="base")).fields["base.weights"]
    assert other.observed["digest"] != found.observed["digest"]


def test_a_base_that_cannot_be_read_stops_no_launch_and_is_said(launch, tmp_path):
    found = launch("true", table=Provenance(base="gone"))
    assert found.fields["base.weights"].observed is None
    assert [f.problem for f in found.files if f.path == str(tmp_path / "gone")] == [
        "weights_unreadable"
    ]
    assert any("the base is not recorded" in line for line in launch.said)
    assert not (tmp_path / "run" / "base.json").exists()
