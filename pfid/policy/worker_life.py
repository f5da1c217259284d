"""The life of a disposable worker, decided from times and signals alone (DESIGN, section 5).

A worker that is silent past its deadline gets TERM, then KILL. One that even KILL does not end (in
an uninterruptible call) is left behind as the one orphan; while there is an orphan, a second stuck
worker is waited for and nothing new is started. Ends back off with jitter, so that a worker which
cannot live does not take a core, and the first end after a long life restarts at once.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final


class LifePhase(Enum):
    """Where a worker stands."""

    WAITING = "waiting"
    """None runs; the next is started when the back-off is over."""
    STARTING = "starting"
    """Started, not heard of yet."""
    RUNNING = "running"
    """Heard of within its deadline."""
    TERMINATING = "terminating"
    """Sent TERM."""
    KILLING = "killing"
    """Sent KILL."""
    STUCK = "stuck"
    """Survived KILL while the place for an orphan is taken: nothing is started until it ends."""
    STOPPED = "stopped"
    """Ended on request; nothing will be started."""


class EndCause(Enum):
    """Why a worker's life is over."""

    CRASHED = "crashed"
    """Ended by itself."""
    TIMED_OUT = "timed_out"
    """Silent past its deadline."""
    MALFORMED = "malformed"
    """Sent what is no message."""
    OUTGROWN = "outgrown"
    """Held more memory than it may."""
    STOPPED = "stopped"
    """Asked to."""
    SPAWN_FAILED = "spawn_failed"
    """Could not be started at all."""


class LifeAction(Enum):
    """What the owner has to do next."""

    SPAWN = "spawn"
    TERMINATE = "terminate"
    KILL = "kill"
    ABANDON = "abandon"
    """Leave the process behind as the orphan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeRules:
    """Times, in seconds.

    Attributes:
        start_deadline_s: from the start to the first message.
        deadline_s: between two messages.
        term_grace_s: from TERM to KILL.
        kill_grace_s: from KILL to giving the process up.
        backoff_first_s: before the second start in a row; doubles with each further one.
        backoff_max_s: the longest back-off, without jitter.
        stable_after_s: a worker that lived this long has its failures forgotten.
        jitter_share: a back-off is lengthened by up to this share of itself.
    """

    start_deadline_s: float = 20.0
    deadline_s: float = 15.0
    term_grace_s: float = 2.0
    kill_grace_s: float = 5.0
    backoff_first_s: float = 0.5
    backoff_max_s: float = 60.0
    stable_after_s: float = 60.0
    jitter_share: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The state: plain, compared by value.

    Attributes:
        phase: where the worker stands.
        since_s: monotonic time the phase began.
        born_s: monotonic time of the last start.
        due_s: monotonic time at which ``tick`` has something to do, None if never.
        failures: ends in a row without a stable life between them.
        cause: why the present or last worker ends, None while it lives.
        orphan: whether a process was left behind and is still there.
        stopping: nothing shall be started any more.
    """

    phase: LifePhase
    since_s: float
    born_s: float
    due_s: float | None
    failures: int = 0
    cause: EndCause | None = None
    orphan: bool = False
    stopping: bool = False


_ALIVE: Final = frozenset({LifePhase.STARTING, LifePhase.RUNNING})
_ENDING: Final = frozenset({LifePhase.TERMINATING, LifePhase.KILLING, LifePhase.STUCK})


def new_life(now_s: float) -> Life:
    """Return the state before the first start, which is due at once."""
    return Life(phase=LifePhase.WAITING, since_s=now_s, born_s=now_s, due_s=now_s)


def spawned(life: Life, rules: LifeRules, now_s: float) -> Life:
    """The process was started."""
    return replace(
        life,
        phase=LifePhase.STARTING,
        since_s=now_s,
        born_s=now_s,
        due_s=now_s + rules.start_deadline_s,
        cause=None,
    )


def postponed(life: Life, until_s: float) -> Life:
    """There is no reason to start it yet; ask again then."""
    return replace(life, due_s=until_s)


def heard(life: Life, rules: LifeRules, now_s: float) -> Life:
    """A whole message came. It does not save a worker that is being ended."""
    if life.phase not in _ALIVE:
        return life
    since_s = life.since_s if life.phase is LifePhase.RUNNING else now_s
    return replace(life, phase=LifePhase.RUNNING, since_s=since_s, due_s=now_s + rules.deadline_s)


def condemned(
    life: Life, rules: LifeRules, now_s: float, cause: EndCause
) -> tuple[Life, LifeAction | None]:
    """The worker has to end for a reason other than silence."""
    if life.phase not in _ALIVE:
        return life, None
    return _terminate(life, rules, now_s, cause)


def stop(life: Life, rules: LifeRules, now_s: float) -> tuple[Life, LifeAction | None]:
    """Nothing shall run any more."""
    life = replace(life, stopping=True)
    if life.phase in _ALIVE:
        return _terminate(life, rules, now_s, EndCause.STOPPED)
    if life.phase in _ENDING and life.phase is not LifePhase.STUCK:
        return life, None
    return replace(life, phase=LifePhase.STOPPED, since_s=now_s, due_s=None), None


def ended(life: Life, rules: LifeRules, now_s: float, jitter: float) -> Life:
    """The process is gone and reaped.

    Args:
        life: the state before.
        rules: the times.
        now_s: monotonic time.
        jitter: from 0 to 1, drawn by the caller.
    """
    cause = life.cause or EndCause.CRASHED
    return _after_end(replace(life, cause=cause), rules, now_s, jitter)


def spawn_failed(life: Life, rules: LifeRules, now_s: float, jitter: float) -> Life:
    """The process could not be started."""
    failed = replace(life, born_s=now_s, cause=EndCause.SPAWN_FAILED)
    return _after_end(failed, rules, now_s, jitter)


def orphan_gone(life: Life, now_s: float) -> Life:
    """The process that was left behind ended after all; its place is free for a stuck one."""
    if life.phase is LifePhase.STUCK:
        return replace(life, orphan=False, phase=LifePhase.KILLING, since_s=now_s, due_s=now_s)
    return replace(life, orphan=False)


def tick(
    life: Life, rules: LifeRules, now_s: float, jitter: float = 0.0
) -> tuple[Life, LifeAction | None]:
    """Do what time demands, at most one thing; call again until nothing is demanded."""
    if life.due_s is None or now_s < life.due_s:
        return life, None
    if life.phase is LifePhase.WAITING:
        return replace(life, due_s=None), LifeAction.SPAWN
    if life.phase in _ALIVE:
        return _terminate(life, rules, now_s, EndCause.TIMED_OUT)
    if life.phase is LifePhase.TERMINATING:
        due_s = now_s + rules.kill_grace_s
        return (
            replace(life, phase=LifePhase.KILLING, since_s=now_s, due_s=due_s),
            LifeAction.KILL,
        )
    if life.phase is LifePhase.KILLING and (life.stopping or not life.orphan):
        return replace(_after_end(life, rules, now_s, jitter), orphan=True), LifeAction.ABANDON
    return replace(life, phase=LifePhase.STUCK, since_s=now_s, due_s=None), None


def _terminate(
    life: Life, rules: LifeRules, now_s: float, cause: EndCause
) -> tuple[Life, LifeAction]:
    due_s = now_s + rules.term_grace_s
    ending = replace(life, phase=LifePhase.TERMINATING, since_s=now_s, due_s=due_s, cause=cause)
    return ending, LifeAction.TERMINATE


def _after_end(life: Life, rules: LifeRules, now_s: float, jitter: float) -> Life:
    if life.stopping:
        return replace(life, phase=LifePhase.STOPPED, since_s=now_s, due_s=None)
    stable = now_s - life.born_s >= rules.stable_after_s
    failures = 1 if stable else life.failures + 1
    due_s = now_s + backoff_s(failures, rules, jitter)
    return replace(life, phase=LifePhase.WAITING, since_s=now_s, due_s=due_s, failures=failures)


def backoff_s(failures: int, rules: LifeRules, jitter: float) -> float:
    """Return the seconds before the next start: none after the first failure, then doubling."""
    if failures <= 1:
        return 0.0
    doubled = rules.backoff_first_s * 2.0 ** min(failures - 2, 32)
    return min(doubled, rules.backoff_max_s) * (1.0 + rules.jitter_share * jitter)
