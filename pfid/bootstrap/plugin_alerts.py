"""Third-party checks as alerts see them: their descriptions, and the pages of their controls.

Their code runs in the plugin worker alone. What it settles on while it is proven is taken to a page
on this side, as always; those pages are what its alerts are tried with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import FAILING, far_end
from pfid.bootstrap.plugin_worker import Keeping, PluginWorker
from pfid.bootstrap.selftest import PLUGIN_WAIT_S
from pfid.config.model import Config
from pfid.domain.gate import Gate
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import Snapshot
from pfid.domain.verdict import Entity
from pfid.formats.exposition import samples
from pfid.host.plugins import Registry
from pfid.monitoring.control_tests import Shown
from pfid.policy import control_drive
from pfid.policy.hysteresis import Settling
from pfid.policy.views import Graded
from pfid.spec.check import Stage
from pfid.wire.plugins import CheckInfo

PAGES_MAX: Final = 100
"""Of one check; a plugin may bring any number of controls."""


ON_A_PAGE: Final = frozenset(o.value for o in Outcome if o is not Outcome.NOT_APPLICABLE)


@dataclass(slots=True, kw_only=True)
class Pages:
    """The far end that keeps each page that is unlike the ones before; by check."""

    shown: dict[str, dict[tuple[Outcome, str, Entity], Shown]] = field(default_factory=dict)

    def far_end(
        self, check: Graded, settling: Settling, entity: Entity, wall_s: float
    ) -> control_drive.Shown | None:
        """Show the settled verdict, keep the page, and say what stands there."""
        made: list[bytes] = []
        page = Page(synthetic=True)

        def render(snapshot: Snapshot) -> bytes:
            made.append(page.render(snapshot))
            return made[-1]

        seen = far_end(render)(check, settling, entity, wall_s)
        if made and settling.settled is not None:
            reason = str(settling.settled.reason)
            self._keep(check.name, (settling.settled.outcome, reason, entity), made[0].decode())
        return seen

    def _keep(self, check: str, what: tuple[Outcome, str, Entity], text: str) -> None:
        pages = self.shown.setdefault(check, {})
        if what in pages or len(pages) >= PAGES_MAX or f"{FAILING}{{" not in text:
            return
        outcome, reason, _ = what
        name = f"{outcome.value}-{reason}-{len(pages)}"
        pages[what] = Shown(name=name, expect=outcome, reason=reason, samples=tuple(samples(text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """What the plugin worker brought.

    Attributes:
        checks: that watch, by description.
        gates: of all of them, by name.
        shown: what the page showed of each check's controls.
    """

    checks: tuple[CheckInfo, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    shown: Mapping[str, tuple[Shown, ...]] = field(default_factory=dict)

    def problem(self, check: str) -> str:
        """Why its alerts cannot be tried as a whole, "" if they can."""
        gate = self.gates[check]
        if not gate.controls:
            return gate.why or "it has no proof"
        came = {(s.expect.value, s.reason) for s in self.shown.get(check, ())}
        missing = [
            c.name
            for c in gate.controls
            if c.expect in ON_A_PAGE and (c.expect, c.reason) not in came
        ]
        return f"controls that never reached a page: {', '.join(missing)}" if missing else ""


def foreign(registry: Registry, config: Config) -> Foreign:
    """Load and prove every plugin, and keep what its controls looked like."""
    if not registry.foreign:
        return Foreign()
    pages = Pages()
    worker = PluginWorker(
        registry.foreign,
        limits=config.limits,
        taken=frozenset(r.check.name for r in registry.checks),
        far_end=pages.far_end,
        keeping=Keeping(memory_max_bytes=config.plugins.worker_memory_max_bytes),
    )
    with worker:
        worker.host.wait_settled(PLUGIN_WAIT_S)
        checks = tuple(c for c in worker.host.checks if c.stage is Stage.WATCH)
        gates = {str(g.check): g for g in worker.host.gates}
    shown = {name: tuple(kept.values()) for name, kept in pages.shown.items()}
    return Foreign(checks=checks, gates=gates, shown=shown)
