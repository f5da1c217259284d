"""A client's request to whoever can answer it; a refusal is a reply like any other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pfid.daemon.answering import Answering
from pfid.daemon.core import Core
from pfid.daemon.gpus import Gpus
from pfid.daemon.hooks import Came
from pfid.daemon.ledger import Ledger
from pfid.daemon.messages import Asked, EventsFound, OldRunFound
from pfid.daemon.refusal import ROOT_UID, RefusalError
from pfid.daemon.registering import Registering
from pfid.domain.snapshot import Snapshot
from pfid.wire.control import (
    AlertsLeg,
    Done,
    Ended,
    ForgetGpu,
    GetEvents,
    GetRun,
    GetSnapshot,
    HandOver,
    KeepReferences,
    LiveLeg,
    Refused,
    Register,
    Registered,
    Reload,
    Reply,
    RunSelftest,
    SnapshotReply,
    StopIntent,
)

FAILED: Final = Refused(
    code="bad_request",
    message="the daemon failed on this request",
    remedy="its log says why; it is a fault of pfid, report it",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """What a request may set going in the loop.

    Attributes:
        snapshot: makes one.
        reload: reads the configuration again and answers that connection then.
        prove: proves every gate again and answers that connection then.
        live: enters what live drills came to, by check.
        alerts: enters what the alert rules came to, by key of proof.
        gpus: keeps and forgets what is known of GPUs.
    """

    snapshot: Callable[[], Snapshot]
    reload: Callable[[int], None]
    prove: Callable[[int], None]
    live: Callable[[dict[str, bool]], None]
    alerts: Callable[[dict[str, bool]], None]
    gpus: Gpus


class Requests:
    """Answers each request, at once or when it is on disk."""

    def __init__(
        self,
        core: Core,
        registering: Registering,
        answering: Answering,
        ledger: Ledger,
        acts: Acts,
    ) -> None:
        """Answer for ``core``."""
        self._core = core
        self._registering = registering
        self._answering = answering
        self._ledger = ledger
        self._acts = acts

    def asked(self, asked: Asked) -> None:
        """Answer a client; what changes anything is answered once it is on disk."""
        try:
            if not self._change(asked):
                self._reply(asked.conn, self._look(asked))
        except RefusalError as refusal:
            self._reply(asked.conn, refusal.reply)
        except Exception:  # the loop says what it was; who asked is not to wait for ever
            self._reply(asked.conn, FAILED)
            raise

    def events_found(self, found: EventsFound) -> None:
        """The store's answer for somebody who asked for events."""
        try:
            self._reply(found.conn, self._answering.found(found))
        except RefusalError as refusal:
            self._reply(found.conn, refusal.reply)

    def old_run_found(self, found: OldRunFound) -> None:
        """The store's answer for somebody who asked for a run that is not in memory."""
        try:
            self._reply(found.conn, self._answering.old_run(found))
        except RefusalError as refusal:
            self._reply(found.conn, refusal.reply)

    def _reply(self, conn: int, reply: Reply | None) -> None:
        if reply is not None:
            self._core.ports.replies.reply(conn, reply)

    def _change(self, asked: Asked) -> bool:
        """Carry out what is to be on disk before it is acknowledged; False if it is no such."""
        reply: Reply = Done()
        match asked.request:
            case Register() as request:
                run_id = self._registering.register(asked, request)
                reply = Registered(run_id=run_id, metrics_url=self._core.metrics_url)
            case HandOver() as request:
                self._registering.hand_over(asked, request)
            case StopIntent() as request:
                self._registering.stop_intent(asked, request)
            case Ended() as request:
                reply = Done(left=self._registering.ended(asked, request))
            case KeepReferences() as request:
                self._keep_references(asked, request)
            case ForgetGpu() as request:
                self._forget_gpu(asked, request)
            case _:
                return False
        if self._core.store_problem:
            reply = cannot_write(self._core.store_problem)
            self._reply(asked.conn, reply)
        else:
            self._ledger.promise(asked.conn, reply)
        return True

    def _look(self, asked: Asked) -> Reply | None:
        match asked.request:
            case GetRun() as request:
                return self._answering.run(asked, request)
            case GetEvents() as request:
                return self._answering.events(asked, request)
            case GetSnapshot():
                return SnapshotReply(snapshot=self._acts.snapshot())
            case _:
                return self._command(asked)

    def _keep_references(self, asked: Asked, request: KeepReferences) -> None:
        self._only_operators(asked)
        known = self._core.gpus.gpus
        unknown = [r.uuid for r in request.references if r.uuid not in known]
        if unknown:
            raise RefusalError("bad_request", f"no GPU {unknown[0][:80]!r} is known here")
        self._acts.gpus.refer(tuple(request.references))

    def _forget_gpu(self, asked: Asked, request: ForgetGpu) -> None:
        self._only_operators(asked)
        if not self._acts.gpus.forget(request.uuid):
            raise RefusalError(
                "bad_request",
                f"{request.uuid[:80]!r} is no GPU that is gone",
                "pfid gpus names them",
            )

    def _only_operators(self, asked: Asked) -> None:
        if asked.uid not in {ROOT_UID, self._core.own_uid}:
            raise RefusalError("not_yours", "only root and the daemon's own user may do that")

    def _command(self, asked: Asked) -> Reply | None:
        self._only_operators(asked)
        if isinstance(asked.request, RunSelftest):
            self._acts.prove(asked.conn)
            return None
        if isinstance(asked.request, LiveLeg):
            if asked.request.detection_s is not None:
                self._core.detection_s["live"] = asked.request.detection_s
            self._acts.live(asked.request.results)
        elif isinstance(asked.request, AlertsLeg):
            self._acts.alerts(asked.request.results)
        elif isinstance(asked.request, Reload):
            self._acts.reload(asked.conn)
            return None
        return Done()

    def came(self, came: Came) -> None:
        """What was asked for and made beside the loop is there, or could not be made."""
        reply: Reply = Done()
        if came.problem and came.reload:
            reply = Refused(
                code="bad_request",
                message=came.problem,
                remedy="correct the file and reload again",
            )
        elif came.problem:
            self._core.ports.log.say("critical", "cannot prove", problem=came.problem)
            reply = Refused(
                code="bad_request",
                message=f"the checks cannot be proven: {came.problem}",
                remedy="this is a fault of pfid or of a plugin: see its log",
            )
        for conn in came.asked:
            self._reply(conn, reply)


def cannot_write(problem: str) -> Refused:
    """What was asked is done as long as this daemon lives, and nobody may rely on more."""
    return Refused(
        code="cannot_write",
        message=f"done, but not on disk: {problem}",
        remedy="make room; the daemon writes it as soon as it can",
    )
