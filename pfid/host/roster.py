"""What the host knows of third-party plugins: what loaded, what is proven, who is held back.

The caller holds a lock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.host.loaded import Plugin, Stage
from pfid.host.plugins import PluginSource, Problem
from pfid.host.stand_in import NOT_TRIED, untried
from pfid.wire.plugins import CheckInfo, Load, Loaded

STRIKES: Final = 3
"""Ends of the worker during evaluations of one plugin before it is held back for good."""
_HOW: Final = {
    "timed_out": "hung",
    "crashed": "ended the worker",
    "outgrown": "took more memory than it may",
}


class Roster:
    """Every plugin and its checks, which of them is under proof, and what is wrong with them.

    Attributes:
        proving: the check that the worker tries now, None if none.
        problems: what is wrong, by plugin.
    """

    def __init__(
        self,
        sources: Sequence[PluginSource],
        taken: frozenset[str],
        on_fault: Callable[[str, str], None],
    ) -> None:
        """Begin with nothing loaded; see :class:`pfid.host.remote.PluginHost`."""
        self._plugins = [Plugin(source) for source in sources]
        self._taken = taken
        self._on_fault = on_fault
        self._gates: dict[str, Gate] = {}
        self.proving: str | None = None
        self.problems: list[Problem] = []

    def checks(self) -> tuple[CheckInfo, ...]:
        """Every check that loaded, proven or not."""
        return tuple(i for p in self._plugins for i in p.checks.values())

    def gates(self) -> tuple[Gate, ...]:
        """The gate of each of them."""
        return tuple(self._gates[i.name] for i in self.checks())

    def gate(self, check: str) -> Gate | None:
        """The gate of one; None if there is no such check."""
        return self._gates.get(check)

    def info(self, check: str) -> CheckInfo | None:
        """What is known of one."""
        return next((p.checks[check] for p in self._plugins if check in p.checks), None)

    def may_run(self, check: str) -> bool:
        """Whether it is proven."""
        gate = self._gates.get(check)
        return gate is not None and gate.state is GateState.PROVEN

    def owner_of(self, check: str) -> str:
        """Name of the plugin that brought it, "" if none did."""
        return next((p.source.name for p in self._plugins if check in p.checks), "")

    def name(self, number: int | None) -> str:
        """Name of a plugin by its number, "" if there is none."""
        plugin = self._numbered(number)
        return "" if plugin is None else plugin.source.name

    def _numbered(self, number: int | None) -> Plugin | None:
        known = number is not None and 0 <= number < len(self._plugins)
        return self._plugins[number] if known and number is not None else None

    # Loading.

    def loads(self, limits: Mapping[str, Mapping[str, float]]) -> Iterator[Load]:
        """What a fresh worker is to load: all but what is held back."""
        for number, plugin in enumerate(self._plugins):
            if plugin.stage is not Stage.OUT:
                source = plugin.source
                yield Load(
                    plugin=number,
                    name=source.name,
                    kind=source.kind.value,
                    place=source.place,
                    limits={name: dict(values) for name, values in limits.items()},
                )

    def take_loaded(self, report: Loaded) -> None:
        """A plugin has loaded; what it brings is noted the first time."""
        plugin = self._plugins[report.plugin]
        first_time = plugin.stage is Stage.LOADING
        plugin.stage = Stage.LOADED
        if not first_time:
            return
        for problem in report.problems:
            self._problem(plugin, problem)
        for info in report.checks:
            if info.name in self._taken or self.info(info.name) is not None:
                self._problem(plugin, f"its check {info.name} is already there: rename it")
            else:
                plugin.checks[info.name] = info
                self._gates[info.name] = untried(info)

    @property
    def loading(self) -> bool:
        """Whether any plugin has not loaded yet."""
        return any(p.stage is Stage.LOADING for p in self._plugins)

    @property
    def wanted(self) -> bool:
        """Whether there is anything left for a worker to load."""
        return any(p.stage is not Stage.OUT for p in self._plugins)

    def dismiss(self) -> bool:
        """Let go of plugins without a proven check; whether one of them was loaded."""
        idle = [p for p in self._plugins if not any(self.may_run(name) for name in p.checks)]
        loaded = any(p.stage is Stage.LOADED for p in idle)
        for plugin in idle:
            plugin.stage = Stage.OUT
        return loaded

    # Proving.

    @property
    def settled(self) -> bool:
        """Whether every plugin has loaded and every check was tried, or was held back."""
        return not self.loading and self._untried() is None and self.proving is None

    def next_to_prove(self) -> str | None:
        """The check to try next; None while one is tried, while plugins load, or if all were."""
        return None if self.loading or self.proving is not None else self._untried()

    def _untried(self) -> str | None:
        return next((n for n, g in self._gates.items() if g.why == NOT_TRIED), None)

    def take_proved(self, gate: Gate) -> None:
        """The proof of the check that was under proof."""
        if gate.check == self.proving:
            self._gates[gate.check] = gate
            self.proving = None

    # Blaming.

    def blame(self, number: int | None, cause: str) -> None:
        """Whoever the worker was touching when it ended did that.

        A plugin is held back at once while it loads or is under proof, else after three ends.
        """
        plugin = self._numbered(number)
        if plugin is None:
            return
        how = _HOW.get(cause, cause)
        if plugin.stage is Stage.LOADING:
            plugin.stage = Stage.OUT
            self._problem(plugin, f"{how} while it was loaded")
            return
        if self.proving in plugin.checks:
            self._hold_back(plugin, f"{how} in a control or in sabotage of {self.proving}")
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
        self.problems.append(Problem(plugin=plugin.source.name, what=what))
        self._on_fault(plugin.source.name, what)
