"""Between the daemon and the process that tells people: one order in, JSON lines out."""

import msgspec


class PluginPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that may bring a channel of its own."""

    name: str
    place: str
    is_file: bool


class NotifyOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell, and how.

    Attributes:
        state_file: the daemon's, read only; its events are the queue.
        cursors: file in which is kept how far each channel has come.
        host: name of the box.
        command: program and arguments that get a notice on stdin; empty for none.
        webhook: URL that gets a notice as JSON; "" for none.
        secret_file: holds what the webhook is shown as bearer token; "" for none.
        plugins: that may implement ``pfid_notify``.
        hung_s: a channel that takes longer with one notice is hung, and the process ends.
    """

    state_file: str
    cursors: str
    host: str
    command: list[str] = []
    webhook: str = ""
    secret_file: str = ""
    plugins: list[PluginPlaces] = []
    hung_s: float = 60.0


class NotifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel stands since the process started.

    Attributes:
        channel: its name.
        attempts: to deliver a notice.
        failed: attempts that failed, and notices that were given up.
        problem: what the last failure was, "" after a success.
    """

    channel: str
    attempts: int = 0
    failed: int = 0
    problem: str = ""
