"""The proof of a serving path on disk: what was started, with which model, and how it ended."""

from typing import Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.serving import ServingEnd, Shape
from pfid.wire.text_only import text_only

PROOF_SCHEMA: Final = 1
MAX_BYTES: Final = 1 << 20


class ProvenEngine(msgspec.Struct, frozen=True, kw_only=True):
    """The engine, as far as it can be told again later.

    Attributes:
        name: of its distribution, else of its program.
        said: version by its own answer; "" if it gave none.
        version: of the installed distribution; "" if none is known.
        python: the interpreter that has the distribution; "" if none is known.
        program: what was started, absolute.
        program_sha256: of that file; "" if it could not be read.
    """

    name: str
    said: str = ""
    version: str = ""
    python: str = ""
    program: str = ""
    program_sha256: str = ""

    @property
    def known_as(self) -> str:
        """Its name and version, for people."""
        return f"{self.name} {self.said or self.version}".strip()


class ProvenModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that was served.

    Attributes:
        name: of its folder: for people.
        classes: architecture, as its configuration says.
        config: digest of its configuration, without what names the file or who wrote it.
        tensors: digest of its tensors' names, data types and shapes; "" where no header was read.
    """

    name: str
    classes: tuple[str, ...] = ()
    config: str = ""
    tensors: str = ""


class ServingProof(msgspec.Struct, frozen=True, kw_only=True):
    """One trial.

    Attributes:
        run_id: of the run that it was.
        at_s: when it ended, Unix seconds.
        engine: see there.
        model: see there.
        shape: what was served.
        argv: the command, secrets masked.
        flags: options of it that name a feature.
        end: how it came out.
        error: the engine's own words about that.
        exit_code: of the engine; null if it was taken down or a signal ended it.
        signal: that ended it; null if it was taken down.
        ready_s: from its start to its completion; null if there was none.
        served_name: model or adapter that answered.
        answers: last answer of each place that was asked, as ``GET /health 200``.
        log: its log, absolute.
        log_sha256: of that when it had ended.
        pfid: version that made the proof.
        schema: of this record.
    """

    run_id: str
    at_s: float
    engine: ProvenEngine
    model: ProvenModel
    shape: Shape
    argv: tuple[str, ...]
    flags: tuple[str, ...]
    end: ServingEnd
    error: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    ready_s: float | None = None
    served_name: str = ""
    answers: tuple[str, ...] = ()
    log: str = ""
    log_sha256: str = ""
    pfid: str = ""
    schema: int = PROOF_SCHEMA


def encode_proof(proof: ServingProof) -> bytes:
    """Return JSON for people and programs."""
    try:
        body = msgspec.json.encode(proof)
    except UnicodeEncodeError:
        body = msgspec.json.encode(text_only(msgspec.to_builtins(proof)))
    return msgspec.json.format(body, indent=2) + b"\n"


def decode_proof(body: bytes, place: str) -> ServingProof:
    """Read a proof.

    Raises:
        StateError: naming the file and the place in it.
    """
    try:
        proof = msgspec.json.decode(body, type=ServingProof)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise StateError(f"{place} is no proof of a serving path: {error}") from error
    if proof.schema != PROOF_SCHEMA:
        raise StateError(f"{place} has schema {proof.schema}; this pfid reads {PROOF_SCHEMA}")
    return proof
