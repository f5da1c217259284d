"""What an owner tells about its worker."""

from dataclasses import dataclass, replace

from pfid.policy.worker_life import EndCause, LifePhase


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStarted:
    """A fresh worker runs and knows nothing: tell it everything again.

    Attributes:
        generation: counts up with every start; pass it to ``send``.
        pid: of the process.
    """

    generation: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMessage:
    """One message, whole, still encoded.

    Attributes:
        generation: of the sender.
        body: without its frame. Raise WireError from the callback if it cannot be decoded: the
            worker is replaced.
    """

    generation: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnded:
    """The worker is gone, or was given up.

    Attributes:
        generation: which; 0 if it could not be started.
        cause: why.
        status: exit status, negative for a signal; None for an orphan or a failed start.
        touching: the number the worker had said it was about to touch, None if none.
        output_tail: the last it printed; untrusted, may quote a log, for the operator alone.
    """

    generation: int
    cause: EndCause
    status: int | None
    touching: int | None = None
    output_tail: str = ""


WorkerEvent = WorkerStarted | WorkerMessage | WorkerEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCounters:
    """For the metrics page.

    Attributes:
        starts: processes started.
        crashes: ended by themselves, or could not be started.
        timeouts: ended for silence.
        malformed: ended for messages that are none.
        outgrown: ended for holding more memory than they may.
        orphans: processes that even KILL did not end and that are still there, 0 or 1.
        callback_errors: exceptions of the callback itself, which are the owner's fault.
        phase: where the worker stands now.
    """

    starts: int = 0
    crashes: int = 0
    timeouts: int = 0
    malformed: int = 0
    outgrown: int = 0
    orphans: int = 0
    callback_errors: int = 0
    phase: LifePhase = LifePhase.WAITING

    def counted(self, cause: EndCause) -> "WorkerCounters":
        """These and one end more; one that was asked for is not counted."""
        if cause is EndCause.TIMED_OUT:
            return replace(self, timeouts=self.timeouts + 1)
        if cause is EndCause.MALFORMED:
            return replace(self, malformed=self.malformed + 1)
        if cause is EndCause.OUTGROWN:
            return replace(self, outgrown=self.outgrown + 1)
        if cause is EndCause.STOPPED:
            return self
        return replace(self, crashes=self.crashes + 1)
