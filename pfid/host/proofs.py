"""Proofs that are kept: keyed to everything they mean, believed for a while, made again on change.

A proof is keyed to the check's source, its limits and cadence, the source of what judges and
proves it (pfid's pure core), the interpreter and the GPU driver. Whatever of it changes, the old
proof is void; so is one that is too old or from the future.
"""

import contextlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

import pfid
from pfid.domain.gate import Gate, GateState
from pfid.spec.check import AnyCheck, Hysteresis

DEFAULT_AGE_S: Final = 7 * 86_400.0
_CORE: Final = ("analysis", "domain", "formats", "policy", "spec")
_DRIVER: Final = Path("/proc/driver/nvidia/version")
_FORMAT: Final = 1


@lru_cache(maxsize=1)
def core_digest() -> str:
    """Return a digest of pfid's pure core as it was when this process began to prove.

    The checks and the gate rest on its functions; what runs here is what was there then.
    """
    return core_digest_now()


def core_digest_now() -> str:
    """Return the digest of pfid's pure core as it lies on disk now."""
    digest = blake2b(pfid.__version__.encode(), digest_size=32)
    root = Path(pfid.__file__).parent
    for folder in _CORE:
        for path in _sources(str(root / folder)):
            with open(path, "rb") as file:  # noqa: PTH123 - hundreds of paths, while READY waits
                digest.update(os.fsencode(path.name) + b"\0" + file.read() + b"\0")
    return digest.hexdigest()


def _sources(folder: str) -> Iterator["os.DirEntry[str]"]:
    """Every source file below a folder, in an order that depends on names alone."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry


def driver_version(file: Path = _DRIVER) -> str:
    """Return what the NVIDIA driver calls itself, "" where there is none."""
    try:
        return file.read_text(errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""


def surroundings(driver: str | None = None, *, on_disk: bool = False) -> str:
    """Return what every proof here rests on: core, interpreter, driver.

    Args:
        driver: what it calls itself; asked if not given.
        on_disk: the core as it lies there now, not as it was loaded; they differ after an upgrade
            under a running daemon.
    """
    known = driver_version() if driver is None else driver
    core = core_digest_now() if on_disk else core_digest()
    parts = (core, platform.python_implementation(), platform.python_version(), known)
    return "\0".join(parts)


class Keyed(Protocol):
    """What a proof is keyed to beside source and surroundings: a check, or its description."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def limits(self) -> object:
        """As configured."""
        ...

    @property
    def hysteresis(self) -> Hysteresis:
        """How its verdicts settle."""
        ...

    @property
    def cadence_s(self) -> float:
        """How often it runs at the most."""
        ...


def proof_key(check: Keyed, source: str, rests_on: str) -> str:
    """Return the key a proof of ``check`` needs today.

    Args:
        check: under its configured limits.
        source: digest of its file.
        rests_on: see :func:`surroundings`.
    """
    limits = json.dumps(msgspec.to_builtins(check.limits), sort_keys=True)
    rule = json.dumps(msgspec.to_builtins(check.hysteresis), sort_keys=True)
    parts = (check.name, source, limits, rule, repr(check.cadence_s), rests_on)
    return sha256("\0".join(parts).encode()).hexdigest()


class ProofBook:
    """Proofs on disk, one file. A file that cannot be read is no proof, and no error."""

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self._path = path
        self._gates = _read(path)

    def recall(self, key: str, now_s: float, max_age_s: float = DEFAULT_AGE_S) -> Gate | None:
        """Return the proof of that key if it is still believed; None otherwise."""
        gate = self._gates.get(key)
        if gate is None or gate.proven_at_s is None or gate.key != key:
            return None
        return gate if 0 <= now_s - gate.proven_at_s < max_age_s else None

    def keep(self, gates: Iterable[Gate]) -> str:
        """Keep the proven ones among these gates, and nothing else.

        Returns:
            Why they could not be written, "" if they were: the proofs hold all the same.
        """
        self._gates = {g.key: g for g in gates if g.state is GateState.PROVEN and g.key}
        try:
            _write(self._path, self._gates)
        except OSError as error:
            return f"proofs cannot be kept: {error.strerror}"
        return ""

    def legs_of(self, gate: Gate) -> Gate:
        """Return a gate that was proven afresh with the legs that were walked for it elsewhere."""
        kept = self._gates.get(gate.key) if gate.state is GateState.PROVEN else None
        if kept is None:
            return gate
        legs = replace(gate.proven_to, live=kept.proven_to.live, alerts=kept.proven_to.alerts)
        return replace(gate, proven_to=legs)


def _read(path: Path) -> dict[str, Gate]:
    try:
        data: Any = msgspec.json.decode(path.read_bytes())
        if data["format"] != _FORMAT:
            return {}
        gates = msgspec.convert(data["gates"], tuple[Gate, ...])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, ValueError):
        return {}
    return {g.key: g for g in gates if g.state is GateState.PROVEN}


def _write(path: Path, gates: Mapping[str, Gate]) -> None:
    """Replace the file whole: a proof cut in half must not be read as one."""
    body = msgspec.json.encode({"format": _FORMAT, "gates": list(gates.values())})
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=".proofs-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(body)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def proven(check: AnyCheck, key: str, prove: Callable[[AnyCheck], Gate], now_s: float) -> Gate:
    """Make the proof now and date it. A gate that is not proven has a key and no date."""
    gate = prove(check)
    at_s = now_s if gate.state is GateState.PROVEN else None
    return replace(gate, key=key, proven_at_s=at_s)
