"""``pfid run`` writes down what is true when its child does not exist yet, and completes it."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pfid.adapters.manifest_files import read_manifest

pytestmark = pytest.mark.needs("git")
GIT_AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder, *arguments):
    return subprocess.run(
        ["git", "-C", folder, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **GIT_AUTHOR},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def repo(user):
    """The user's working directory as a repository with one commit; logs are ignored."""
    git(user.work, "init", "-q", "-b", "main")
    (user.work / ".gitignore").write_text("*.log\n")
    (user.work / "train.py").write_text("print('one')\n")
    git(user.work, "add", ".")
    git(user.work, "commit", "-qm", "one")
    return user.work


def manifest(user, place=-1):
    return json.loads((user.run_dir(user.records()[place]) / "provenance.json").read_text())


def test_commits_made_while_it_runs_change_nothing_that_it_says(user, repo, eventually):
    launched_from = git(repo, "rev-parse", "HEAD")
    launcher = user.start_run("--", "sh", "-c", "echo up; read line < go")
    os.mkfifo(repo / "go")
    eventually(lambda: "up" in user.text(), "the child")
    for number in range(3):
        (repo / "train.py").write_text(f"print({number})\n")
        git(repo, "commit", "-qam", f"commit {number}")
    (repo / "train.py").write_text("print('dirty now')\n")
    (repo / "go").write_text("\n")
    assert launcher.wait(30) == 0
    assert git(repo, "rev-list", "--count", "HEAD") == "4"
    said = manifest(user)
    assert said["complete"]
    assert said["code"]["commit"] == launched_from
    assert said["code"]["describe"] == launched_from[:7]
    assert said["code"]["dirty"] is False


def test_a_dirty_tree_is_told_beside_its_commit(user, repo):
    (repo / "train.py").write_text("print('two')\n")
    (repo / "helper.py").write_text("")
    assert user.run("--", "true").returncode == 0
    code = manifest(user)["code"]
    assert code["dirty"]
    assert code["describe"].endswith("-dirty")
    assert code["changes"] == [{"path": "train.py", "state": ".M", "submodule": False}]
    assert code["untracked"] == ["helper.py"]
    diff = git(repo, "diff", "--full-index", "HEAD") + "\n"
    assert code["diff_sha256"] == hashlib.sha256(diff.encode()).hexdigest()


def test_no_repository_and_no_interpreter_are_reasons_and_every_key_is_there(user):
    assert user.run("--", "true").returncode == 0
    said = manifest(user)
    assert said["code"]["problem"] == "no_repository"
    assert said["interpreter"]["problem"] == "not_a_python"
    assert said["interpreter"]["distributions"] is None
    assert said["fields"]["attn_implementation"] == {
        "requested": None, "resolved": None, "observed": None, "refused": None,
        "requested_by": None, "resolved_by": None, "observed_by": None, "conflicting": False,
        "self_observed": None,
    }  # fmt: skip
    assert said["end"]["exit_code"] == 0


def test_the_interpreter_that_trains_tells_what_is_installed_in_it(user):
    assert user.run("--", "nice", sys.executable, "-c", "pass").returncode == 0
    said = manifest(user)["interpreter"]
    assert said["problem"] is None
    assert said["version"] == "{}.{}.{}".format(*sys.version_info)
    assert said["distributions"]["pytest"] == version("pytest")


def test_an_interpreter_that_crashes_is_a_reason_and_no_obstacle(user):
    python = user.work / "python3"
    python.write_text("#!/bin/sh\ntest $# -eq 1 || exit 9\n")
    python.chmod(0o755)
    assert user.run("--", "./python3", "train.py").returncode == 0
    assert manifest(user)["interpreter"]["problem"] == "python_crashed"


def test_what_is_sampled_stands_there_before_the_child_runs(user, repo):
    done = user.run("--", "sh", "-c", 'cat "$PFID_RUN_DIR"/provenance.json')
    assert done.returncode == 0
    seen = json.loads(user.text().partition("\n")[2])
    assert seen["complete"] is False
    assert seen["end"] is None
    assert seen["code"]["commit"] == git(repo, "rev-parse", "HEAD")
    assert seen["sampled_at_s"] <= user.records()[0]["started_at_s"] + 0.02  # of clock ticks


def test_a_killed_launcher_leaves_a_valid_manifest_that_says_it_is_incomplete(user, eventually):
    launcher = user.start_run("--", "sleep", "60")
    eventually(user.records, "a record")
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait(20)
    read = read_manifest(user.run_dir(user.records()[0]) / "provenance.json")
    assert read.manifest.complete is False
    assert read.manifest.end is None
    assert not read.changed


def test_secrets_are_masked_wherever_they_stand(user):
    secret = "hf_" + "a" * 34
    command = (
        "true",
        "--hf-token",
        secret,
        f"--url=https://me:{secret}@hub",
        f"X_API_KEY={secret}",
    )
    assert user.run("--", *command, HF_TOKEN=secret, HF_HOME=f"/{secret}").returncode == 0
    text = (user.run_dir(user.records()[0]) / "provenance.json").read_text()
    assert secret not in text
    said = json.loads(text)["command"]
    assert said["argv"] == [
        "true", "--hf-token", "[masked]", "--url=https://[masked]@hub", "X_API_KEY=[masked]",
    ]  # fmt: skip
    assert said["masked"] == 3
    assert said["environ"]["HF_TOKEN"] == "[masked]"
    assert said["environ"]["HF_HOME"] == "/[masked]"
    assert said["environ"]["CUDA_VISIBLE_DEVICES"] is None


SPEC = """
python = "{python}"
[provenance]
config = ["train.yaml"]
datasets = ["data"]
auxiliary = ["mask.json", "gone.json"]
artefacts = ["adapter.bin"]
container = "registry.example.org/train:7"
environ = ["OWN_SETTING"]
[provenance.requested]
attn_implementation = "flex_attention"
[provenance.pairs]
seed = "seed_used"
"""


def test_what_the_spec_declares_is_digested_by_content_when_it_is_true(user):
    work = user.work
    (work / "preflight.toml").write_text(SPEC.format(python=sys.executable))
    (work / "train.yaml").write_text("lr: 1\n")
    (work / "mask.json").write_text("[1]")
    (work / "data").mkdir()
    (work / "data" / "a.jsonl").write_text("{}\n")
    done = user.run("--", "sh", "-c", "echo made > adapter.bin; echo '[2]' > mask.json")
    assert done.returncode == 0, done.stderr
    said = manifest(user)
    files = {Path(f["path"]).name: f for f in said["files"]}
    assert files["mask.json"]["sha256"] == hashlib.sha256(b"[1]").hexdigest()
    assert files["train.yaml"]["role"] == "config"
    assert files["gone.json"]["problem"] == "missing"
    assert files["gone.json"]["sha256"] is None
    inner = hashlib.sha256(b"{}\n").hexdigest()
    assert files["data"]["sha256"] == hashlib.sha256(f"{inner}  a.jsonl\n".encode()).hexdigest()
    assert files["adapter.bin"]["role"] == "artefact"
    assert files["adapter.bin"]["sha256"] == hashlib.sha256(b"made\n").hexdigest()
    assert files["preflight.toml"]["sha256"]
    assert said["host"]["container_tag"] == "registry.example.org/train:7"
    assert "OWN_SETTING" in said["command"]["environ"]
    field = said["fields"]["attn_implementation"]
    assert (field["requested"], field["requested_by"]["kind"]) == ("flex_attention", "declared")
    assert said["expected"] == {"seed": "seed_used"}
    assert said["interpreter"]["problem"] is None


@pytest.mark.full
def test_a_spec_that_cannot_be_used_refuses_where_it_was_named_and_is_told_where_it_was_not(user):
    (user.work / "preflight.toml").write_text("nonsense = 1\n")
    named = user.run("--spec", "preflight.toml", "--", "true")
    assert named.returncode == 125
    assert "nonsense" in named.stderr
    assert not user.records()
    found = user.run("--", "true")
    assert found.returncode == 0
    assert "is not used" in found.stderr
    (file,) = manifest(user)["files"]
    assert (file["problem"], file["sha256"]) == ("spec_unusable", None)


def test_a_spec_that_is_not_there_refuses_and_nothing_is_moved(user):
    (user.work / "train.log").write_text("earlier\n")
    assert user.run("--spec", "no.toml", "--", "true").returncode == 125
    assert user.text() == "earlier\n"


OBSERVING = """
import os, sys
from pfid.trainer.observe import configured, observe
configured("template.sha256", "a" * 64)
observe("template.sha256", "a" * 64)
configured("attn_implementation", "flex_attention")
observe("resolved.attn_implementation", "sdpa")
if os.fork() == 0:
    observe("template.sha256", "b" * 64)
    observe("tokens.loss_delta", -221712)
    os._exit(0)
os.wait()
for step in range(1, 21):
    print(f'{{"step": {step}, "seconds": {2.0 if step > 1 else 9.0}}}')
"""


def test_what_its_processes_saw_stands_beside_what_was_asked_for(user, checkout):
    (user.work / "train.py").write_text(OBSERVING)
    done = user.run("--expect-step", "2", "--", sys.executable, "train.py",
                    PYTHONPATH=str(checkout))  # fmt: skip
    assert done.returncode == 0, user.text()
    fields = manifest(user)["fields"]
    template = fields["template.sha256"]
    assert (template["requested"], template["observed"]) == ("a" * 64, "b" * 64)
    assert template["refused"] == "a" * 64
    assert template["observed_by"]["pid"] != template["requested_by"]["pid"]
    attention = fields["attn_implementation"]
    assert (attention["requested"], attention["resolved"]) == ("flex_attention", "sdpa")
    assert fields["tokens.loss_delta"]["observed"] == -221712
    seconds = fields["step_seconds"]
    assert seconds["requested"] == 2.0
    assert (seconds["observed"]["n"], seconds["observed"]["first"]) == (19, 9.0)
    assert seconds["observed"]["p50"] == 2.0
    assert seconds["observed_by"]["kind"] == "log"


@pytest.mark.full
def test_every_attempt_of_a_relaunch_has_a_manifest_of_its_own(user, repo):
    (user.work / "again.sh").write_text(
        "test -e tried && exit 0\n: > tried\ngit commit --allow-empty -qm two || exit 9\nexit 1\n"
    )
    assert user.run("--restart", "1", "--", "sh", "again.sh", **GIT_AUTHOR).returncode == 0
    first, second = manifest(user, 0), manifest(user, 1)
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert (first["end"]["exit_code"], second["end"]["exit_code"]) == (1, 0)
    assert first["code"]["commit"] != second["code"]["commit"] == git(repo, "rev-parse", "HEAD")


def test_a_command_that_cannot_be_executed_leaves_a_complete_manifest(user):
    (user.work / "tool").write_text("\x00")
    (user.work / "tool").chmod(0o755)
    assert user.run("--", "./tool").returncode == 126
    said = manifest(user)
    assert said["complete"]
    assert said["end"]["exit_code"] == 126


def test_bytes_that_are_no_text_are_told_as_such(user):
    assert user.run("--", "true", "\udcff").returncode == 0
    assert manifest(user)["command"]["argv"] == ["true", "\\udcff"]


def test_an_interrupt_while_files_are_digested_ends_the_launch_and_moves_nothing(user):
    with (user.work / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)  # holes: minutes of reading, not a byte of disk
    (user.work / "preflight.toml").write_text('[provenance]\ndatasets = ["huge.bin"]\n')
    (user.work / "train.log").write_text("earlier\n")
    launcher = user.start_run("--", "true")
    for line in launcher.stderr:
        if "digesting" in line:
            break
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(20) != 0
    assert user.text() == "earlier\n"
    assert not user.records()
    assert not list(user.home.glob(".local/state/pfid/*/runs/*"))


def test_a_working_directory_that_is_gone_refuses(user):
    gone = user.work / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -P -m pfid run -- true"
    done = subprocess.run(
        ["sh", "-c", script], env=user.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 125
    assert "the working directory is gone" in done.stderr
