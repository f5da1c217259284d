"""The plugin worker: third-party checks are loaded, proven and run here, and nowhere else.

Run as ``python -m pfid.workers.plugin_runner SOCKET_FD CELL_FD`` by an owner. Whatever a plugin
does (hang, exit, eat memory), it does to this process. The number of the plugin whose code is about
to run stands in the touch cell, so that the owner knows whom to hold back after the kill.
"""

import importlib
import inspect
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from pfid.domain.errors import CheckDefinitionError, PluginError, WireError
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, Verdict
from pfid.policy import control_drive
from pfid.policy.configured import with_limits
from pfid.policy.evaluate import attempt
from pfid.policy.hysteresis import Settling
from pfid.policy.proof import prove, unproven
from pfid.policy.views import Described
from pfid.spec.check import AnyCheck
from pfid.spec.reasons import CHECK_ERROR
from pfid.spec.world import World
from pfid.wire.plugins import (
    Beat,
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
    check_info,
    decode_order,
    encode,
)
from pfid.wire.worlds import world_from
from pfid.workers.bond import die_with_owner, inherited
from pfid.workers.channel import Channel
from pfid.workers.plugin_collect import collect, load_file, source_digest
from pfid.workers.touch_cell import TouchCell

BEAT_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    check: AnyCheck
    plugin: int
    source: str


class PluginRunner:
    """The loop: one order after the other; beats while there is none."""

    def __init__(self, channel: Channel, cell: TouchCell) -> None:
        """Take over both."""
        self._channel = channel
        self._cell = cell
        self._checks: dict[str, _Held] = {}
        self._orders: deque[Order] = deque()

    def run(self) -> None:
        """Work until the owner hangs up."""
        self._report(Beat())
        while not self._channel.closed:
            if not self._orders and not self._wait(BEAT_S):
                self._report(Beat())
            while self._orders and not self._channel.closed:
                self._obey(self._orders.popleft())

    def _wait(self, timeout_s: float) -> bool:
        """Take in what comes; False if nothing did."""
        poll = select.poll()
        poll.register(
            self._channel.fileno(),
            select.POLLIN | (select.POLLOUT if self._channel.pending_bytes else 0),
        )
        ready = poll.poll(timeout_s * 1000)
        self._channel.flush()
        if not any(events & ~select.POLLOUT for _, events in ready):
            return bool(ready)
        self._orders.extend(decode_order(body) for body in self._channel.receive() or ())
        return True

    def _obey(self, order: Order) -> None:
        if isinstance(order, Load):
            self._load(order)
        elif isinstance(order, Prove):
            self._prove(order.check)
        elif isinstance(order, Evaluate):
            self._evaluate(order)

    def _touching(self, plugin: int, work: Callable[[], Any]) -> Any:
        self._cell.set(plugin)
        try:
            return work()
        finally:
            self._cell.clear()

    def _load(self, order: Load) -> None:
        report = self._touching(order.plugin, lambda: self._loaded(order))
        self._report_or(report, Loaded(plugin=order.plugin, problems=("its checks are no data",)))

    def _loaded(self, order: Load) -> Loaded:
        collected = collect(lambda: _imported(order), order.name)
        problems = [*collected.problems, *_misnamed(order, collected.checks)]
        infos = []
        for check in collected.checks if order.kind != "file" or not problems else ():
            try:
                held = self._hold(order, check)
            except CheckDefinitionError as error:
                problems.append(str(error))
            else:
                infos.append(check_info(held.check, held.source))
        return Loaded(plugin=order.plugin, checks=tuple(infos), problems=tuple(problems))

    def _hold(self, order: Load, check: AnyCheck) -> _Held:
        other = self._checks.get(check.name)
        if other is not None and other.plugin != order.plugin:
            raise CheckDefinitionError(f"its check {check.name} is already there: rename it")
        configured = with_limits(check, order.limits.get(check.name, {}))
        held = _Held(check=configured, plugin=order.plugin, source=_digest(check))
        self._checks[check.name] = held
        return held

    def _prove(self, name: str) -> None:
        held = self._checks.get(name)
        if held is None:
            return

        def proof() -> Proved:
            far = self._far_end
            return Proved(gate=prove(held.check, far_end=far, monotonic_s=time.monotonic))

        report = self._touching(held.plugin, proof)
        self._report_or(report, Proved(gate=unproven(held.check, "its proof is no data")))

    def _far_end(
        self, check: Described, settling: Settling, entity: Entity, wall_s: float
    ) -> control_drive.Shown | None:
        """Ask the owner, who has the page."""
        show = Show(check=check.name, settling=settling, entity=entity, wall_s=wall_s)
        self._report(show)
        answer = self._answer()
        if answer.error:
            raise PluginError(answer.error)
        if answer.outcome is None:
            return None
        return control_drive.Shown(outcome=answer.outcome, reasons=answer.reasons)

    def _answer(self) -> Shown:
        while not self._channel.closed:
            for order in self._orders:
                if isinstance(order, Shown):
                    self._orders.remove(order)
                    return order
            self._wait(BEAT_S)
        raise SystemExit(0)

    def _evaluate(self, order: Evaluate) -> None:
        held = self._checks.get(order.check)
        world = world_from(order.world)
        if held is None:  # its plugin loaded in an earlier worker and not in this one
            self._report(_unanswered(order, world, "the check's plugin could not be loaded again"))
            return
        got = self._touching(held.plugin, lambda: attempt(held.check, world))
        self._report_or(
            Evaluated(id=order.id, verdict=got.verdict, error=got.error),
            _unanswered(order, world, "the check's verdict is no plain data"),
        )

    def _report_or(self, report: Report, instead: Report) -> None:
        """Send a report; a plugin may have put anything into it."""
        try:
            body = encode(report)
        except WireError:
            body = encode(instead)
        self._channel.send(body)

    def _report(self, report: Report) -> None:
        self._channel.send(encode(report))


def _unanswered(order: Evaluate, world: World, why: str) -> Evaluated:
    verdict = Verdict(
        outcome=Outcome.UNKNOWN,
        reason=ReasonCode(CHECK_ERROR),
        summary=why,
        entity=world.subject,
    )
    return Evaluated(id=order.id, verdict=verdict, error=why)


def _imported(order: Load) -> object:
    if order.kind == "file":
        return load_file(Path(order.place))
    return metadata.EntryPoint(name=order.name, value=order.place, group="").load()


def _misnamed(order: Load, checks: tuple[AnyCheck, ...]) -> list[str]:
    """A file holds one check of its own name, so that it can be named even when it cannot load."""
    if order.kind != "file" or [c.name for c in checks] == [order.name]:
        return []
    names = ", ".join(c.name for c in checks)
    return [f"must yield one check called {order.name}, like its file; it yields {names}"] * bool(
        checks
    )


def _digest(check: AnyCheck) -> str:
    module = inspect.getmodule(check.judge) or inspect.getmodule(check.observe)
    file = getattr(module, "__file__", None)
    return source_digest(Path(file) if file else None)


def main() -> None:
    """Take over what the owner handed down and work until it hangs up."""
    die_with_owner()
    channel, cell = inherited(sys.argv[1:])
    importlib.invalidate_caches()
    PluginRunner(channel, cell).run()


if __name__ == "__main__":
    main()
