"""Runs a probe of ``pfid.probes`` in the training interpreter, from start to last word.

For measurements that take long and tell their progress. Whatever way it ends has a name: answered,
refused, out of memory, raised, killed, silent, over its deadline, or not a probe's answer at all.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from pfid.adapters.oom_counter import OomCounter
from pfid.adapters.probe_process import Answer, ProbeError, ProbeProcess

START: Final = Path(__file__).parents[1] / "probes" / "start.py"
FIRST_WORD_S: Final = 60.0
"""Until the interpreter says hello: before it imports anything of the training."""
SILENT_S: Final = 600.0
"""Between two words: importing torch from a cold network disk, or one compile, takes minutes."""
TICK_S: Final = 0.5
STATUS_S: Final = 5.0
RUBBISH_CHARS: Final = 120
Told = Callable[[dict[str, Any]], None]


class Ending(Enum):
    """How a probe ended."""

    DONE = "done"
    REFUSED = "refused"
    """By the probe: ``reason`` is its code."""
    FAILED = "failed"
    """The user's code raised, or the interpreter could not get as far."""
    OUT_OF_MEMORY = "out_of_memory"
    """It said so, or the kernel killed it for memory."""
    KILLED = "killed"
    """By a signal: a crash of native code, or somebody's kill."""
    SILENT = "silent"
    OVERDUE = "overdue"
    RUBBISH = "rubbish"
    """What came is no answer of a probe, or it ended as if all were well without a last word."""


LAST_WORDS: Final = {
    "done": Ending.DONE,
    "refused": Ending.REFUSED,
    "out_of_memory": Ending.OUT_OF_MEMORY,
    "failed": Ending.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAsk:
    """What to run.

    Attributes:
        python: the training interpreter.
        probe: a module of ``pfid.probes`` with a function ``probe``.
        arguments: handed to it.
        environ: of the process.
        folder: where it runs and where the user's modules are found; None for the current one.
        deadline_s: for everything; it is ended then.
        silent_s: between two lines.
        first_word_s: until the interpreter itself answers.
    """

    python: str
    probe: str
    arguments: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    folder: Path | None = None
    deadline_s: float = 3_600.0
    silent_s: float = SILENT_S
    first_word_s: float = FIRST_WORD_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEnd:
    """How it ended.

    Attributes:
        ending: by name.
        reason: a refusal's code, or the type of what was raised; "" else.
        why: one sentence without a full stop; "" for ``DONE``.
        last_words: the end of its standard error, with a traceback if there was one.
    """

    ending: Ending
    reason: str = ""
    why: str = ""
    last_words: str = ""


def run_probe(ask: ProbeAsk, told: Told, meanwhile: Callable[[], None] | None = None) -> ProbeEnd:
    """Run a probe to its end.

    Args:
        ask: what to run.
        told: given every line but the first and the last, as it comes; what it raises ends the
            probe.
        meanwhile: called at least every half second; what it raises ends the probe.

    Returns:
        How it ended; also for an interpreter that cannot be started.
    """
    counter = OomCounter()
    kills = counter.box()
    try:
        with ProbeProcess(
            ask.python, START, (ask.probe, *ask.arguments), ask.environ, ask.folder
        ) as process:
            end = _Listening(ask, told, meanwhile or _nothing).until_end(process)
            return _with_oom(end, kills, counter.box())
    except ProbeError as error:
        return ProbeEnd(ending=Ending.FAILED, reason="not_started", why=str(error))
    finally:
        counter.close()


def _nothing() -> None:
    return


class _Listening:
    """Takes a probe's lines until there is nothing more to wait for."""

    def __init__(self, ask: ProbeAsk, told: Told, meanwhile: Callable[[], None]) -> None:
        self._ask, self._told, self._meanwhile = ask, told, meanwhile
        self._greeted = False
        now_s = time.monotonic()
        self._ends_s = now_s + ask.deadline_s
        self._silent_s = now_s + ask.first_word_s

    def until_end(self, process: ProbeProcess) -> ProbeEnd:
        while True:
            for answer in process.lines(TICK_S):
                end = self._take(answer, process)
                if end is not None:
                    return end
            self._meanwhile()
            end = self._too_late(process)
            if end is not None:
                return end

    def _take(self, answer: Answer, process: ProbeProcess) -> ProbeEnd | None:
        """One line; returns the end if it is one."""
        if answer.said is None and not answer.rubbish:
            return _without_a_word(process, greeted=self._greeted)
        event = (answer.said or {}).get("event")
        if not self._greeted:
            # what a site's start-up prints comes before the greeting, and is nobody's answer
            self._greeted = event == "hello"
            self._heard()
            return None if event != "refused" else _last_word(answer.said or {}, process)
        if answer.said is None or not isinstance(event, str):
            text = answer.rubbish or str(answer.said)
            why = f"it answered what no probe answers: {text[:RUBBISH_CHARS]!r}"
            return ProbeEnd(ending=Ending.RUBBISH, why=why, last_words=process.last_words())
        self._heard()
        if event in LAST_WORDS:
            return _last_word(answer.said, process)
        self._told(answer.said)
        return None

    def _heard(self) -> None:
        if self._greeted:
            self._silent_s = time.monotonic() + self._ask.silent_s

    def _too_late(self, process: ProbeProcess) -> ProbeEnd | None:
        now_s = time.monotonic()
        if now_s > self._ends_s:
            why = f"it was not done after {self._ask.deadline_s:g} s"
            return ProbeEnd(ending=Ending.OVERDUE, why=why, last_words=process.last_words())
        if now_s > self._silent_s:
            after_s = self._ask.silent_s if self._greeted else self._ask.first_word_s
            why = f"it said nothing for {after_s:g} s"
            return ProbeEnd(ending=Ending.SILENT, why=why, last_words=process.last_words())
        return None


def _last_word(said: Mapping[str, Any], process: ProbeProcess) -> ProbeEnd:
    ending = LAST_WORDS[str(said["event"])]
    reason = str(said.get("reason") or said.get("type") or "")
    parts = (reason, str(said.get("detail") or ""))
    place = str(said.get("where") or "")
    why = ": ".join(part for part in parts if part) + (f" ({place})" if place else "")
    if ending is Ending.DONE:
        return ProbeEnd(ending=ending, last_words=process.last_words())
    return ProbeEnd(ending=ending, reason=reason, why=why, last_words=process.last_words())


def _without_a_word(process: ProbeProcess, *, greeted: bool) -> ProbeEnd:
    status = process.wait_status(STATUS_S)
    words = process.last_words()
    said = words.splitlines()[-1] if words else ""
    if status is None:
        why = "it closed its channel and went on"
        return ProbeEnd(ending=Ending.RUBBISH, why=why, last_words=words)
    if status < 0:
        why = f"it was ended by {_signal_name(-status)}"
        return ProbeEnd(
            ending=Ending.KILLED, reason=_signal_name(-status), why=why, last_words=words
        )
    if status == 0:
        why = "it ended as if all were well, without an answer; "
        why += "did the step call os._exit?" if greeted else "is that a Python interpreter?"
        return ProbeEnd(ending=Ending.RUBBISH, why=why, last_words=words)
    why = said or f"it ended with status {status} and no word"
    return ProbeEnd(ending=Ending.FAILED, reason=f"status {status}", why=why, last_words=words)


def _with_oom(end: ProbeEnd, before: int | None, after: int | None) -> ProbeEnd:
    """A SIGKILL while the kernel's count of kills for memory rose is one of those."""
    killed = end.ending is Ending.KILLED and end.reason == "SIGKILL"
    if not killed or before is None or after is None or after <= before:
        return end
    why = "the kernel killed it: the host's memory was not enough"
    return ProbeEnd(ending=Ending.OUT_OF_MEMORY, reason="host", why=why, last_words=end.last_words)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
