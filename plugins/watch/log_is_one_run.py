"""Fail when a log describes more than one run.

``older_bytes``: the file was not empty when the run began, so a relaunch appended (playbook 4.7.1:
a dead run's traceback answers for the living one). ``counter_went_back``: step counters started
over without a line that says the run resumed. ``two_writers``: two series of steps with counters
and clocks of their own are interleaved; copies that the ranks of one run print are one writer,
whatever their times where a label or a key names the rank or where they print step by step in turn
(ranks wait for one another; two launches drift apart), and so is a second record of a step that has
no loss of training (an evaluation). A resume that the log announces, a rotation and a truncation by
copytruncate are all one run.

Blind spot: two runs that print no step counters cannot be told apart, nor are two that go step by
step in turn before they have drifted apart; ranks that nothing names, whose printed times differ by
more than 5 % and whose lines come in blocks look like writers of their own. A restart at the same
speed that nothing announces is known by its pace while it is watched, so not where the log is read
later, and not from one or two steps back. Of a process that was
attached to while it ran, what stood in the log before may well be its own; it counts only where
the process appends to the very file that an earlier run of this user was recorded with.

When it fires: rotate before every launch (``pfid run`` and ``pfid rotate LOG`` do) and give each
run a log of its own; ``pfid steps LOG`` shows where one ends and the next begins. ``log_moved``:
the file was renamed or removed and nobody handed over the new one; a launcher other than
``pfid run`` has to call ``pfid rotate``.
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
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts

ANSWERS: Final = Answers(
    {
        "one_run": (Outcome.PASS, "the log describes one run"),
        "older_bytes": (Outcome.FAIL, "the log held text of something older when the run began"),
        "counter_went_back": (Outcome.FAIL, "step counters in the log went back unannounced"),
        "two_writers": (Outcome.FAIL, "two writers share the log, each with its own counter"),
        "log_moved": (Outcome.UNKNOWN, "the log moved and nobody handed over the new one"),
        "nothing_written": (Outcome.UNKNOWN, "the run has not written to its log yet"),
        "no_log": (Outcome.UNKNOWN, "the run has no log, or one that cannot be read"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the log says about how many runs it holds; ``readable`` is false without one."""

    readable: bool
    older_bytes: int
    rewinds: int
    writers: int
    moved: bool
    bytes_read: int
    unread: bool
    resumes: int = reported()
    truncations: int = reported()


def observe(world: World) -> Seen:
    """Read the facts."""
    facts = world.log.facts()
    known = facts or LogFacts()
    return Seen(
        readable=facts is not None,
        older_bytes=known.bytes_before_run,
        rewinds=known.rewinds,
        writers=known.writers,
        moved=known.moved,
        bytes_read=known.bytes_read,
        unread=known.unread,
        resumes=known.resumes,
        truncations=known.truncations,
    )


def judge(seen: Seen, _limits: NoLimits) -> Verdict:
    """Name the first sign of a second run; what was seen stays seen when the log moves."""
    signs = (
        ("no_log", not seen.readable),
        ("older_bytes", seen.older_bytes > 0),
        ("two_writers", seen.writers > 1),
        ("counter_went_back", seen.rewinds > 0),
        ("no_log", seen.unread),
        ("log_moved", seen.moved),
        ("nothing_written", seen.bytes_read == 0),
    )
    code = next((code for code, found in signs if found), "one_run")
    return ANSWERS.say(
        code,
        figures={
            "older": (seen.older_bytes, "bytes"),
            "writers": (seen.writers, "1"),
            "rewinds": (seen.rewinds, "1"),
            "resumes": (seen.resumes, "1"),
            "truncations": (seen.truncations, "1"),
        },
    )


def controls(_limits: NoLimits) -> Iterable[Control]:
    """One sign each, the least of it, and what is no sign."""
    clean = LogFacts(bytes_read=4096, dialects=("tqdm",))
    yield _control("fresh", "one_run", clean)
    yield _control("resumed", "one_run", replace(clean, resumes=2))
    yield _control("copytruncated", "one_run", replace(clean, truncations=1, nul_prefix_bytes=512))
    yield _control("appended", "older_bytes", replace(clean, bytes_before_run=1))
    yield _control("second_writer", "two_writers", replace(clean, writers=2))
    yield _control("started_over", "counter_went_back", replace(clean, rewinds=1, resumes=1))
    yield _control("moved", "log_moved", replace(clean, moved=True))
    yield _control(
        "moved_after_a_rewind", "counter_went_back", replace(clean, moved=True, rewinds=1)
    )
    yield _control("unread", "no_log", replace(clean, unread=True))
    yield _control(
        "unread_beside_a_second_writer", "two_writers", replace(clean, unread=True, writers=2)
    )
    yield _control("silent", "nothing_written", LogFacts())
    yield _control("no_log", "no_log", None)


def _control(name: str, code: str, facts: LogFacts | None) -> Control:
    world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=facts))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="log_is_one_run",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        cadence_s=5.0,
        reads=("log",),
        runbook=__doc__,
    )
