"""The host's side of the plugin worker: load, prove and run third-party checks at arm's length.

Everything is asynchronous towards the loop: :meth:`PluginHost.evaluate_async` returns at once and
the verdict comes by callback, from the worker, or as ``timed_out`` when the worker had to be ended
or the deadline passed. Called from two threads: the loop's, and the worker owner's.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.host.loaded import Plugin, Stage
from pfid.host.plugins import PluginSource, Problem
from pfid.host.stand_in import NOT_TRIED, nobody, unknown, untried
from pfid.host.turns import Done, Question, Turns
from pfid.policy.control_drive import FarEnd
from pfid.spec.reasons import TIMED_OUT, UNPROVEN
from pfid.spec.world import World
from pfid.wire.plugins import (
    CheckInfo,
    Evaluate,
    Evaluated,
    Load,
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

STRIKES: Final = 3
"""Ends of the worker during evaluations of one plugin before it is held back for good."""
_HOW: Final = {
    "timed_out": "hung",
    "crashed": "ended the worker",
    "outgrown": "took more memory than it may",
}


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
        self._plugins = [Plugin(source) for source in sources]
        self._limits = {name: dict(values) for name, values in limits.items()}
        self._taken = taken
        self._far_end = far_end
        self._on_fault = on_fault
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._post: Post = nobody
        self._generation = 0
        self._gates: dict[str, Gate] = {}
        self._proving: str | None = None
        self._problems: list[Problem] = []
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
            return tuple(i for p in self._plugins for i in p.checks.values())

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gate of every check that loaded; unproven until its proof is in."""
        with self._lock:
            return tuple(self._gates[i.name] for i in self.checks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with plugins, by name."""
        with self._lock:
            return tuple(self._problems)

    @property
    def settled(self) -> bool:
        """Whether every plugin has loaded and every check was tried, or was held back."""
        with self._lock:
            loading = any(p.stage is Stage.LOADING for p in self._plugins)
            return not loading and self._next_unproven() is None and self._proving is None

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
            idle = [p for p in self._plugins if not self._any_proven(p)]
            loaded = any(p.stage is Stage.LOADED for p in idle)
            for plugin in idle:
                plugin.stage = Stage.OUT
            return loaded

    @property
    def wanted(self) -> bool:
        """Whether there is anything left for a worker to load."""
        with self._lock:
            return any(p.stage is not Stage.OUT for p in self._plugins)

    def touched(self, number: int | None) -> str:
        """Name of the plugin that a worker said it was about to touch, "" if none."""
        known = number is not None and 0 <= number < len(self._plugins)
        return self._plugins[number].source.name if known and number is not None else ""

    def evaluate_async(self, check: str, world: World, done: Done) -> None:
        """Run a proven check over a world, when the worker is free for it.

        ``done`` is called once, from either thread: with the check's answer, or for one that ran
        past its deadline, ended its worker, or waited too long for its turn.
        """
        with self._lock:
            info = self._info(check)
            if info is not None and self._may_run(check):
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
            self._proving = None
            plugins = [(n, p) for n, p in enumerate(self._plugins) if p.stage is not Stage.OUT]
            self._unloaded = {number for number, _ in plugins}
        for number, plugin in plugins:
            source = plugin.source
            self._send(
                Load(
                    plugin=number,
                    name=source.name,
                    kind=source.kind.value,
                    place=source.place,
                    limits=self._limits,
                )
            )

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
            if touching is not None and 0 <= touching < len(self._plugins):
                self._blame(self._plugins[touching], cause)
            self._proving = None
            lost = self._turns.lost()
            self._settled.notify_all()
        if lost is not None:
            _give_up(lost, f"the plugin worker had to be ended ({cause})")

    # Inside.

    def _take(self, report: Report) -> None:
        if isinstance(report, Loaded):
            self._take_loaded(report)
        elif isinstance(report, Show):
            self._show(report)
        elif isinstance(report, Proved):
            self._take_proved(report.gate)
        elif isinstance(report, Evaluated):
            with self._lock:
                question = self._turns.answered(report.id)
            if question is not None:
                if report.error:
                    self._on_fault(self._owner_of(question.check), "")
                question.done(report.verdict, report.error)

    def _take_loaded(self, report: Loaded) -> None:
        with self._lock:
            plugin = self._plugins[report.plugin]
            self._unloaded.discard(report.plugin)
            first_time = plugin.stage is Stage.LOADING
            plugin.stage = Stage.LOADED
            if not first_time:
                return
            for problem in report.problems:
                self._problem(plugin, problem)
            for info in report.checks:
                if info.name in self._taken or self._info(info.name) is not None:
                    self._problem(plugin, f"its check {info.name} is already there: rename it")
                else:
                    plugin.checks[info.name] = info
                    self._gates[info.name] = untried(info)

    def _take_proved(self, gate: Gate) -> None:
        with self._lock:
            if gate.check == self._proving:
                self._gates[gate.check] = gate
                self._proving = None

    def _prove_next(self) -> None:
        name = self._next_unproven()
        if name is None or self._proving is not None:
            return
        if any(p.stage is Stage.LOADING for p in self._plugins):
            return
        if self._send(Prove(check=name)):
            self._proving = name

    def _next_unproven(self) -> str | None:
        return next((n for n, g in self._gates.items() if g.why == NOT_TRIED), None)

    def _show(self, show: Show) -> None:
        """Take a settled verdict of a control to the page and tell what stands there."""
        info = self._info(show.check)
        try:
            seen = info and self._far_end(info, show.settling, show.entity, show.wall_s)
        except Exception as error:  # noqa: BLE001 - whatever broke, the control did not arrive
            self._send(Shown(error=f"{type(error).__name__}: {error}"[:300]))
            return
        self._send(Shown(outcome=seen.outcome, reasons=seen.reasons) if seen else Shown())

    def _blame(self, plugin: Plugin, cause: str) -> None:
        """Hold a plugin back: at once while loading or under proof, else after three ends."""
        how = _HOW.get(cause, cause)
        if plugin.stage is Stage.LOADING:
            plugin.stage = Stage.OUT
            self._problem(plugin, f"{how} while it was loaded")
            return
        if self._proving in plugin.checks:
            self._hold_back(plugin, f"{how} in a control or in sabotage of {self._proving}")
            return
        plugin.strikes += 1
        self._on_fault(plugin.source.name, f"{how} in an evaluation")
        if plugin.strikes >= STRIKES:
            self._hold_back(plugin, f"{how} in {STRIKES} evaluations")

    def _hold_back(self, plugin: Plugin, why: str) -> None:
        plugin.stage = Stage.OUT
        self._on_fault(plugin.source.name, f"is held back: it {why}")
        for name in plugin.checks:
            self._gates[name] = replace(
                self._gates[name],
                state=GateState.UNPROVEN,
                proven_to=ProvenTo(controls=False),
                why=f"plugin {plugin.source.name} {why}",
            )

    def _problem(self, plugin: Plugin, what: str) -> None:
        self._problems.append(Problem(plugin=plugin.source.name, what=what))
        self._on_fault(plugin.source.name, what)

    def _info(self, check: str) -> CheckInfo | None:
        return next((p.checks[check] for p in self._plugins if check in p.checks), None)

    def _any_proven(self, plugin: Plugin) -> bool:
        return any(self._gates[name].state is GateState.PROVEN for name in plugin.checks)

    def _owner_of(self, check: str) -> str:
        return next((p.source.name for p in self._plugins if check in p.checks), "")

    def _ask_next(self) -> None:
        """Hand the worker the next question, if it has nothing else to do."""
        refused = []
        with self._lock:
            while self._free and (turn := self._turns.next()) is not None:
                number, asked = turn
                if not self._may_run(asked.check):
                    refused.append(self._turns.answered(number) or asked)
                elif not self._send(Evaluate(id=number, check=asked.check, world=asked.data)):
                    self._turns.take_back()  # that worker is gone: the next one is asked
                    break
        for asked in refused:
            self._refuse(asked.check, asked.world, asked.done)

    @property
    def _free(self) -> bool:
        return self._generation != 0 and not self._unloaded and self._proving is None

    def _may_run(self, check: str) -> bool:
        gate = self._gates.get(check)
        return gate is not None and gate.state is GateState.PROVEN

    def _refuse(self, check: str, world: World, done: Done) -> None:
        gate = self._gates.get(check)
        verdict = unknown(world, UNPROVEN, "the check is not proven")
        done(verdict, gate.why if gate is not None else "no such check")

    def _send(self, order: Order) -> bool:
        return self._generation != 0 and self._post(encode(order), generation=self._generation)


def _give_up(question: Question, why: str) -> None:
    question.done(unknown(question.world, TIMED_OUT, why), why)
