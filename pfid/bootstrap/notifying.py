"""Joins the daemon's configuration to the processes that tell people; off by default."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from msgspec.structs import replace

from pfid.adapters.notifier_process import NotifierProcess
from pfid.adapters.own_log import OwnLog
from pfid.config.model import Config
from pfid.host.foreign import foreign_plugins
from pfid.host.plugins import PluginKind
from pfid.wire.notify import NotifyOrder, PluginPlaces

CURSORS: Final = "notified.json"
PLUGINS_CURSORS: Final = "notified-plugins.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """An order, and what the process that follows it may hold in bytes; None for any."""

    order: NotifyOrder
    memory_max_bytes: int | None = None


class Notifying:
    """The notifiers of a box's daemon, started anew when their configuration changes.

    Plugins have a process of their own: one that hangs, ends it or outgrows it costs no notice of
    the channels that are built in.
    """

    def __init__(self, state_file: Path | None, log: OwnLog) -> None:
        """Take the file whose events are told, None for an engine; and where trouble is said."""
        self._state_file = state_file
        self._log = log
        self._processes: tuple[NotifierProcess, ...] = ()
        self._telling: tuple[Telling, ...] = ()
        self._one_at_a_time = Lock()
        self._over = False

    def follow(self, config: Config) -> None:
        """Tell as this configuration says; the same one again changes nothing. From any thread."""
        telling = () if self._state_file is None else tuple(_telling(self._state_file, config))
        with self._one_at_a_time:
            if telling == self._telling or self._over:
                return
            self._end()
            self._telling = telling
            self._processes = tuple(
                NotifierProcess(t.order, self._say, t.memory_max_bytes) for t in telling
            )
            for process in self._processes:
                process.start()

    def counts(self) -> dict[str, tuple[int, int]]:
        """Attempts and failures by channel."""
        found: dict[str, tuple[int, int]] = {}
        for process in self._processes:
            found.update(process.counts())
        return found

    def close(self) -> None:
        """End them; no other is started."""
        with self._one_at_a_time:
            self._over = True
            self._end()

    def _end(self) -> None:
        for process in self._processes:
            process.close()
        self._processes = ()

    def _say(self, channel: str, problem: str) -> None:
        self._log.say("warning", "notification", channel=channel, problem=problem)


def _telling(state_file: Path, config: Config) -> Iterator[Telling]:
    notify = config.notify
    if notify.command or notify.webhook:
        order = replace(
            _empty(state_file, CURSORS),
            command=list(notify.command),
            webhook=notify.webhook,
            secret_file=notify.secret_file,
        )
        yield Telling(order=order)
    if notify.plugins and (plugins := _plugins(config)):
        yield Telling(
            order=replace(_empty(state_file, PLUGINS_CURSORS), plugins=plugins),
            memory_max_bytes=config.plugins.worker_memory_max_bytes,
        )


def _empty(state_file: Path, cursors: str) -> NotifyOrder:
    return NotifyOrder(
        state_file=str(state_file.absolute()),
        cursors=str(state_file.with_name(cursors)),
        host=socket.gethostname() or os.uname().nodename,
    )


def _plugins(config: Config) -> list[PluginPlaces]:
    sources, _ = foreign_plugins(config.plugins.directories)
    return [
        PluginPlaces(name=s.name, place=s.place, is_file=s.kind is PluginKind.FILE) for s in sources
    ]
