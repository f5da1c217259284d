"""Everything that can be configured, with its default, its range and what it is for.

One struct a table of the TOML file; units stand in the names. The descriptions are what
``pfid config show`` prints and what the README's table is held against.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

DEFAULT_LISTEN: Final = "127.0.0.1:19866"
"""Outside 9100-9999, which is given away whole, and below Linux's ephemeral ports."""

JSONL_KEYS: Final = (
    "step",
    "total",
    "elapsed",
    "seconds",
    "ms",
    "stamp",
    "loss",
    "tokens",
    "width",
    "rank",
)
"""What a key of a JSON-lines dialect may stand for."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Daemon(_Table, frozen=True, kw_only=True):
    """Where the daemon keeps and offers things."""

    state_directory: Annotated[
        str, Meta(description="where the sqlite file lies; systemd's STATE_DIRECTORY if empty")
    ] = ""
    socket: Annotated[
        str, Meta(description="path of the control socket; PFID_SOCKET or /run/pfid if empty")
    ] = ""


class Page(_Table, frozen=True, kw_only=True):
    """The metrics page."""

    listen: Annotated[
        list[str],
        Meta(max_length=16, description="addresses as host:port or [v6]:port; [] for no page"),
    ] = field(default_factory=lambda: [DEFAULT_LISTEN])
    exported_runs_max: Annotated[
        int, Meta(ge=1, le=10_000, description="runs on the page; the longest finished leave first")
    ] = 64
    ended_run_linger_s: Annotated[
        float, Meta(ge=0, le=86_400, description="how long an ended run stays on the page")
    ] = 900.0


class TlsServer(_Table, frozen=True, kw_only=True):
    """TLS for the page, with the keys of Prometheus's exporters; plain HTTP without it."""

    cert_file: Annotated[
        str, Meta(description="certificate and its chain, PEM; plain HTTP if empty")
    ] = ""
    key_file: Annotated[str, Meta(description="its key, PEM, without a password")] = ""
    client_auth_type: Annotated[
        Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"],
        Meta(description="whether clients show a certificate"),
    ] = "NoClientCert"
    client_ca_file: Annotated[
        str, Meta(description="authorities that clients' certificates come from, PEM")
    ] = ""
    client_allowed_sans: Annotated[
        list[str],
        Meta(description="names, one of which a client's certificate must be for; [] for any"),
    ] = field(default_factory=list)
    min_version: Annotated[
        Literal["TLS12", "TLS13"], Meta(description="oldest version of TLS that is spoken")
    ] = "TLS12"


class Quotas(_Table, frozen=True, kw_only=True):
    """What one user may ask of the daemon; root is not counted."""

    runs_per_user: Annotated[int, Meta(ge=1, le=100_000, description="living runs")] = 256
    descriptors_per_user: Annotated[
        int, Meta(ge=1, le=1_000_000, description="descriptors handed over and held")
    ] = 2_048
    log_bytes_per_s_per_user: Annotated[
        int, Meta(ge=4_096, description="log bytes read a second; what is over waits")
    ] = 64 * 1024 * 1024


class Retention(_Table, frozen=True, kw_only=True):
    """How long history stays on disk."""

    ended_runs_days: Annotated[
        float, Meta(ge=0.01, le=36_500, description="ended runs, their verdicts and step times")
    ] = 180.0
    transitions_days: Annotated[
        float, Meta(ge=0.01, le=36_500, description="transitions (events)")
    ] = 90.0


class Proof(_Table, frozen=True, kw_only=True):
    """How long a gate's proof is believed."""

    age_days: Annotated[
        float,
        Meta(ge=0.01, le=365, description="proofs are made again before they are older than this"),
    ] = 7.0


class CheckOptions(_Table, frozen=True, kw_only=True):
    """One check, by its name."""

    enabled: Annotated[
        bool, Meta(description="false: its gate is DISABLED and it says nothing")
    ] = True
    limits: Annotated[
        dict[str, float], Meta(description="limits of the check by name, in the check's own units")
    ] = field(default_factory=dict)


class Plugins(_Table, frozen=True, kw_only=True):
    """Checks of your own."""

    directories: Annotated[
        list[str],
        Meta(description="absolute folders that only root or the daemon's user can write"),
    ] = field(default_factory=list)
    worker_memory_max_bytes: Annotated[
        int,
        Meta(
            ge=64 * 1024 * 1024,
            description="what a process that runs plugins may hold; one that holds more is ended",
        ),
    ] = 1024 * 1024 * 1024


class Gpus(_Table, frozen=True, kw_only=True):
    """Sampling of GPUs."""

    enabled: Annotated[
        bool, Meta(description="false: no GPU library is looked for and nothing is sampled")
    ] = True
    interval_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=10,
            description="between two readings of every GPU; over 10 s none could be judged by them",
        ),
    ] = 1.0
    expected: Annotated[
        int,
        Meta(
            ge=-1,
            le=64,
            description="how many GPUs there are; -1: those on the bus and those ever seen here",
        ),
    ] = -1


class Notify(_Table, frozen=True, kw_only=True):
    """Telling people that a failure began or ended, without Prometheus."""

    command: Annotated[
        list[str],
        Meta(max_length=64, description="program and arguments that get a notice as JSON on stdin"),
    ] = field(default_factory=list)
    webhook: Annotated[str, Meta(description="http(s) URL that a notice is posted to as JSON")] = ""
    secret_file: Annotated[
        str, Meta(description="file with the webhook's bearer token, read anew for each notice")
    ] = ""
    plugins: Annotated[
        bool, Meta(description="true: plugins that implement pfid_notify are told as well")
    ] = False


class Dialects(_Table, frozen=True, kw_only=True):
    """Step lines in a format of your own."""

    regex: Annotated[
        dict[str, str],
        Meta(
            description="name to pattern (RE2) with the named group step, and any of seconds, ms,"
            " elapsed, stamp, loss"
        ),
    ] = field(default_factory=dict)
    jsonl: Annotated[
        dict[str, dict[str, str]],
        Meta(description=f"name to keys of a JSON line, for {', '.join(JSONL_KEYS)}"),
    ] = field(default_factory=dict)


class Config(_Table, frozen=True, kw_only=True):
    """The whole file. Every table and every key may be left out."""

    daemon: Daemon = field(default_factory=Daemon)
    page: Page = field(default_factory=Page)
    tls_server_config: TlsServer = field(default_factory=TlsServer)
    quotas: Quotas = field(default_factory=Quotas)
    retention: Retention = field(default_factory=Retention)
    proof: Proof = field(default_factory=Proof)
    checks: dict[str, CheckOptions] = field(default_factory=dict)
    plugins: Plugins = field(default_factory=Plugins)
    gpus: Gpus = field(default_factory=Gpus)
    notify: Notify = field(default_factory=Notify)
    dialects: Dialects = field(default_factory=Dialects)

    @property
    def limits(self) -> dict[str, dict[str, float]]:
        """Configured limits by check, only where there are any."""
        return {name: dict(c.limits) for name, c in self.checks.items() if c.limits}

    @property
    def disabled_checks(self) -> frozenset[str]:
        """Names of the checks that are switched off."""
        return frozenset(name for name, c in self.checks.items() if not c.enabled)


def as_data(config: Config) -> dict[str, Any]:
    """The configuration as plain data, for display and for keys of proofs."""
    data: dict[str, Any] = msgspec.to_builtins(config)
    return data
