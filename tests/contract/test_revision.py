"""The commit that runs, as git itself says it, in every way a work tree may be laid out."""

import subprocess

import pytest

from pfid.adapters.revision import UNKNOWN, of_tree, revision

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=m")
pytestmark = pytest.mark.needs("git")


def git(where, *arguments):
    done = subprocess.run([*GIT, *arguments], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def test_a_branch_a_detached_head_and_packed_references(tree):
    head = git(tree, "rev-parse", "HEAD")
    assert of_tree(tree) == head
    git(tree, "pack-refs", "--all")
    assert not (tree / ".git/refs/heads/m").exists(), "it is packed"
    assert of_tree(tree) == head
    git(tree, "checkout", "-q", "--detach")
    assert of_tree(tree) == head


def test_a_linked_work_tree(tree, tmp_path):
    git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "two")
    assert of_tree(tmp_path / "linked") == git(tmp_path / "linked", "rev-parse", "HEAD")
    assert of_tree(tmp_path / "linked") != of_tree(tree)


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none\n", "not a commit\n", "\0" * 40])
def test_what_is_no_commit_is_unknown_and_never_somebodys_text(tmp_path, head):
    assert of_tree(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(head)
    assert of_tree(tmp_path) == ""


def test_this_one_is_a_commit_or_said_to_be_unknown():
    assert revision() == UNKNOWN or len(revision()) in {40, 64}
