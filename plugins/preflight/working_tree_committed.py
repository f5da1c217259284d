"""Fail when the code that would be launched is not the code of a commit.

A manifest names a commit. If tracked files differ from it (those too that the index takes for
unchanged), if a submodule does, if a file is imported that git does not track or that it ignores,
or if the launched script is such a file (or lies outside of the repository, or behind a link that
leads there), the commit describes another program than the one that trains, and nobody can ever
run that again (playbook 4.4). A folder that git refuses to look at, because it belongs to somebody
else, is neither clean nor dirty. An ignored file that stands in the spec's [provenance] is recorded
by its content and keeps nobody from a launch.

Code that cannot be read, or is of a newer Python than the one pfid runs in, is searched for the
names of untracked files: where it holds one and the import itself is not seen, nobody can say.

Blind spot: code outside the repository that is not the launched script, ignored code that is put
on the path at run time, imports whose name is made at run time, and what runs a file without
importing it: `exec(open(...).read())`, `runpy.run_path`, a script that the program starts.
Which script is launched is known to `pfid run --preflight`, or from the spec's `command` or its
smoke run; else nobody can say.
A commit made after this look is another matter: the launch samples the commit again.

When it fires: commit, put away what is not meant to run, or name an ignored file under [provenance]
auxiliary. For dubious ownership, launch as the
owner, or `git config --global --add safe.directory` the folder if you trust it.

If it says `git_not_installed`: install git.

If it says `dubious_ownership`: launch as the owner, or `git config --global --add safe.directory`
the folder if you trust it.

If it says `git_hung`, `git_failed`: `git status` in the folder says what is wrong with the
repository.

If it says `imports_unreadable`: mend the file that cannot be parsed, or commit what is untracked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    NoLimits,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.fakes_launch import CLEAN_REPOSITORY
from pfid.spec.ports.git import GitChange, GitFacts, GitProblem, GitSubmodule
from pfid.spec.ports.preflight import TreeFacts

NAMED_MAX: Final = 20

ANSWERS: Final = Answers(
    {
        "committed": (Outcome.PASS, "what would be launched is what the commit says"),
        "uncommitted_changes": (Outcome.FAIL, "tracked files differ from the commit"),
        "submodule_dirty": (Outcome.FAIL, "a submodule differs from what the commit names"),
        "untracked_imported": (Outcome.FAIL, "code that git does not track would be imported"),
        "ignored_imported": (Outcome.FAIL, "code that git ignores would be imported"),
        "untracked_launched": (Outcome.FAIL, "what would be launched is in no commit"),
        "no_repository": (Outcome.FAIL, "no repository: nothing can name the code that would run"),
        "no_commit": (
            Outcome.FAIL,
            "a repository without a commit: nothing can name the code that would run",
        ),
        "bare_repository": (Outcome.FAIL, "a bare repository has no working tree to launch from"),
        "git_not_installed": (Outcome.UNKNOWN, "git is not installed"),
        "dubious_ownership": (
            Outcome.UNKNOWN,
            "the repository belongs to somebody else and git refuses to look",
        ),
        "git_hung": (Outcome.UNKNOWN, "git did not answer in time"),
        "git_failed": (Outcome.UNKNOWN, "git cannot read the repository"),
        "imports_unreadable": (
            Outcome.UNKNOWN,
            "untracked files are there and it cannot be told whether code imports them",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    changes: int
    submodules: int
    imported: int | None
    ignored: int
    launched: int
    named: tuple[str, ...] = reported()
    said: str = reported()


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.tree.facts()
    git = facts.git
    changed = [c for c in git.changes if not c.submodule]
    modules = [c.path for c in git.changes if c.submodule]
    modules += [s.path for s in git.submodules if (s.moved or s.dirty) and s.path not in modules]
    untracked = facts.unclear if facts.imported is None else facts.imported
    named = (*(c.path for c in changed), *modules, *facts.launched, *untracked, *facts.ignored)
    return Seen(
        problem=git.problem.value,
        changes=len(changed) or (git.changes_n if git.dirty and not modules else 0),
        submodules=len(modules),
        imported=None if facts.imported is None else len(facts.imported),
        ignored=len(facts.ignored),
        launched=len(facts.launched),
        named=named[:NAMED_MAX],
        said=git.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    figures = {
        "changed": (seen.changes, "1"),
        "submodules": (seen.submodules, "1"),
        "untracked_imported": (seen.imported, "1"),
        "ignored_imported": (seen.ignored, "1"),
        "untracked_launched": (seen.launched, "1"),
    }
    if seen.problem:
        return ANSWERS.say(seen.problem, evidence=(seen.said,) if seen.said else ())
    code = "committed"
    if seen.changes:
        code = "uncommitted_changes"
    elif seen.submodules:
        code = "submodule_dirty"
    elif seen.launched:
        code = "untracked_launched"
    elif seen.imported:
        code = "untracked_imported"
    elif seen.ignored:
        code = "ignored_imported"
    elif seen.imported is None:
        code = "imports_unreadable"
    return ANSWERS.say(code, figures=figures, evidence=seen.named)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    yield _control("clean", "committed")
    yield _control(
        "changed", "uncommitted_changes", changes=(GitChange(path="train.py", state=".M"),)
    )
    yield _control("dirty, unnamed", "uncommitted_changes", changes_n=2)
    moved = GitChange(path="vendor/lib", state=".M", submodule=True)
    yield _control("submodule moved", "submodule_dirty", changes=(moved,))
    inside = GitSubmodule(path="vendor/lib", commit="c", checked_out="c", dirty=True)
    yield _control("submodule changed inside", "submodule_dirty", submodules=(inside,))
    still = GitSubmodule(path="vendor/lib", commit="c", checked_out="c")
    yield _control("submodule as it should be", "committed", dirty=False, submodules=(still,))
    yield _control("ignored untracked file", "committed", dirty=False, untracked=("notes",))
    new = ("train/new.py",)
    for name, code, facts in (
        ("imported", "untracked_imported", TreeFacts(git=CLEAN_REPOSITORY, imported=new)),
        ("launched", "untracked_launched", TreeFacts(git=CLEAN_REPOSITORY, launched=new)),
        ("ignored", "ignored_imported", TreeFacts(git=CLEAN_REPOSITORY, ignored=new)),
        ("unreadable", "imports_unreadable", TreeFacts(git=CLEAN_REPOSITORY, imported=None)),
    ):
        yield ANSWERS.control(f"{name} file", code, project_world(tree=facts))
    for problem in GitProblem:
        if problem is not GitProblem.NONE:
            facts = TreeFacts(git=GitFacts(problem=problem))
            yield ANSWERS.control(problem.value, problem.value, project_world(tree=facts))


def _control(name: str, code: str, **git: object) -> Control:
    known = {"dirty": True, **git} if git else {}
    facts = TreeFacts(git=replace(CLEAN_REPOSITORY, **known))  # type: ignore[arg-type]
    return ANSWERS.control(name, code, project_world(tree=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="working_tree_committed",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("tree",),
        runbook=__doc__ or "",
    )
