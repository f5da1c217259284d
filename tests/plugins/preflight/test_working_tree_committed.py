"""Is the code that would be launched the code of a commit?"""

from dataclasses import replace

import pytest
from pfid_plugins.preflight.working_tree_committed import judge, observe

from pfid.spec import NoLimits, Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.fakes_launch import CLEAN_REPOSITORY, repository
from pfid.spec.ports.git import GitChange, GitProblem, GitSubmodule
from pfid.spec.ports.preflight import TreeFacts


def said(imported=(), **git):
    facts = TreeFacts(git=repository(**git).facts(), imported=imported)
    return judge(observe(project_world(tree=facts)), NoLimits())


def change(path, *, submodule=False):
    return GitChange(path=path, state=".M", submodule=submodule)


@pytest.mark.parametrize(
    ("git", "imported", "reason"),
    [
        ({}, (), "committed"),
        ({"untracked": ("notes.md",), "untracked_n": 1}, (), "committed"),
        ({"dirty": True, "changes": (change("a.py"),), "changes_n": 1}, (), "uncommitted_changes"),
        ({"dirty": True, "changes_n": 3}, (), "uncommitted_changes"),
        ({"dirty": True, "changes": (change("s", submodule=True),)}, (), "submodule_dirty"),
        (
            {"dirty": True, "changes": (change("s", submodule=True), change("a.py"))},
            (),
            "uncommitted_changes",
        ),
        ({}, ("new.py",), "untracked_imported"),
        ({}, None, "imports_unreadable"),
        ({"dirty": True, "changes_n": 1}, None, "uncommitted_changes"),
    ],
)
def test_a_tree_is_judged(git, imported, reason):
    assert said(imported, **git).reason == reason


def test_an_ignored_file_that_is_imported_is_no_commits():
    facts = TreeFacts(git=repository().facts(), imported=None, ignored=("local.py",))
    verdict = judge(observe(project_world(tree=facts)), NoLimits())
    assert (verdict.reason, verdict.outcome) == ("ignored_imported", Outcome.FAIL)
    assert verdict.evidence == ("local.py",)


def test_what_left_it_open_is_named():
    facts = TreeFacts(git=repository().facts(), imported=None, unclear=("train.py",))
    verdict = judge(observe(project_world(tree=facts)), NoLimits())
    assert (verdict.reason, verdict.evidence) == ("imports_unreadable", ("train.py",))


def test_a_submodule_that_moved_is_named():
    moved = GitSubmodule(path="lib", commit="a", checked_out="b", moved=True)
    verdict = said(dirty=True, submodules=(moved,))
    assert verdict.reason == "submodule_dirty"
    assert verdict.evidence == ("lib",)


@pytest.mark.parametrize("problem", [p for p in GitProblem if p is not GitProblem.NONE])
def test_every_refusal_of_git_has_its_own_reason_and_is_never_a_pass(problem):
    verdict = said(problem=problem, detail="fatal: ...")
    assert verdict.reason == problem.value
    assert verdict.outcome in (Outcome.FAIL, Outcome.UNKNOWN)
    assert verdict.evidence == ("fatal: ...",)


def test_dubious_ownership_is_neither_clean_nor_dirty():
    assert said(problem=GitProblem.DUBIOUS_OWNERSHIP).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, "untracked_launched"),
        ({"imported": None}, "untracked_launched"),
        ({"imported": ("new.py",)}, "untracked_launched"),
        ({"git": replace(CLEAN_REPOSITORY, dirty=True, changes_n=1)}, "uncommitted_changes"),
    ],
)
def test_what_would_be_launched_is_of_the_commit(known, reason):
    facts = TreeFacts(**{"git": CLEAN_REPOSITORY, "launched": ("train.py",), **known})
    verdict = judge(observe(project_world(tree=facts)), NoLimits())
    assert (verdict.reason, verdict.outcome) == (reason, Outcome.FAIL)
