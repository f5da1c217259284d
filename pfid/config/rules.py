"""What a configuration must hold beyond the type and range of each key."""

import math
import re
from collections.abc import Iterator
from typing import Final

from pfid.config.address import parse_address
from pfid.config.model import JSONL_KEYS, Config
from pfid.domain.errors import PfidError
from pfid.domain.names import check_name

_DIALECT_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")
_URL: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/@:?#\[\]]+)(:[0-9]{1,5})?([/?]\S*)?\Z")
_WITH_NAME: Final = re.compile(r"[^/]*//[^/?#]*@")
SOCKET_PATH_MAX_BYTES: Final = 107
PATTERN_MAX_CHARS: Final = 2_000


def problems_across(config: Config) -> tuple[str, ...]:
    """Every problem that needs more than one key's type to be seen, each with its path."""
    return (
        *_addresses(config),
        *_paths(config),
        *_notify(config),
        *_tls(config),
        *_checks(config),
        *_regex(config),
        *_jsonl(config),
    )


def _addresses(config: Config) -> Iterator[str]:
    seen = set()
    for i, text in enumerate(config.page.listen):
        try:
            address = parse_address(text)
        except ValueError as error:
            yield f"page.listen[{i}]: {error}"
            continue
        if address in seen and address.port:
            yield f"page.listen[{i}]: {text!r} stands there twice"
        seen.add(address)


def _paths(config: Config) -> Iterator[str]:
    paths = {
        "daemon.state_directory": config.daemon.state_directory,
        "daemon.socket": config.daemon.socket,
    }
    paths |= {f"plugins.directories[{i}]": p for i, p in enumerate(config.plugins.directories)}
    for where, path in paths.items():
        if "\0" in path:
            yield f"{where}: holds a NUL byte"
        elif path and not path.startswith("/"):
            yield f"{where}: {path!r} is not an absolute path"
    if len(config.daemon.socket.encode()) > SOCKET_PATH_MAX_BYTES:
        yield f"daemon.socket: over {SOCKET_PATH_MAX_BYTES} bytes; Linux takes no longer one"


def _tls(config: Config) -> Iterator[str]:
    tls, where = config.tls_server_config, "tls_server_config"
    for key in ("cert_file", "key_file", "client_ca_file"):
        path = getattr(tls, key)
        if "\0" in path:
            yield f"{where}.{key}: holds a NUL byte"
        elif path and not path.startswith("/"):
            yield f"{where}.{key}: {path!r} is not an absolute path"
    if bool(tls.cert_file) is not bool(tls.key_file):
        yield f"{where}: cert_file and key_file go together"
    asks = tls.client_auth_type != "NoClientCert"
    if asks and not tls.cert_file:
        yield f"{where}.client_auth_type: only TLS asks clients for certificates; set cert_file"
    if asks is not bool(tls.client_ca_file):
        yield f"{where}: client_ca_file goes with a client_auth_type that verifies, and only so"
    if tls.client_allowed_sans and tls.client_auth_type != "RequireAndVerifyClientCert":
        yield f"{where}.client_allowed_sans: needs client_auth_type = 'RequireAndVerifyClientCert'"


def _notify(config: Config) -> Iterator[str]:
    notify = config.notify
    if notify.webhook:
        yield from _webhook(notify.webhook)
    if notify.command and not notify.command[0].startswith("/"):
        yield f"notify.command[0]: {notify.command[0]!r} is not an absolute path"
    if notify.secret_file and not notify.secret_file.startswith("/"):
        yield f"notify.secret_file: {notify.secret_file!r} is not an absolute path"
    if notify.secret_file and not notify.webhook:
        yield "notify.secret_file: without notify.webhook nobody is shown it"


def _webhook(url: str) -> Iterator[str]:
    """A name and password in it would not be sent, and stand in every failure's text."""
    if _WITH_NAME.match(url):
        yield (
            "notify.webhook: a name and password in the URL are not sent; write a token into the"
            " notify.secret_file"
        )
    elif not _URL.match(url):
        yield f"notify.webhook: {url!r} is no http:// or https:// URL"


def _checks(config: Config) -> Iterator[str]:
    for name, options in config.checks.items():
        try:
            check_name(name)
        except ValueError as error:
            yield f"checks.{name}: {error}"
        for key, value in options.limits.items():
            if not math.isfinite(value):
                yield f"checks.{name}.limits.{key}: {value} is not a finite number"


def _regex(config: Config) -> Iterator[str]:
    for name, pattern in config.dialects.regex.items():
        where = f"dialects.regex.{name}"
        if not _DIALECT_NAME.match(name):
            yield f"{where}: a dialect's name matches [a-z][a-z0-9_-]*, at most 40 characters"
        if len(pattern) > PATTERN_MAX_CHARS:
            yield f"{where}: over {PATTERN_MAX_CHARS} characters"
        else:
            yield from _pattern_problems(where, name, pattern)


def _pattern_problems(where: str, name: str, pattern: str) -> Iterator[str]:
    """Ask the dialect itself; its engine is loaded only where somebody has patterns."""
    from pfid.formats.dialects.regex_dialect import RegexDialect

    try:
        RegexDialect(name, pattern)
    except (PfidError, ValueError) as error:
        yield f"{where}: {error}"


def _jsonl(config: Config) -> Iterator[str]:
    for name, keys in config.dialects.jsonl.items():
        where = f"dialects.jsonl.{name}"
        if not _DIALECT_NAME.match(name):
            yield f"{where}: a dialect's name matches [a-z][a-z0-9_-]*, at most 40 characters"
        for meaning in keys:
            if meaning not in JSONL_KEYS:
                yield f"{where}.{meaning}: unknown meaning; known: {', '.join(JSONL_KEYS)}"
        if "step" not in keys:
            yield f"{where}: says no key for `step`, without which no line is a step"
