"""``pfid provenance reconstruct``: three kinds of evidence, each marked, none of them a record."""

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace

from pfid.adapters.git_repository import GitRepository
from pfid.domain.provenance import CodeIdentity
from pfid.policy.launch_identity import code_identity
from pfid.wire.record import RecordedLog

STEPS = "".join(
    f'{{"step": {step}, "seconds": {45.0 if step == 1 else 19.5}}}\n' for step in range(1, 41)
)
SOURCE = (
    'ATTN_IMPLEMENTATION = "flex_attention"\nload(p, attn_implementation=ATTN_IMPLEMENTATION)\n'
)
MODEL = {
    "model_type": "qwen3_moe", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 128,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 64,
    "moe_intermediate_size": 32, "num_experts": 4,
}  # fmt: skip


def claims(said):
    return {(c["field"], c["claim"]): c for c in said["claims"]}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(SOURCE)
    (tmp_path / "train.log").write_text(STEPS)
    return folder


def test_source_and_step_times_stand_in_for_a_field_nobody_recorded(provenance, project, tmp_path):
    said, code = provenance.json("reconstruct", "--source", project, "--steps",
                                 tmp_path / "train.log", "--expect-step", 20)  # fmt: skip
    assert code == 0
    asked = claims(said)["attn_implementation", "requested"]
    assert (asked["value"], asked["evidence"], asked["certain"]) == (
        "flex_attention", "source", True,
    )  # fmt: skip
    lived = claims(said)["attn_implementation", "survived"]
    assert (lived["value"], lived["evidence"]) == (True, "step_times")
    assert "p50=19.5" in lived["where"][0]
    assert said["code"]["problem"] == "no_repository"
    assert any("experts_implementation" in problem for problem in said["problems"])


def test_step_times_of_a_fallback_contradict(provenance, project, tmp_path):
    said, code = provenance.json("reconstruct", "--source", project, "--steps",
                                 tmp_path / "train.log", "--expect-step", 1)  # fmt: skip
    assert code == 1
    assert claims(said)["attn_implementation", "survived"]["value"] is False


def test_a_run_names_its_own_folder_and_logs(provenance, project, tmp_path):
    provenance.run()
    record = provenance.records.read("train-1")
    logs = [RecordedLog(path=str(tmp_path / "train.log"))]
    provenance.records.commit(replace(record, cwd=str(project), logs=logs, expect_step_s=20.0))
    said, code = provenance.json("reconstruct", "train")
    assert code == 0
    assert claims(said)["attn_implementation", "survived"]["certain"]
    assert said["run_id"] == "train-1"


def test_what_cannot_be_read_is_said_and_hides_nothing(provenance, project):
    (project / "broken.py").write_text("attn_implementation = (")
    (project / "deep").mkdir()
    (project / "deep" / "c.yaml").write_text("attn_implementation: sdpa\n")
    (project / "site-packages").mkdir()
    (project / "site-packages" / "x.py").write_text("attn_implementation = 'eager'")
    said, code = provenance.json("reconstruct", "--source", project)
    assert code == 0
    assert claims(said)["attn_implementation", "requested"]["value"] == "flex_attention"
    assert any("broken.py" in problem for problem in said["problems"])


def test_an_interpreter_that_cannot_answer_is_a_reason(provenance, project):
    said, code = provenance.json("reconstruct", "--model", project, "--python", "/bin/false")
    assert code == 3
    assert "python crashed" in said["problems"][0]
    assert said["claims"] == []


def test_a_log_without_steps_and_nothing_at_all_are_said(provenance, tmp_path):
    (tmp_path / "empty.log").write_text("hello\n")
    said, code = provenance.json("reconstruct", "--steps", tmp_path / "empty.log")
    assert code == 3
    assert "no step times" in said["problems"][0]
    assert provenance("reconstruct").exit_code == 2
    assert provenance("reconstruct", "nobody").exit_code == 2


@pytest.mark.full
@pytest.mark.torch
def test_the_installed_library_resolves_a_request_without_weights(provenance, project, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(MODEL))
    said, code = provenance.json("reconstruct", "--source", project, "--model", tmp_path / "model",
                                 "--python", sys.executable)  # fmt: skip
    assert code == 0
    found = claims(said)
    attention = found["attn_implementation", "resolved"]
    assert (attention["value"], attention["evidence"]) == ("flex_attention", "config_probe")
    assert attention["certain"]
    assert found["experts_implementation", "resolved"]["value"] == "grouped_mm"
    (project / "train.py").write_text(SOURCE.replace("flex_attention", "flash_attention_2"))
    said, _ = provenance.json("reconstruct", "--source", project, "--model", tmp_path / "model",
                              "--python", sys.executable)  # fmt: skip
    absent = claims(said)["attn_implementation", "resolved"]
    assert not absent["certain"]
    assert "FlashAttention2" in absent["why"]


def test_the_shape_is_that_of_the_readme(provenance, project, documented):
    said, _ = provenance.json("reconstruct", "--source", project)
    assert set(said) - {"schema"} == documented("`pfid provenance reconstruct`")
    assert set(said["claims"][0]) == documented("claim of `pfid provenance reconstruct`")


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    argv = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def history(project):
    """Two commits, and a tree that is neither of them."""
    (project / "deep").mkdir()
    (project / "deep" / "c.yaml").write_text("experts_implementation: grouped_mm\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "flex")
    then = git(project, "rev-parse", "HEAD")
    (project / "train.py").write_text(SOURCE.replace("flex_attention", "sdpa"))
    git(project, "rm", "-q", "-r", "deep")
    git(project, "commit", "-q", "-a", "-m", "sdpa")
    (project / "train.py").write_text(SOURCE.replace("flex_attention", "eager"))
    (project / "more.py").write_text("untracked = 1\n")
    return then


def value(said, field="attn_implementation"):
    return claims(said)[field, "requested"]["value"]


def test_a_commit_is_read_as_it_is_and_the_tree_is_not_touched(provenance, project, history):
    before = {p: p.read_bytes() for p in sorted(project.rglob("*")) if p.is_file()}
    now, _ = provenance.json("reconstruct", "--source", project)
    then, code = provenance.json("reconstruct", "--source", project, "--commit", history[:12])
    assert (value(now), value(then), code) == ("eager", "flex_attention", 0)
    assert value(then, "experts_implementation") == "grouped_mm"
    assert (now["code"]["read"], now["code"]["dirty"]) == ("working_tree", True)
    code = {"read": "commit", "commit": history, "dirty": False, "problem": None, "launched": None}
    assert then["code"] == code
    assert (
        f"{history[:7]}:train.py:2:"
        in claims(then)["attn_implementation", "requested"]["where"][-1]
    )
    assert {p: p.read_bytes() for p in sorted(project.rglob("*")) if p.is_file()} == before


@pytest.fixture
def launched(provenance, project, tmp_path):
    """A run whose manifest names the code it was launched from; its logs are told too."""

    def launch(code):
        provenance.run(code=code)
        record = provenance.records.read("train-1")
        logs = [RecordedLog(path=str(tmp_path / "train.log"))]
        provenance.records.commit(replace(record, cwd=str(project), logs=logs))

    return launch


def asked(said):
    return claims(said)["attn_implementation", "requested"]


def test_a_run_is_read_as_the_commit_it_was_launched_from_wherever_the_tree_is_by_now(
    provenance, project, history, launched
):
    launched(CodeIdentity(commit=history, describe=history[:7], dirty=False))
    said, code = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"], code) == ("flex_attention", True, 0)
    assert said["code"]["read"] == "commit"
    assert said["code"]["launched"] == {"commit": history, "dirty": False, "diff_sha256": None}
    assert "which the run was launched from" in provenance("reconstruct", "train").stderr
    lying, _ = provenance.json("reconstruct", "train", "--source", project)
    assert (value(lying), lying["code"]["read"]) == ("eager", "working_tree")
    head, _ = provenance.json("reconstruct", "train", "--commit", "HEAD")
    assert value(head) == "sdpa"


def test_changes_that_no_commit_held_are_read_while_they_still_lie_there(
    provenance, project, history, launched
):
    launched(code_identity(GitRepository(str(project), os.environ).facts()))
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"]) == ("eager", True)
    assert said["code"]["launched"]["dirty"] is True
    assert "the same changes as at the launch" in provenance("reconstruct", "train").stderr
    (project / "train.py").write_text(SOURCE.replace("flex_attention", "flash_attention_2"))
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), said["code"]["read"]) == ("sdpa", "commit")
    assert not asked(said)["certain"]
    assert "nobody kept" in asked(said)["why"]
    assert any(problem.startswith("more.py: ") for problem in said["problems"])


def test_changes_that_were_committed_later_are_read_out_of_that_commit(
    provenance, project, history, launched
):
    launched(code_identity(GitRepository(str(project), os.environ).facts()))
    base = git(project, "rev-parse", "HEAD")
    git(project, "commit", "-q", "-a", "-m", "what ran")
    ran = git(project, "rev-parse", "HEAD")
    for number, text in enumerate(("one", "two")):
        (project / "train.py").write_text(f"# {text}\n")
        git(project, "commit", "-q", "-a", "-m", f"later {number}")
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"]) == ("eager", True)
    assert (said["code"]["commit"], said["code"]["launched"]["commit"]) == (ran, base)
    assert "with the changes the run was launched with" in provenance("reconstruct", "train").stderr
    git(project, "checkout", "-q", "-b", "else", base)
    git(project, "branch", "-q", "-D", "main")
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"]) == ("sdpa", False)
    assert any("nobody kept" in problem for problem in said["problems"])


def test_a_commit_that_is_gone_is_said_and_the_tree_is_no_certain_witness(
    provenance, project, history, launched
):
    launched(CodeIdentity(commit="a" * 40, describe="aaaaaaa", dirty=False))
    said, code = provenance.json("reconstruct", "train")
    assert (value(said), said["code"]["read"], code) == ("eager", "working_tree", 0)
    assert not asked(said)["certain"]
    assert any("has no commit" in problem for problem in said["problems"])


@pytest.mark.parametrize("named", ["--output=x", "no-such", "", "-"])
def test_a_manifest_that_names_no_commit_starts_nothing(
    provenance, project, history, launched, named
):
    launched(CodeIdentity(commit=named, dirty=True, diff_sha256="0" * 64))
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"]) == ("eager", False)
    assert not (project / "x").exists()


def test_a_launch_outside_of_a_repository_is_read_as_it_lies_there(provenance, project, launched):
    launched(CodeIdentity(problem="no_repository"))
    said, _ = provenance.json("reconstruct", "train")
    assert (value(said), asked(said)["certain"]) == ("flex_attention", True)


def test_a_manifest_that_cannot_be_read_is_said_and_hides_nothing(
    provenance, project, history, launched
):
    launched(CodeIdentity(commit=history, dirty=False))
    (provenance.records.run_dir("train-1") / "provenance.json").write_text("{")
    said, _ = provenance.json("reconstruct", "train")
    assert value(said) == "eager"
    assert any("provenance.json" in problem for problem in said["problems"])


def test_a_working_directory_that_is_gone_is_said_and_the_logs_are_read_all_the_same(
    provenance, project, history, launched
):
    launched(CodeIdentity(commit=history, dirty=False))
    project.rename(project.with_name("moved"))
    said, _ = provenance.json("reconstruct", "train")
    assert any("is not there any more" in problem for problem in said["problems"])
    assert set(claims(said)) == {("attn_implementation", "survived")}
    moved, _ = provenance.json("reconstruct", "train", "--source", project.with_name("moved"))
    assert value(moved) == "eager"


def test_a_part_of_the_tree_and_one_file_are_read_at_a_commit_too(provenance, project, history):
    head, _ = provenance.json("reconstruct", "--source", project / "train.py", "--commit", "HEAD")
    assert value(head) == "sdpa"
    (project / "deep").mkdir()
    below, _ = provenance.json("reconstruct", "--source", project / "deep", "--commit", history)
    assert set(claims(below)) == {("experts_implementation", "requested")}


@pytest.mark.parametrize("revision", ["no-such", "--output=x", "HEAD:train.py", "", "a\nb"])
def test_what_names_no_commit_is_said(provenance, project, history, revision):
    said = provenance("reconstruct", "--source", project, f"--commit={revision}")
    assert said.exit_code == 3
    assert "commit" in said.stderr
    assert not (project / "x").exists()


def test_a_place_that_the_commit_does_not_have_is_said(provenance, project, history):
    said, code = provenance.json(
        "reconstruct", "--source", project / "more.py", "--commit", history
    )
    assert code == 3
    assert any("cannot be read" in problem for problem in said["problems"])


def test_a_person_is_told_which_source_was_read(provenance, project, history):
    said = provenance("reconstruct", "--source", project)
    assert "as it lies there now, at" in said.stderr
    assert "--commit REV" in said.stderr
    said = provenance("reconstruct", "--source", project, "--commit", history)
    assert f"as commit {history[:7]} holds it" in said.stderr
    assert provenance("reconstruct", "--commit", history, "--model", "x").exit_code == 2
