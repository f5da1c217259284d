"""What plugins do wrong: counted for the page, and said to the operator where nothing else does."""

from typing import Final

from pfid.daemon.core import Core
from pfid.daemon.messages import PluginFault, PluginWorkerEnded

CHECKS_HOOK: Final = "pfid_checks"
SAMPLERS_HOOK: Final = "pfid_gpu_samplers"
_SAID_CHARS: Final = 500


class Plugins:
    """Takes what the process that runs third-party checks did."""

    def __init__(self, core: Core) -> None:
        """Count in the core."""
        self._core = core

    def fault(self, message: PluginFault) -> None:
        """A plugin did something wrong."""
        count(self._core, message.plugin, message.hook)
        if message.what:
            self._core.ports.log.say(
                "error", "plugin", plugin=message.plugin, hook=message.hook, problem=message.what
            )

    def worker_ended(self, message: PluginWorkerEnded) -> None:
        """Their process ended without being asked to; it is started again."""
        ends = self._core.plugin_worker_ends
        ends[message.cause] = ends.get(message.cause, 0) + 1
        self._core.snapshot_stale = True
        self._core.ports.log.say(
            "error",
            "plugin worker",
            cause=message.cause,
            plugin=message.plugin,
            said=message.said[-_SAID_CHARS:],
        )


def count(core: Core, plugin: str, hook: str) -> None:
    """Count one fault."""
    hooks = core.plugin_errors.setdefault(plugin, {})
    hooks[hook] = hooks.get(hook, 0) + 1
    core.snapshot_stale = True
