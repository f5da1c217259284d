"""Waits until a verdict, its event and its metric have all arrived, each by reason code."""

import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.far_end import read_page
from pfid.domain.errors import PfidError
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import Snapshot
from pfid.domain.verdict import Entity, EntityKind
from pfid.formats.exposition import ExpositionError
from pfid.wire.control import EventsReply, GetEvents, GetSnapshot, SnapshotReply
from pfid.wire.snapshots import events_of, snapshot_of

POLL_S: Final = 0.25
"""Sixteen drills ask one daemon at the same time, which has their faults to see as well."""
PAGE_S: Final = 30.0


class NotSeenError(PfidError):
    """A drill's verdict, event or metric did not arrive in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a leg of a drill must bring."""

    check: str
    entity: Entity
    outcome: Outcome
    reason: str
    synthetic: bool = True


class Witness:
    """Asks one daemon, as any client would."""

    def __init__(self, client: ControlClient, page_url: str) -> None:
        """Take a connection of its own, and where the synthetic page is served."""
        self._client = client
        self._page_url = page_url

    def wait_for(self, expected: Expected, timeout_s: float) -> float:
        """Wait for verdict, event and metric.

        Returns:
            Seconds until the last of them was there.

        Raises:
            NotSeenError: naming what was missing, and what was there instead.
            ControlError: if the daemon does not answer.
        """
        began_s = time.monotonic()
        while True:
            missing = self._missing(expected)
            took_s = time.monotonic() - began_s
            if not missing:
                return took_s
            if took_s > timeout_s:
                wanted = f"{expected.outcome.value} {expected.reason}"
                raise NotSeenError(f"no {wanted} within {timeout_s:g} s: {missing}")
            time.sleep(POLL_S)

    def _missing(self, expected: Expected) -> str:
        """Say what has not arrived, "" if all of it has."""
        return (
            _verdict(self.snapshot(), expected) or self._event(expected) or self._metric(expected)
        )

    def snapshot(self) -> Snapshot:
        """What the daemon shows now."""
        return snapshot_of(self._client.ask(GetSnapshot(), SnapshotReply))

    def _event(self, expected: Expected) -> str:
        subject = expected.entity.id
        request = GetEvents(run_id=subject, synthetic=expected.synthetic)
        events = events_of(self._client.ask(request, EventsReply))
        ours = [e.transition for e in events if e.transition.check == expected.check]
        if ours and _says(ours[-1].verdict.outcome, ours[-1].verdict.reason, expected):
            return ""
        last = f"{ours[-1].verdict.outcome.value} {ours[-1].verdict.reason}" if ours else "none"
        return f"the last event is {last}"

    def _metric(self, expected: Expected) -> str:
        shown = self._page(expected)
        if shown is None:
            return "the page does not show it"
        outcome, reasons = shown
        named = () if outcome is Outcome.PASS else (expected.reason,)
        if outcome is expected.outcome and reasons == named:
            return ""
        return f"the page says {outcome.value} {', '.join(reasons)}".rstrip()

    def _page(self, expected: Expected) -> tuple[Outcome, tuple[str, ...]] | None:
        url = self._page_url
        if expected.synthetic:
            url = f"{url.rpartition('/')[0]}/-/selftest"
        try:
            shown = read_page(fetched(url), expected.check, expected.entity)
        except (OSError, ExpositionError):
            return None
        return None if shown is None else (shown.outcome, shown.reasons)


def fetched(url: str) -> str:
    """Read a page of this box's own daemon.

    Its certificate is for whoever scrapes the box from elsewhere and is not asked for its name:
    the daemon itself said, over its control socket, that it serves there.

    Raises:
        OSError: if it cannot be read, also where the page wants a client's certificate.
    """
    context = None
    if url.startswith("https:"):
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(url, timeout=PAGE_S, context=context) as answer:  # noqa: S310 - ours
        return str(answer.read().decode())


def refuses_us(url: str) -> bool:
    """Whether a page behind TLS turns us away, as one does that wants a client's certificate."""
    try:
        fetched(url)
    except urllib.error.HTTPError as error:
        return url.startswith("https:") and error.code == HTTPStatus.FORBIDDEN
    except OSError:
        return url.startswith("https:")
    return False


def _verdict(snapshot: Snapshot, expected: Expected) -> str:
    subject = expected.entity
    for view in snapshot.verdicts:
        if view.check == expected.check and _about(view.entity, subject):
            if _says(view.outcome, view.reason, expected):
                return ""
            return f"the verdict is {view.outcome.value} {view.reason}"
    return "there is no verdict"


def _about(entity: Entity, subject: Entity) -> bool:
    return entity == subject or (subject.kind is EntityKind.BOX and entity.kind is EntityKind.GATE)


def _says(outcome: Outcome, reason: str, expected: Expected) -> bool:
    return outcome is expected.outcome and reason == expected.reason
