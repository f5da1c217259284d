"""The host's side of the plugin worker: load, prove and run third-party checks at arm's length.

Everything is asynchronous towards the loop: :meth:`PluginHost.evaluate_async` returns at once and
the verdict comes by callback, from the worker, or as ``timed_out`` when the worker had to be ended
or the deadline passed. Called from two threads: the loop's, and the worker owner's.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pfid.domain.gate import Gate
from pfid.host.plugins import PluginSource, Problem
from pfid.host.roster import Roster
from pfid.host.stand_in import nobody, unknown
from pfid.host.turns import Done, Question, Turns
from pfid.policy.control_drive import FarEnd
from pfid.spec.reasons import TIMED_OUT, UNPROVEN
from pfid.spec.world import World
from pfid.wire.plugins import (
    CheckInfo,
    Evaluate,
    Evaluated,
    Loaded,
    Order,
    Prove,
    Proved,
    Report,
    Show,
    Shown,
    decode_report,
    encode,
)
from pfid.wire.worlds import world_data


class Post(Protocol):
    """Sends one message to the worker of a generation; False if that one is gone."""

    def __call__(self, body: bytes, *, generation: int) -> bool:
        """Queue it."""
        ...


class PluginHost:
    """All third-party plugins behind one worker."""

    def __init__(
        self,
        sources: Sequence[PluginSource],
        *,
        limits: Mapping[str, Mapping[str, float]],
        taken: frozenset[str],
        far_end: FarEnd,
        monotonic_s: Callable[[], float],
        on_fault: Callable[[str, str], None] = lambda _plugin, _what: None,
    ) -> None:
        """Prepare.

        Args:
            sources: the plugins, in order of precedence.
            limits: from configuration, by check.
            taken: names of shipped checks, which no plugin may have.
            far_end: where settled verdicts are read back from a page.
            monotonic_s: the clock of deadlines.
            on_fault: told of each fault, plugin and what it is ("" for an evaluation that gave
                no answer of the check's own: its verdict says it); from either thread.
        """
        self._limits = limits
        self._roster = Roster(sources, taken, on_fault)
        self._far_end = far_end
        self._on_fault = on_fault
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._post: Post = nobody
        self._generation = 0
        self._unloaded: set[int] = set()
        self._turns = Turns(monotonic_s)

    def bind(self, post: Post) -> None:
        """Take the way to the worker."""
        self._post = post

    # What the loop calls.

    @property
    def checks(self) -> tuple[CheckInfo, ...]:
        """Every check that loaded, proven or not."""
        with self._lock:
            return self._roster.checks()

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gate of every check that loaded; unproven until its proof is in."""
        with self._lock:
            return self._roster.gates()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with plugins, by name."""
        with self._lock:
            return tuple(self._roster.problems)

    @property
    def settled(self) -> bool:
        """Whether every plugin has loaded and every check was tried, or was held back."""
        with self._lock:
            return self._roster.settled

    @property
    def up(self) -> bool:
        """Whether there is a worker to ask."""
        return self._generation != 0

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until :attr:`settled`; False if it took longer."""
        with self._settled:
            return self._settled.wait_for(lambda: self.settled, timeout_s)

    def dismiss(self) -> bool:
        """Let go of the plugins that have no proven check: no fresh worker loads them.

        Returns:
            Whether the worker of the moment has loaded one of them, and so should be replaced.
        """
        with self._lock:
            return self._roster.dismiss()

    @property
    def wanted(self) -> bool:
        """Whether there is anything left for a worker to load."""
        with self._lock:
            return self._roster.wanted

    def touched(self, number: int | None) -> str:
        """Name of the plugin that a worker said it was about to touch, "" if none."""
        return self._roster.name(number)

    def evaluate_async(self, check: str, world: World, done: Done) -> None:
        """Run a proven check over a world, when the worker is free for it.

        ``done`` is called once, from either thread: with the check's answer, or for one that ran
        past its deadline, ended its worker, or waited too long for its turn.
        """
        with self._lock:
            info = self._roster.info(check)
            if info is not None and self._roster.may_run(check):
                question = Question(
                    check=check,
                    world=world,
                    data=world_data(world, info.reads),
                    done=done,
                    deadline_s=info.deadline_s,
                    until_s=self._turns.until_s(),
                )
                self._turns.wait(question)
            else:
                self._refuse(check, world, done)
        self._ask_next()

    def expire(self) -> None:
        """Answer for evaluations past their deadline; called in the loop's cadence."""
        with self._lock:
            late = list(self._turns.late())
        for question, why in late:
            _give_up(question, why)

    # What the worker's owner calls.

    def worker_started(self, generation: int) -> None:
        """A fresh worker: everything that is not held back is loaded into it again."""
        with self._lock:
            self._generation = generation
            self._roster.proving = None
            loads = tuple(self._roster.loads(self._limits))
            self._unloaded = {load.plugin for load in loads}
        for load in loads:
            self._send(load)

    def worker_said(self, generation: int, body: bytes) -> None:
        """One message.

        Raises:
            WireError: if it is none; the worker is replaced.
        """
        if generation != self._generation:
            return
        report = decode_report(body)
        self._take(report)
        with self._settled:
            self._prove_next()
            self._settled.notify_all()
        self._ask_next()

    def worker_ended(self, generation: int, touching: int | None, cause: str) -> None:
        """The worker is gone. Whoever it was touching did that."""
        with self._settled:
            if generation == self._generation:
                self._generation = 0
            self._roster.blame(touching, cause)
            self._roster.proving = None
            lost = self._turns.lost()
            self._settled.notify_all()
        if lost is not None:
            _give_up(lost, f"the plugin worker had to be ended ({cause})")

    # Inside.

    def _take(self, report: Report) -> None:
        if isinstance(report, Loaded):
            with self._lock:
                self._unloaded.discard(report.plugin)
                self._roster.take_loaded(report)
        elif isinstance(report, Show):
            self._show(report)
        elif isinstance(report, Proved):
            with self._lock:
                self._roster.take_proved(report.gate)
        elif isinstance(report, Evaluated):
            with self._lock:
                question = self._turns.answered(report.id)
            if question is not None:
                if report.error:
                    self._on_fault(self._roster.owner_of(question.check), "")
                question.done(report.verdict, report.error)

    def _prove_next(self) -> None:
        name = self._roster.next_to_prove()
        if name is not None and self._send(Prove(check=name)):
            self._roster.proving = name

    def _show(self, show: Show) -> None:
        """Take a settled verdict of a control to the page and tell what stands there."""
        info = self._roster.info(show.check)
        try:
            seen = info and self._far_end(info, show.settling, show.entity, show.wall_s)
        except Exception as error:  # noqa: BLE001 - whatever broke, the control did not arrive
            self._send(Shown(error=f"{type(error).__name__}: {error}"[:300]))
            return
        self._send(Shown(outcome=seen.outcome, reasons=seen.reasons) if seen else Shown())

    def _ask_next(self) -> None:
        """Hand the worker the next question, if it has nothing else to do."""
        refused = []
        with self._lock:
            while self._free and (turn := self._turns.next()) is not None:
                number, asked = turn
                if not self._roster.may_run(asked.check):
                    refused.append(self._turns.answered(number) or asked)
                elif not self._send(Evaluate(id=number, check=asked.check, world=asked.data)):
                    self._turns.take_back()  # that worker is gone: the next one is asked
                    break
        for asked in refused:
            self._refuse(asked.check, asked.world, asked.done)

    @property
    def _free(self) -> bool:
        return self._generation != 0 and not self._unloaded and self._roster.proving is None

    def _refuse(self, check: str, world: World, done: Done) -> None:
        gate = self._roster.gate(check)
        verdict = unknown(world, UNPROVEN, "the check is not proven")
        done(verdict, gate.why if gate is not None else "no such check")

    def _send(self, order: Order) -> bool:
        return self._generation != 0 and self._post(encode(order), generation=self._generation)


def _give_up(question: Question, why: str) -> None:
    question.done(unknown(question.world, TIMED_OUT, why), why)
