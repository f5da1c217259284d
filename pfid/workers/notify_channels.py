"""The two ways of telling that are built in, and those that plugins bring."""

import importlib
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pluggy

from pfid.domain.errors import PfidError
from pfid.spec import hookspecs
from pfid.spec.notice import Notice
from pfid.wire.notify import NotifyOrder, PluginPlaces
from pfid.workers.notify_command import run
from pfid.workers.plugin_collect import load_file

TIMEOUT_S: Final = 20.0
_TOKEN: Final = re.compile(rb"[!-~]+")
PROBLEM_CHARS: Final = 200


class NotToldError(PfidError):
    """A channel did not take a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A name, and how it is told; raises whatever it likes where it fails."""

    name: str
    tell: Callable[[Notice], object]


class CommandHook:
    """Starts a program with the notice as JSON on its stdin; any status but 0 is a failure."""

    def __init__(self, command: list[str]) -> None:
        """Take program and arguments; no shell."""
        self._command = command

    @hookspecs.hookimpl
    def pfid_notify(self, notice: Notice) -> None:
        """Tell one."""
        status, said = run(self._command, body(notice))
        if status:
            raise NotToldError(f"{self._command[0]} ended with {status}: {said[-PROBLEM_CHARS:]}")


class WebhookHook:
    """Posts the notice as JSON; the secret is read anew each time, so that it can be changed."""

    def __init__(self, url: str, secret_file: str) -> None:
        """Take where to, and where the bearer token lies ("" for none)."""
        self._url = url
        self._secret_file = secret_file

    @hookspecs.hookimpl
    def pfid_notify(self, notice: Notice) -> None:
        """Tell one."""
        headers = {"Content-Type": "application/json", "User-Agent": "pfid"}
        if self._secret_file:
            headers["Authorization"] = f"Bearer {_secret(self._secret_file)}"
        request = urllib.request.Request(self._url, data=body(notice), headers=headers)  # noqa: S310 - http(s) alone, held by the configuration
        with _opener.open(request, timeout=TIMEOUT_S) as answer:
            answer.read(1024)


def _secret(file: str) -> str:
    """The token, one that can stand in a header: what cannot would be quoted in a failure."""
    found = Path(file).read_bytes().strip()
    if not _TOKEN.fullmatch(found):
        raise NotToldError(f"{file} holds no token: one line of printable ASCII without blanks")
    return found.decode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the secret to somebody else."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow none; urllib raises then."""


_opener = urllib.request.build_opener(_NoRedirect)


def body(notice: Notice) -> bytes:
    """The notice as JSON, versioned like everything pfid prints."""
    return json.dumps({"schema": 1, **asdict(notice)}, allow_nan=True).encode()


def channels(order: NotifyOrder) -> Iterator[Channel]:
    """Every channel of an order; a plugin that cannot be loaded is a channel that fails."""
    if order.command:
        yield from _of_plugin("command", lambda: CommandHook(order.command))
    if order.webhook:
        hook = WebhookHook(order.webhook, order.secret_file)
        yield from _of_plugin("webhook", lambda: hook)
    for place in order.plugins:
        yield from _of_plugin(f"plugin_{place.name}", partial(_load, place))


def _of_plugin(name: str, load: Callable[[], object]) -> Iterator[Channel]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(load(), name)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - whatever a plugin raises is said
        said = f"cannot be loaded: {type(problem).__name__}: {problem}"
        yield Channel(name=name, tell=lambda _: _raise(said))
        return
    found = manager.hook.pfid_notify.get_hookimpls()
    for number, implementation in enumerate(found):
        own = name if len(found) == 1 else f"{name}_{number}"
        yield Channel(name=own, tell=implementation.function)


def _load(place: PluginPlaces) -> object:
    if place.is_file:
        return load_file(Path(place.place))
    module, _, attribute = place.place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def _raise(said: str) -> None:
    raise NotToldError(said)
