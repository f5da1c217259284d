"""Logs that lm-evaluation-harness and inspect-ai themselves write, read and judged.

Both come into an environment of their own (1 GB, once): they want other versions of what the rest
of the tests use. PFID_EVAL_PYTHON names one that has them already.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pfid_plugins.result.trip_point_outside_jitter import Limits, judge, observe

from pfid.adapters import zip_member
from pfid.adapters.result_files import Reader
from pfid.adapters.result_places import files_of
from pfid.bootstrap.judge.arms import read_arms
from pfid.cli.entry import main
from pfid.config.gates import GateSpec, Records, loads_gates
from pfid.spec.fakes_results import result_facts, result_world

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
WANTED = HERE / "engines.txt"
"""``tests/run`` reads it too, and makes the environment beside its own."""
INSTALL_S = 900

pytestmark = [pytest.mark.full, pytest.mark.timeout(INSTALL_S + 120)]


@pytest.fixture(scope="module")
def python():
    named = os.environ.get("PFID_EVAL_PYTHON")
    if named:
        return named
    folder = ROOT / ".tests" / "eval-venv"
    ready = folder / "ready"
    if not ready.exists() or ready.read_text() != WANTED.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        install = [folder / "bin" / "python", "-m", "pip", "install", "-q", "-r", WANTED]
        done = subprocess.run(
            install, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
        if done.returncode:
            if os.environ.get("CI"):
                pytest.fail(done.stderr[-2000:])
            pytest.skip("lm-eval and inspect-ai cannot be installed here")
        shutil.copy(WANTED, ready)
    return str(folder / "bin" / "python")


def produced(python, script, folder):
    command = [python, HERE / script, folder]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def inspected(python, tmp_path_factory):
    return produced(python, "produce_inspect.py", tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def harness(python, tmp_path_factory):
    return produced(python, "produce_lm_eval.py", tmp_path_factory.mktemp("harness"))


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_of_inspect_is_read_whole(inspected, form):
    (path,) = (inspected / form).glob(f"*.{form}")
    log = Reader(how=Records()).read(path, 0)
    assert (len(log.records), log.bad, log.declared) == (6, (), 6)
    assert {(r.item, r.repeat) for r in log.records} == {
        (f"q{i}", e) for i in range(3) for e in (0, 1)
    }
    first = next(r for r in log.records if r.item == "q0")
    assert first.output == "The capital of Portugal is **Lisbon**."
    assert first.reference == "Lisbon"
    assert dict(first.scores) == {"includes": 1.0, "exact": 0.0}
    assert (first.seed, first.cap_tokens, first.output_tokens) == (7, 64, 9)
    assert {r.cut_off for r in log.records if r.item == "q2"} == {True}
    assert log.instrument.scorer == "inspect_ai 0.3.285: exact, includes"
    assert log.instrument.decoding == '{"temperature": 0.5}'
    assert (log.instrument.max_tokens, log.instrument.seat) == (64, "mockllm")


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (("inspected", "eval"), ("inspect", 6, {"capitals"})),
        (("inspected", "json"), ("inspect", 6, {"capitals"})),
        (("harness", "out"), ("lm_eval", 10, {"sums", "choices"})),
    ],
)
def test_the_spec_that_init_writes_for_a_real_log_judges_it(
    log, found, request, tmp_path, monkeypatch
):
    """The format is known by what stands in the log; how many there are is counted, not guessed."""
    folder, (form, records, named) = request.getfixturevalue(log[0]) / log[1], found
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    wrote = CliRunner().invoke(main, ["judge", "--init", str(folder)])
    assert wrote.exit_code == 0, wrote.output
    assert f"{records} records" in wrote.stderr
    spec = loads_gates((tmp_path / "GATES.toml").read_text())
    assert spec.records.format == form
    said = json.loads(CliRunner().invoke(main, ["judge", str(folder), "--json"]).stdout)
    (complete,) = [v for v in said["verdicts"] if v["check"] == "records_complete"]
    assert complete["reason"] == "records_complete"
    assert (said["candidate"]["records"], said["candidate"]["bad"]) == (records, 0)
    assert {family for family in named if family in wrote.stderr} == named


def test_a_damaged_member_is_a_bad_record_and_the_others_are_read(inspected, tmp_path):
    (path,) = (inspected / "eval").glob("*.eval")
    body = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        member = next(m for m in archive.infolist() if m.filename == "samples/q1_epoch_1.json")
        assert member.compress_type == zip_member.ZSTANDARD
    at = member.header_offset + 30 + len(member.filename) + member.compress_size // 2
    body[at : at + 8] = b"\xff" * 8
    broken = tmp_path / "broken.eval"
    broken.write_bytes(body)
    log = Reader(how=Records()).read(broken, 0)
    assert len(log.records) == 5
    assert [b.reason for b in log.bad] == ["cut_off"]
    assert log.bad[0].place == "broken.eval:samples/q1_epoch_1.json"


def test_without_the_unpacker_the_remedy_is_said(inspected, monkeypatch):
    (path,) = (inspected / "eval").glob("*.eval")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(zip_member.UnpackerMissingError, match=r"pip install '\.\[inspect\]'"):
        Reader(how=Records()).read(path, 0)


def test_sample_logs_of_the_harness_are_read_with_the_results_beside_them(harness):
    logs = {}
    for run, path in enumerate(files_of((harness / "out",))):
        log = Reader(how=Records()).read(path, run)
        logs[log.records[0].family] = log
    assert set(logs) == {"sums", "choices"}
    sums, choices = logs["sums"], logs["choices"]
    assert (len(sums.records), sums.bad, sums.declared) == (5, (), 5)
    assert {r.output for r in sums.records} == {"lol"}
    assert [r.reference for r in sums.records] == ["0", "2", "4", "6", "8"]
    assert set(sums.records[0].scores) == {
        "exact_match,strict-match",
        "exact_match,flexible-extract",
    }
    assert sums.instrument.max_tokens == 32
    assert sums.instrument.scorer == "lm_eval 0.4.13 sums v2.0 shots 0"
    assert {r.output for r in choices.records} <= {" one", " two"}
    for record in choices.records:
        assert record.scores["acc"] == float(record.output == " one")


def test_runs_of_the_harness_carry_their_seeds_and_those_are_judged(harness):
    """Its dummy model never sees ``--seed``: so are engines that the flag is not handed on to."""
    folders = [harness / "seeds" / str(number) for number in range(3)]
    arms = read_arms(folders, (), GateSpec())
    held = arms.candidate.records
    assert {(r.seed, r.repeat) for r in held} == {(1, 0), (1, 1), (2, 2)}
    assert arms.candidate.mixed == ()
    found = judge(observe(result_world(result_facts(arms.candidate))), Limits())
    assert found.reason == "seed_not_taken"
    spoken = replace(
        arms.candidate, records=[replace(r, output=f"{r.seed} times {r.item}") for r in held]
    )
    assert judge(observe(result_world(result_facts(spoken))), Limits()).reason == "not_configured"


def test_a_seed_that_is_sent_with_each_request_goes_before_the_harness_s_own(harness):
    (path,) = files_of((harness / "sent",))
    log = Reader(how=Records()).read(path, 0)
    assert {r.seed for r in log.records} == {9}
    assert "seed" not in log.instrument.decoding
