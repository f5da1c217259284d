"""What can be known of a project before a launch, one dataclass a subject.

``problem`` is a code, "" where there is none; ``detail`` and every name of a file, argument or
function is for the project's owner alone.
"""

from dataclasses import dataclass

from pfid.spec.ports.git import GitFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """The working tree.

    Attributes:
        git: as git sees it.
        imported: untracked files that tracked code imports; None if that could not be looked at.
        launched: files that the command starts and no commit of the repository holds.
        ignored: files that git ignores, that code imports, and whose content no manifest will name.
        unclear: files of code that cannot be read or parsed, and may import an untracked one.
    """

    git: GitFacts
    imported: tuple[str, ...] | None = ()
    launched: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """One run of the project's tests.

    Attributes:
        commit: that was checked out; None if the tree was not clean from its beginning to its end.
        passed: tests that passed.
        failed: tests that failed or ended in an error.
        skipped: tests that were left out, or are expected to fail.
        red: whether the runner ended red although no test failed.
        complete: whether the runner came to its end and says so.
        hung: whether it was ended for its time.
        kept: whether it was made at an earlier look and used again.
        age_s: since it ended.
    """

    commit: str | None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    red: bool = False
    complete: bool = True
    hung: bool = False
    kept: bool = False
    age_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFacts:
    """The project's tests.

    Attributes:
        problem: why the training interpreter could not be asked.
        detail: its words.
        runner: whether the runner is installed in it.
        result: the newest; None if there is none.
        commit: that is checked out now; None if nothing can tell, or the tree is not clean.
    """

    problem: str = ""
    detail: str = ""
    runner: bool = True
    result: SuiteResult | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKeyFacts:
    """What the project's own key function answered.

    Attributes:
        problem: why it could not be asked, or raised.
        detail: its words.
        unreadable: declared files that cannot be read.
        unstable: what was the same and had another key ("again", "in another process").
        unmoved: changes of a file or an argument that left the key as it was.
        followed: changes of nothing but a file's date or folder that moved the key.
        tried: how many changes were tried.
    """

    problem: str = ""
    detail: str = ""
    unreadable: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    unmoved: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    tried: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """Arguments held against one installed class.

    Attributes:
        target: the class.
        problem: why it could not be asked.
        detail: words about that.
        unknown: arguments it does not take, with the nearest name it does take, "" if none.
        unseen: arguments that vanish into ``**kwargs``.
        changed: arguments that mean something else than they say, with why.
        tried: arguments that were held against it.
    """

    target: str
    problem: str = ""
    detail: str = ""
    unknown: tuple[tuple[str, str], ...] = ()
    unseen: tuple[tuple[str, str], ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    tried: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KwargsFacts:
    """All declared targets."""

    targets: tuple[TargetFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFacts:
    """Configuration, held against the disk and the installed libraries.

    Attributes:
        missing: paths that do not exist.
        out_of_range: numbers outside their range.
        not_among: words that are not among those allowed.
        unreadable: files, keys and enumerations that cannot be read.
        needed_bytes: that checkpoints take; None if none are declared.
        free_bytes: where they go; None if that cannot be told.
        looked_at: how many declarations were looked at.
    """

    missing: tuple[str, ...] = ()
    out_of_range: tuple[str, ...] = ()
    not_among: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    needed_bytes: float | None = None
    free_bytes: float | None = None
    looked_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationFacts:
    """What became of a scratch log beside the run's.

    Attributes:
        problem: why no rotation could be tried.
        detail: words about that.
        kept: whether what stood in it stands in another file now.
        fresh: whether its name is free or empty for the next run.
    """

    problem: str = ""
    detail: str = ""
    kept: bool = True
    fresh: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogFacts:
    """Whoever will watch the run, and when it last showed that it fires.

    Attributes:
        who: "daemon" or "engine" (one of the run's own); "" if neither can be asked.
        age_s: since real faults were last driven through one of its kind; None if never.
        failed: checks that did not fire then.
    """

    who: str = ""
    age_s: float | None = None
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What one metric answered to inputs whose answers are known.

    Attributes:
        function: the metric.
        problem: why it could not be asked.
        detail: words about that.
        wrong: inputs it answered wrongly, in words.
        answers: everything it answered.
        expected: what it should have.
    """

    function: str
    problem: str = ""
    detail: str = ""
    wrong: tuple[str, ...] = ()
    answers: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsFacts:
    """All declared metrics."""

    metrics: tuple[MetricFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresFacts:
    """Superseded figures, looked for in the repository.

    Attributes:
        problem: why they could not be looked for.
        detail: words about that.
        claims: superseded claims that were looked for.
        places: where their figures still stand, as ``file:line: figure``.
        allowed: places that an allow-list with a reason excuses.
        unread: files that could not be looked at.
        left_out: binary and vendored files that were left out.
        further: places beyond those that are listed, of which none tells whether it is allowed.
    """

    problem: str = ""
    detail: str = ""
    claims: int = 0
    places: tuple[str, ...] = ()
    allowed: int = 0
    unread: tuple[str, ...] = ()
    left_out: int = 0
    further: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFacts:
    """Whether a run of the name lives.

    Attributes:
        problem: why that cannot be told.
        detail: words about that.
        living: ids of living runs of the name.
    """

    problem: str = ""
    detail: str = ""
    living: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """One GPU.

    Attributes:
        uuid: which.
        holders: processes on it that can be named; None if that cannot be read.
        orphaned_bytes: memory that nobody who lives holds.
    """

    uuid: str
    holders: int | None = 0
    orphaned_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsFacts:
    """The GPUs of the box.

    Attributes:
        problem: why they cannot be seen.
        needed: how many the run will use.
        cards: those that are there.
    """

    problem: str = ""
    needed: int = 1
    cards: tuple[CardFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFacts:
    """The manifest of a one-step smoke run.

    Attributes:
        problem: why there is none to judge.
        detail: words about that.
        same_commit: whether it is of the commit that would be launched, and the tree was clean.
        same_environment: whether it ran in the spec's interpreter, with what is installed there
            now; true where the spec names none, or the manifest says nothing of it.
        ended_well: whether the run came to its end and ended with 0.
        edited: whether the manifest is another than pfid wrote.
        absent: keys that should be there and are not, dotted.
        unsampled: identities that were not sampled at launch: commit, libraries, declared files,
            files that other checks of the spec are told of.
        unresolved: backends, requested or named by the spec, of which nobody wrote down what they
            resolved to.
        resolved: how many fields say what they resolved to.
        otherwise: fields that resolved to something else than was requested.
        contradicted: fields whose observed consequence contradicts them, or each other.
        unobserved: configured fields that nothing observed is paired with.
        own: configured fields that only the process that assigned them observed.
        paired: how many configured fields have an observed pair.
        steps: how many steps the manifest has times of, the first among them.
    """

    problem: str = ""
    detail: str = ""
    same_commit: bool = True
    same_environment: bool = True
    ended_well: bool = True
    edited: bool = False
    absent: tuple[str, ...] = ()
    unsampled: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    resolved: int = 0
    otherwise: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    unobserved: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    paired: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingFacts:
    """What the project's proof of its serving path came to.

    Attributes:
        problem: why it could not be tried to its end.
        detail: its last words.
        refused: whether it ended and said that this cannot be served.
        proven: whether a kept proof says so, and not a command of the project.
    """

    problem: str = ""
    detail: str = ""
    refused: bool = False
    proven: bool = False
