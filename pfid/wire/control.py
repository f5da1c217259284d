"""The control socket's messages: launcher, CLI and self-test on one side, daemon on the other.

A request may carry file descriptors (SCM_RIGHTS) with its first byte; ``roles`` names them in
order. Descriptors, not paths: nobody can hand over what they could not open (DESIGN, section 8).
The peer's uid comes from SO_PEERCRED, never from a message.
"""

from enum import Enum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from pfid.domain.errors import WireError
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.step_fit import StepFit
from pfid.policy.baseline import EarlierRun

PROTOCOL: Final = 1

# What is kept goes into 64 bits on disk and on the reader's wire: a number beyond that is refused
# here, by its place, before anything is done with it.
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Size = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Small = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Moment = Annotated[float, Meta(ge=0, lt=253_402_300_800)]
"""Unix seconds up to the year 9999, the last that can be shown."""


class Role(Enum):
    """What a handed-over descriptor is."""

    PIDFD = "pidfd"
    LOG = "log"
    STEPS = "steps"


class HandedLog(msgspec.Struct, frozen=True, kw_only=True):
    """Beside each LOG or STEPS descriptor, in order.

    Attributes:
        begins_at: offset from which on the run's text is read; 0 for a fresh file.
        size_at_start: size of the file when the run began, as far as it is known: so many bytes
            are older than the run. 0 for what an attached process may have written itself.
        place: which of the run's logs this is, a number of the launcher's; None from one that
            does not count them, and for a step file.
        replaces: it took the place of the file that was handed over for ``place`` before. A
            daemon that does not know of this follows both.
    """

    begins_at: Size = 0
    size_at_start: Size = 0
    place: Small | None = None
    replaces: bool = False


class _Request(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True
):
    v: int = PROTOCOL


class Register(_Request, tag="register", frozen=True, kw_only=True):
    """Watch this process. Acknowledged with Registered once it is committed to disk.

    Sent again with ``run_id`` after a daemon restart or by a launcher whose daemon came late: the
    daemon recognises the identity and takes the descriptors without making a second run.

    Attributes:
        name: the run's name (untrusted).
        run_id: chosen by the launcher; the daemon refuses one that belongs to another identity.
        pid: in the sender's namespace; the daemon reads its own view from the pidfd.
        start_ticks: field 22 of /proc/PID/stat as the launcher saw it, None if unknown.
        started_at_s: wall time of the start.
        source: value of RunSource.
        attempt: 1 for the first launch.
        expect_step_s: from ``--expect-step``.
        fit: how a step grows with its width, as measured before.
        fingerprint: digest of command and declared inputs.
        earlier: what earlier runs of this name and fingerprint left where the watcher cannot look:
            those that had an engine of their own.
        job_id: from the scheduler's environment.
        rank: likewise.
        world_size: likewise.
        restarts_left: how often the launcher will still relaunch after a failure.
        synthetic: made by a self-test.
        roles: one a descriptor, in order.
        logs: one for each LOG and STEPS role, in order.
    """

    name: str
    run_id: str
    pid: Small
    start_ticks: Size | None
    started_at_s: Moment
    source: str = "wrapper"
    attempt: Small = 1
    expect_step_s: float | None = None
    fit: StepFit | None = None
    fingerprint: str = ""
    earlier: list[EarlierRun] = []
    job_id: str | None = None
    rank: Small | None = None
    world_size: Small | None = None
    restarts_left: Small = 0
    synthetic: bool = False
    roles: list[Role] = []
    logs: list[HandedLog] = []


class HandOver(_Request, tag="hand_over", frozen=True, kw_only=True):
    """New descriptors for a known run: after rotation, or a step file that came later.

    Attributes:
        run_id: the run.
        roles: one a descriptor, in order.
        logs: one for each LOG and STEPS role, in order.
        replace_logs: these are all of the run's logs now.
    """

    run_id: str
    roles: list[Role]
    logs: list[HandedLog] = []
    replace_logs: bool = False


class Ended(_Request, tag="ended", frozen=True, kw_only=True):
    """The launcher, being the parent, reports the exit status it waited for.

    Answered with Done, which says what the run leaves, as far as it was read by then.
    """

    run_id: str
    exit_code: Small | None
    signal: Small | None
    at_s: Moment


class StopIntent(_Request, tag="stop_intent", frozen=True, kw_only=True):
    """An operator says the run shall end, before ending it. The daemon records uid and why."""

    run_id: str
    why: str = ""


class GetSnapshot(_Request, tag="get_snapshot", frozen=True, kw_only=True):
    """The whole snapshot."""


class GetRun(_Request, tag="get_run", frozen=True, kw_only=True):
    """One run; private evidence is included for its owner and for root."""

    run_id: str


class GetEvents(_Request, tag="get_events", frozen=True, kw_only=True):
    """Transitions after an event id. With ``wait_s`` the reply may wait for the first new one."""

    after_id: Number = 0
    run_id: str | None = None
    limit: Number = 1000
    wait_s: float = 0.0
    synthetic: bool = False


class Reload(_Request, tag="reload", frozen=True, kw_only=True):
    """Read the configuration again (root and the daemon's own user)."""


class RunSelftest(_Request, tag="run_selftest", frozen=True, kw_only=True):
    """Prove every watch gate again now, in the daemon."""


class LiveLeg(_Request, tag="live_leg", frozen=True, kw_only=True):
    """What live drills came to (root and the daemon's own user).

    Attributes:
        results: by check.
        detection_s: seconds from the planted fault to verdict, event and metric, of the slowest
            drill; None if none was walked to its end.
    """

    results: dict[str, bool]
    detection_s: float | None = None


class AlertsLeg(_Request, tag="alerts_leg", frozen=True, kw_only=True):
    """What the alert rules came to, by key of proof (root and the daemon's own user).

    By key, because they count only where the checks that were tried are those that run.
    """

    results: dict[str, bool]


class KeepReferences(_Request, tag="keep_references", frozen=True, kw_only=True):
    """What GPUs do on their own dense GEMM (root and the daemon's own user).

    Refused as a whole if one of them is about a GPU that the daemon does not know.
    """

    references: list[GpuReference]


class ForgetGpu(_Request, tag="forget_gpu", frozen=True, kw_only=True):
    """A GPU that is gone was taken out on purpose (root and the daemon's own user)."""

    uuid: str


Request = (
    Register
    | HandOver
    | Ended
    | StopIntent
    | GetSnapshot
    | GetRun
    | GetEvents
    | Reload
    | RunSelftest
    | LiveLeg
    | AlertsLeg
    | KeepReferences
    | ForgetGpu
)


class _Reply(msgspec.Struct, frozen=True, kw_only=True, tag_field="re"):
    v: int = PROTOCOL


class Registered(_Reply, tag="registered", frozen=True, kw_only=True):
    """The run is committed to disk and watched."""

    run_id: str
    metrics_url: str | None = None


class Done(_Reply, tag="done", frozen=True, kw_only=True):
    """Carried out.

    Attributes:
        detail: what was done, where that is not plain.
        left: what the run leaves to the baselines of later ones; for its owner to keep, whose
            next run may have another watcher.
    """

    detail: str = ""
    left: EarlierRun | None = None


class Refused(_Reply, tag="refused", frozen=True, kw_only=True):
    """Not carried out.

    Attributes:
        code: fixed identifier (``not_yours``, ``no_such_run``, ``quota``, ``bad_descriptor``,
            ``bad_request``, ``unsupported_version``, ``cannot_write``).
        message: what and where.
        remedy: what to do.
    """

    code: str
    message: str
    remedy: str = ""


class SnapshotReply(_Reply, tag="snapshot", frozen=True, kw_only=True):
    """The snapshot as JSON-ready data (see pfid.domain.snapshot)."""

    snapshot: Any


class RunReply(_Reply, tag="run", frozen=True, kw_only=True):
    """One run: its view, verdicts, events and, for its owner, evidence by check.

    ``gpus`` are those it is or was on, each with what it did meanwhile.
    """

    run: Any
    verdicts: Any
    events: Any
    evidence: dict[str, list[str]] | None = None
    stop: Any = None
    gpus: Any = ()


class EventsReply(_Reply, tag="events", frozen=True, kw_only=True):
    """Events, oldest first, each with ``id`` and a transition."""

    events: Any
    last_id: int


Reply = Registered | Done | Refused | SnapshotReply | RunReply | EventsReply

_request_decoder: Final = msgspec.json.Decoder(Request)
_reply_decoder: Final = msgspec.json.Decoder(Reply)
_encoder: Final = msgspec.json.Encoder(enc_hook=dict)
"""Any mapping becomes an object: frozen ones are no dict."""


def encode(message: Request | Reply) -> bytes:
    """Return the JSON of a request or reply, without a frame."""
    return _encoder.encode(message)


def decode_request(body: bytes) -> Request:
    """Read a request.

    Raises:
        WireError: naming the place that is malformed.
    """
    try:
        return _request_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise WireError(f"request is malformed: {error}") from error


def decode_reply(body: bytes) -> Reply:
    """Read a reply.

    Raises:
        WireError: naming the place that is malformed.
    """
    try:
        return _reply_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise WireError(f"reply is malformed: {error}") from error
