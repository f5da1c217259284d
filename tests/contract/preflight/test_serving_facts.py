"""Is the project's proof of its serving path really run, in its folder?"""

import os
import time

import pytest

from pfid.adapters.model_files import read_model
from pfid.adapters.process_identity import machine_id
from pfid.adapters.proof_files import ProofFiles, file_sha256
from pfid.bootstrap.preflight.serving import serving_facts
from pfid.bootstrap.viability.proven_parts import proven_model
from pfid.config.paths import user_state_dir
from pfid.domain.errors import ConfigError
from pfid.domain.serving import ServingEnd, Shape
from pfid.wire.serving import ProvenEngine, ServingProof


def facts(repository, command, more=""):
    return serving_facts(repository.project(f"[serving]\ncommand = {command}\n{more}"))


@pytest.mark.parametrize(
    ("command", "more", "problem", "refused", "detail"),
    [
        ('["sh", "-c", "test -f data/mask.json"]', "", "", False, ""),
        (
            '["sh", "-c", "echo must be implemented >&2; exit 1"]',
            "",
            "",
            True,
            "must be implemented",
        ),
        ('["sh", "-c", "kill -9 $$"]', "", "serving_crashed", False, ""),
        ('["sleep", "60"]', "deadline_s = 0.3\n", "serving_hung", False, ""),
        ('["./nowhere"]', "", "not_started", False, "./nowhere: not found"),
    ],
)
def test_a_proof_is_tried(repository, command, more, problem, refused, detail):
    found = facts(repository, command, more)
    assert (found.problem, found.refused, found.detail) == (problem, refused, detail)


def test_no_command_is_none(repository):
    assert serving_facts(repository.project()) is None


@pytest.fixture
def kept(repository, tmp_path, monkeypatch):
    """A base in the project's folder, and a way to keep a proof of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = repository.project()
    base = project.folder / "base"
    base.mkdir()
    (base / "config.json").write_text('{"architectures": ["Some"], "model_type": "some"}')
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\n")
    model = proven_model(read_model((base,)))

    def keep(end=ServingEnd.READY, shape=Shape.ADAPTER, program=program):
        files = ProofFiles(user_state_dir(os.environ, machine_id()))
        log = files.log_for("proof")
        log.write_text("ready\n")
        proof = ServingProof(
            run_id="r", at_s=time.time(), model=model, shape=shape, argv=(), flags=(), end=end,
            engine=ProvenEngine(
                name="engine", said="1.0", program=str(program),
                program_sha256=file_sha256(str(program)),
            ),
            error=("must be implemented",), log=str(log), log_sha256=file_sha256(str(log)),
        )  # fmt: skip
        files.keep("proof", proof)
        return log, program

    return keep


WITH_MODEL = '[serving]\nmodel = "base"\n'
WITH_BOTH = WITH_MODEL + 'command = ["sh", "-c", "exit 1"]\nserves = "adapter"\n'


def test_a_proof_that_is_kept_counts_before_any_command(repository, kept):
    kept()
    for spec in (WITH_MODEL, WITH_BOTH):
        found = serving_facts(repository.project(spec))
        assert (found.problem, found.refused, found.proven) == ("", False, True)
        assert "engine 1.0" in found.detail


def test_a_refusal_that_is_kept_counts_too(repository, kept):
    kept(ServingEnd.REFUSED)
    found = serving_facts(repository.project(WITH_MODEL))
    assert (found.refused, found.proven) == (True, True)
    assert "must be implemented" in found.detail


def test_a_model_in_the_command_is_enough(repository, kept):
    kept()
    spec = '[serving]\ncommand = ["./engine", "base", "--enable-lora"]\n'
    assert serving_facts(repository.project(spec)).proven
    merged = '[serving]\ncommand = ["./engine", "base"]\n'
    assert serving_facts(repository.project(merged)).problem == "not_started"


def test_no_proof_and_no_command_is_not_proven(repository, kept):
    assert serving_facts(repository.project(WITH_MODEL)).problem == "not_proven"
    kept(shape=Shape.MERGED)
    assert serving_facts(repository.project(WITH_MODEL)).problem == "not_proven"


def test_an_engine_that_is_another_now_or_a_log_that_is_is_not_believed(repository, kept):
    log, program = kept()
    program.write_text("#!/bin/sh\n# newer\n")
    assert serving_facts(repository.project(WITH_MODEL)).problem == "other_version"
    assert serving_facts(repository.project(WITH_BOTH)).refused
    program.unlink()
    assert serving_facts(repository.project(WITH_MODEL)).problem == "proof_doubtful"
    program.write_text("#!/bin/sh\n")
    log.write_text("edited\n")
    assert serving_facts(repository.project(WITH_MODEL)).problem == "proof_doubtful"


def test_a_table_that_names_neither_is_refused(repository):
    with pytest.raises(ConfigError, match="needs `model` or `command`"):
        repository.project("[serving]\n")
