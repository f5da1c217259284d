"""Joins the daemon's configuration to the process that tells people; off by default."""

import os
import socket
from pathlib import Path
from threading import Lock
from typing import Final

from pfid.adapters.notifier_process import NotifierProcess
from pfid.adapters.own_log import OwnLog
from pfid.config.model import Config
from pfid.host.foreign import foreign_plugins
from pfid.host.plugins import PluginKind
from pfid.wire.notify import NotifyOrder, PluginPlaces

CURSORS: Final = "notified.json"


class Notifying:
    """The notifier of a box's daemon, started anew when its configuration changes."""

    def __init__(self, state_file: Path | None, log: OwnLog) -> None:
        """Take the file whose events are told, None for an engine; and where trouble is said."""
        self._state_file = state_file
        self._log = log
        self._process: NotifierProcess | None = None
        self._order: NotifyOrder | None = None
        self._one_at_a_time = Lock()
        self._over = False

    def follow(self, config: Config) -> None:
        """Tell as this configuration says; the same one again changes nothing. From any thread."""
        order = None if self._state_file is None else _order(self._state_file, config)
        with self._one_at_a_time:
            if order == self._order or self._over:
                return
            self._end()
            self._order = order
            if order is not None:
                self._process = NotifierProcess(order, self._say)
                self._process.start()

    def counts(self) -> dict[str, tuple[int, int]]:
        """Attempts and failures by channel."""
        process = self._process
        return {} if process is None else dict(process.counts())

    def close(self) -> None:
        """End it; no other is started."""
        with self._one_at_a_time:
            self._over = True
            self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _say(self, channel: str, problem: str) -> None:
        self._log.say("warning", "notification", channel=channel, problem=problem)


def _order(state_file: Path, config: Config) -> NotifyOrder | None:
    notify = config.notify
    places = _places(config) if notify.plugins else []
    if not (notify.command or notify.webhook or places):
        return None
    return NotifyOrder(
        state_file=str(state_file.absolute()),
        cursors=str(state_file.with_name(CURSORS)),
        host=socket.gethostname() or os.uname().nodename,
        command=list(notify.command),
        webhook=notify.webhook,
        secret_file=notify.secret_file,
        plugins=places,
    )


def _places(config: Config) -> list[PluginPlaces]:
    sources, _ = foreign_plugins(config.plugins.directories)
    return [
        PluginPlaces(name=s.name, place=s.place, is_file=s.kind is PluginKind.FILE) for s in sources
    ]
