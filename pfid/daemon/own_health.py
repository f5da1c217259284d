"""How the loop itself is: what it has done, and how the configuration stands."""

from pfid.daemon.core import Core
from pfid.domain.snapshot import DaemonHealth


class OwnHealth:
    """Kept by the loop, shown with every snapshot."""

    __slots__ = (
        "_busy_s",
        "_iterations",
        "_last_iteration_s",
        "_started_at_s",
        "config_loaded_s",
        "config_ok",
        "ready",
    )

    def __init__(self, now_s: float) -> None:
        """Start at a wall time, with a configuration that was just taken."""
        self._started_at_s = self._last_iteration_s = self.config_loaded_s = now_s
        self._iterations = 0
        self._busy_s = 0.0
        self.config_ok = True
        self.ready = False

    def turned(self, seconds: float, at_s: float) -> None:
        """One more iteration is complete."""
        self._iterations += 1
        self._busy_s += seconds
        self._last_iteration_s = at_s

    def view(self, core: Core) -> DaemonHealth:
        """This moment."""
        return DaemonHealth(
            started_at_s=self._started_at_s,
            ready=self.ready,
            last_iteration_s=self._last_iteration_s,
            iterations=self._iterations,
            iteration_seconds=self._busy_s,
            config_loaded_s=self.config_loaded_s,
            config_ok=self.config_ok,
            store_problem=core.store_problem,
            state_unread=(*(u.problem for u in core.unread.values()), *core.state_unread),
            runs_unread=len(core.unread),
            selftest_last_success_s=dict(core.checks.legs),
            selftest_detection_s=dict(core.detection_s),
            log_messages=dict(core.ports.log.counts),
            plugin_errors={name: dict(hooks) for name, hooks in core.plugin_errors.items()},
            plugin_worker_ends=dict(core.plugin_worker_ends),
            version=core.version,
        )
