"""A repository as git sees it; whatever it brings along, nothing of that is run."""

import hashlib
import os
import shutil
import subprocess
import time

import pytest

from pfid.adapters.git_repository import GitRepository
from pfid.spec.ports.git import GitChange, GitProblem

pytestmark = pytest.mark.needs("git")
ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-C", folder, *arguments],
        env=ENVIRON, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def look(folder, **environ):
    return GitRepository(str(folder), {**ENVIRON, **environ}).facts()


def started(folder):
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def repo(tmp_path):
    return started(tmp_path / "repo")


def test_a_clean_tree_is_its_commit_and_nothing_else(repo):
    git(repo, "tag", "-am", "v1", "v1")
    (repo / "sub").mkdir()
    facts = look(repo / "sub")
    assert facts.problem is GitProblem.NONE
    assert facts.commit == git(repo, "rev-parse", "HEAD")
    assert (facts.root, facts.branch, facts.describe) == (str(repo), "main", "v1")
    assert facts.dirty is False
    assert facts.diff_sha256 is None
    assert (facts.changes, facts.untracked, facts.submodules) == ((), (), ())


def test_a_dirty_tree_says_so_beside_its_commit_and_digests_what_differs(repo):
    (repo / "train.py").write_text("two\n")
    (repo / "weights.bin").write_bytes(bytes(range(256)))
    git(repo, "add", "weights.bin")
    first = look(repo)
    assert first.commit == git(repo, "rev-parse", "HEAD")
    assert first.describe == f"{first.commit[:7]}-dirty"
    assert first.dirty
    assert first.changes == (GitChange(path="train.py", state=".M"), GitChange(
        path="weights.bin", state="A."))  # fmt: skip
    (repo / "weights.bin").write_bytes(bytes(range(255, -1, -1)))
    assert look(repo).diff_sha256 != first.diff_sha256
    (repo / "weights.bin").write_bytes(bytes(range(256)))
    assert look(repo).diff_sha256 == first.diff_sha256


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_the_index_takes_for_unchanged_is_looked_at(repo, mark):
    (repo / "train.py").write_text("two\n")
    shown = look(repo)
    git(repo, "update-index", mark, "train.py")
    index = (repo / ".git/index").read_bytes()
    assert git(repo, "status", "--porcelain") == ""  # that is what git says of it
    assert look(repo) == shown
    assert shown.dirty
    assert (repo / ".git/index").read_bytes() == index
    (repo / "train.py").write_text("one\n")
    assert look(repo).dirty is False


def test_what_a_sparse_checkout_leaves_out_is_no_change_and_what_is_taken_away_is(repo):
    git(repo, "update-index", "--skip-worktree", "train.py")
    (repo / "train.py").unlink()
    assert look(repo).dirty is False
    git(repo, "update-index", "--no-skip-worktree", "train.py")
    git(repo, "update-index", "--assume-unchanged", "train.py")
    assert look(repo).changes == (GitChange(path="train.py", state=".D"),)


def test_a_file_that_was_replaced_with_its_size_and_date_kept_is_looked_at(repo):
    git(repo, "config", "core.trustctime", "false")
    times = (repo / "train.py").stat()
    os.utime(repo / ".git/index", ns=(times.st_mtime_ns + 10**10,) * 2)  # no file is younger
    while int((repo / "train.py").stat().st_ctime) == int(times.st_ctime):  # git counts seconds
        time.sleep(0.05)
        (repo / "train.py").write_text("two\n")
    os.utime(repo / "train.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (
        git(repo, "--no-optional-locks", "status", "--porcelain") == ""
    )  # that is what git says of it
    assert look(repo).dirty


def test_a_file_that_was_replaced_in_its_second_is_looked_at_whatever_git_is_told_to_compare(repo):
    git(repo, "config", "core.checkStat", "minimal")
    times = (repo / "train.py").stat()
    os.utime(repo / ".git/index", ns=(times.st_mtime_ns + 10**10,) * 2)  # no file is younger
    (repo / "other.py").write_text("two\n")
    (repo / "other.py").rename(repo / "train.py")
    os.utime(repo / "train.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    said = git(repo, "--no-optional-locks", "status", "--porcelain")
    assert said == ""  # that is what git says of it
    assert look(repo).dirty


def test_a_commit_that_another_one_stands_in_for_is_what_its_name_says(repo):
    first = git(repo, "rev-parse", "HEAD")
    (repo / "train.py").write_text("two\n")
    git(repo, "commit", "-qam", "two")
    git(repo, "replace", "HEAD", first)
    assert look(repo).dirty is False
    (repo / "train.py").write_text("one\n")
    git(repo, "add", ".")
    assert git(repo, "status", "--porcelain") == ""  # that is what git says of it
    assert look(repo).dirty


def test_the_digest_is_of_the_diff_whatever_the_user_likes_to_see(repo, tmp_path):
    (repo / "train.py").write_text("two\n")
    plain = look(repo).diff_sha256
    text = git(repo, "diff", "--full-index", "HEAD") + "\n"
    assert plain == hashlib.sha256(text.encode()).hexdigest()
    (tmp_path / ".gitconfig").write_text(
        "[diff]\nnoprefix=true\ncontext=9\nalgorithm=patience\n[color]\nui=always\n"
    )
    assert look(repo, HOME=str(tmp_path)).diff_sha256 == plain


def test_untracked_files_are_named_and_are_not_dirt(repo):
    (repo / "helper.py").write_text("")
    (repo / "pkg").mkdir()
    (repo / "pkg" / "more.py").write_text("")
    facts = look(repo)
    assert facts.dirty is False
    assert facts.untracked == ("helper.py", "pkg/")
    assert facts.untracked_n == 2


def test_a_name_with_a_line_break_or_bytes_of_another_time_is_one_name(repo):
    (repo / "a\nb ü").write_text("")
    with open(os.fsencode(repo) + b"/\xff", "w"):  # noqa: PTH123 - no text names it
        pass
    assert set(look(repo).untracked) == {"a\nb ü", "\udcff"}


def test_a_detached_head_has_no_branch(repo):
    git(repo, "checkout", "-q", "--detach")
    assert look(repo).branch is None


def test_each_kind_of_no_repository_has_a_reason_of_its_own(repo, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "bare")
    git(tmp_path, "init", "-q", "unborn")
    (tmp_path / "plain").mkdir()
    broken = started(tmp_path / "broken")
    (broken / ".git" / "index").write_bytes(b"rubbish")
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / ".git").write_text("gitdir: /nowhere\n")
    reasons = {
        "lost": GitProblem.FAILED,
        "plain": GitProblem.NO_REPOSITORY,
        "bare": GitProblem.BARE,
        "repo/.git": GitProblem.BARE,
        "unborn": GitProblem.NO_COMMIT,
        "broken": GitProblem.FAILED,
        "gone": GitProblem.FAILED,
    }
    assert {name: look(tmp_path / name).problem for name in reasons} == reasons
    assert look(repo, PATH="/nonexistent").problem is GitProblem.NO_GIT


@pytest.mark.root
def test_a_folder_of_somebody_else_is_neither_clean_nor_dirty(repo, tmp_path):
    for place, folders, files in os.walk(repo):
        for name in (".", *folders, *files):
            os.chown(os.path.join(place, name), 12_345, 12_345)  # noqa: PTH118
    facts = look(repo)
    assert facts.problem is GitProblem.DUBIOUS_OWNERSHIP
    assert "safe.directory" in facts.detail
    assert (facts.commit, facts.dirty) == (None, None)
    (tmp_path / ".gitconfig").write_text(f"[safe]\ndirectory = {repo}\n")
    assert look(repo, HOME=str(tmp_path)).dirty is False


def test_a_git_that_hangs_is_its_own_reason(repo, tmp_path):
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    environ = {**ENVIRON, "PATH": f"{slow.parent}:{ENVIRON['PATH']}"}
    facts = GitRepository(str(repo), environ, deadline_s=0.2).facts()
    assert facts.problem is GitProblem.HUNG


def test_variables_that_would_lead_git_elsewhere_do_not(repo, tmp_path):
    other = started(tmp_path / "other")
    (other / "train.py").write_text("two\n")
    git(other, "commit", "-qam", "two")
    assert look(repo, GIT_DIR=f"{other}/.git", GIT_WORK_TREE=str(other)).root == str(repo)


@pytest.fixture
def hostile(repo, tmp_path):
    """A repository that runs a program wherever git lets it."""
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n')
    program.chmod(0o755)
    (repo / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "attributes")
    for key in (
        "core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command",
        "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.pager",
        "core.editor", "core.sshCommand", "pager.status", "alias.status",
    ):  # fmt: skip
        git(repo, "config", key, str(program))
    git(repo, "config", "filter.evil.required", "true")
    for hook in ("post-index-change", "post-checkout", "pre-commit"):
        shutil.copy(program, repo / ".git" / "hooks" / hook)
    (repo / "train.py").write_text("two\n")
    return repo, mark


def test_nothing_that_a_repository_brings_along_is_run(hostile):
    repo, mark = hostile
    mark.unlink(missing_ok=True)
    facts = look(repo)
    assert not mark.exists()
    assert facts.dirty
    assert facts.diff_sha256
    assert facts.filters_off == ("evil",)
    subprocess.run(["git", "-C", repo, "status"], env=ENVIRON, check=False, capture_output=True)
    assert mark.exists(), "the trap itself must work"


def test_nothing_that_a_submodule_brings_along_is_run(hostile, tmp_path):
    repo, mark = hostile
    outer = started(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(repo), "inner")
    git(outer, "commit", "-qam", "inner")
    git(outer / "inner", "config", "filter.evil.clean", str(tmp_path / "program"))
    git(outer / "inner", "config", "diff.external", str(tmp_path / "program"))
    git(outer / "inner", "config", "core.fsmonitor", str(tmp_path / "program"))
    (outer / "inner" / "train.py").write_text("two\n")
    mark.unlink(missing_ok=True)
    facts = look(outer)
    assert not mark.exists()
    assert facts.filters_off == ("evil",)
    assert facts.submodules[0].dirty
    subprocess.run(["git", "-C", outer, "status"], env=ENVIRON, check=False, capture_output=True)
    assert mark.exists(), "the trap itself must work"


def test_nothing_is_written_into_the_repository(repo):
    os.utime(repo / "train.py", (1, 1))  # a status that may would refresh the index
    before = (repo / ".git" / "index").read_bytes()
    assert look(repo).dirty is False
    assert (repo / ".git" / "index").read_bytes() == before


@pytest.fixture
def outer(repo, tmp_path):
    outer = started(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(repo), "inner")
    git(outer, "commit", "-qam", "inner")
    return outer


def test_a_submodule_is_told_with_what_is_recorded_and_what_lies_there(outer):
    (inner,) = look(outer).submodules
    assert inner.path == "inner"
    assert inner.commit == inner.checked_out == git(outer / "inner", "rev-parse", "HEAD")
    assert (inner.moved, inner.dirty, inner.untracked) == (False, False, False)
    assert look(outer).dirty is False


def test_a_submodule_that_moved_is_dirt_and_what_lies_there_is_told(outer):
    recorded = git(outer / "inner", "rev-parse", "HEAD")
    git(outer / "inner", "commit", "--allow-empty", "-qm", "two")
    facts = look(outer)
    (inner,) = facts.submodules
    assert inner.moved
    assert inner.commit == recorded
    assert inner.checked_out == git(outer / "inner", "rev-parse", "HEAD")
    assert facts.dirty


def test_what_differs_inside_a_submodule_is_dirt_and_in_the_digest(outer):
    (outer / "inner" / "train.py").write_text("two\n")
    first = look(outer)
    assert first.dirty
    assert first.submodules[0].dirty
    (outer / "inner" / "train.py").write_text("three\n")
    assert look(outer).diff_sha256 != first.diff_sha256


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_the_index_of_a_submodule_takes_for_unchanged_is_looked_at(outer, mark):
    git(outer / "inner", "update-index", mark, "train.py")
    assert look(outer).dirty is False
    (outer / "inner" / "train.py").write_text("two\n")
    assert git(outer, "status", "--porcelain") == ""  # that is what git says of it
    first = look(outer)
    assert (first.dirty, first.submodules[0].dirty) == (True, True)
    assert first.describe.endswith("-dirty")
    (outer / "inner" / "train.py").write_text("three\n")
    assert look(outer).diff_sha256 not in {None, first.diff_sha256}


def test_a_file_that_a_submodule_does_not_track_is_told_and_is_no_dirt(outer):
    (outer / "inner" / "notes.txt").write_text("")
    facts = look(outer)
    assert facts.submodules[0].untracked
    assert facts.dirty is False


def test_a_submodule_that_is_not_checked_out_has_nothing_there(outer):
    recorded = look(outer).submodules[0].commit
    git(outer, "submodule", "--quiet", "deinit", "-f", "inner")
    (inner,) = look(outer).submodules
    assert (inner.commit, inner.checked_out) == (recorded, None)


def test_every_look_is_at_now(repo):
    repository = GitRepository(str(repo), ENVIRON)
    before = repository.facts()
    git(repo, "commit", "--allow-empty", "-qm", "two")
    assert repository.facts().commit == git(repo, "rev-parse", "HEAD") != before.commit


def test_tracked_files_are_listed_from_the_root(repo, tmp_path):
    (repo / "sub").mkdir()
    (repo / "sub" / "a.py").write_text("")
    git(repo, "add", ".")
    assert GitRepository(str(repo / "sub"), ENVIRON).tracked() == ("sub/a.py", "train.py")
    assert GitRepository(str(tmp_path), ENVIRON).tracked() is None
