"""Proofs that a model was served, and whether the engine they were made with is still the one."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pfid.adapters.model_files import read_model
from pfid.adapters.process_identity import machine_id
from pfid.adapters.proof_files import ProofFiles, file_sha256
from pfid.adapters.python_introspection import PythonIntrospection
from pfid.bootstrap.viability.proven_parts import is_same_model, proven_model
from pfid.config.paths import user_state_dir
from pfid.domain.serving import Shape
from pfid.formats.untrusted import printable
from pfid.spec.ports.served import ServedFacts
from pfid.wire.serving import ProvenEngine, ServingProof

LOOK_S: Final = 30.0
LOOKED_AT_MAX: Final = 5
NOW_MAX_CHARS: Final = 100


class Engines:
    """What is installed now, asked once an interpreter."""

    def __init__(self, environ: Mapping[str, str], named: str = "") -> None:
        """Ask nothing yet.

        Args:
            environ: of the asker.
            named: interpreter that has the engine, if somebody names it; else each proof's own.
        """
        self._environ, self._named = environ, named
        self._known: dict[str, Mapping[str, object] | None] = {}

    def now(self, engine: ProvenEngine) -> tuple[bool | None, str]:
        """Whether it is the proven one, and its version; None where nobody can tell."""
        python = self._named or engine.python
        if python and engine.version:
            version = (self._installed(python) or {}).get(engine.name)
            if not isinstance(version, str):
                return None, ""
            return version == engine.version, printable(version, NOW_MAX_CHARS)
        digest = file_sha256(engine.program) if engine.program_sha256 else ""
        return (digest == engine.program_sha256 if digest else None), ""

    def _installed(self, python: str) -> Mapping[str, object] | None:
        if python not in self._known:
            asked = PythonIntrospection(python, self._environ, str(Path.cwd()), imports=False)
            said = asked.ask("distributions", deadline_s=LOOK_S).said
            found = (said or {}).get("distributions")
            self._known[python] = found if isinstance(found, Mapping) else None
        return self._known[python]


def served_facts(
    paths: Sequence[Path], shape: Shape, environ: Mapping[str, str], named: str = ""
) -> ServedFacts:
    """Look for the newest proof that counts.

    Args:
        paths: a model's folder, or files of it.
        shape: what shall be served.
        environ: of the asker, whose proofs are looked through.
        named: interpreter that has the engine; "" for that of each proof.
    """
    model = proven_model(read_model(paths))
    if model is None:
        return ServedFacts(problem="model_unknown", shape=shape.value)
    proofs, bad = ProofFiles(user_state_dir(environ, machine_id())).all()
    ours = [proof for proof in proofs if is_same_model(proof.model, model)]
    fitting = [proof for proof in ours if proof.shape is shape]
    like = [
        p for p in proofs if p not in ours and model.classes and p.model.classes == model.classes
    ]
    facts = ServedFacts(
        shape=shape.value,
        detail=f"{bad} records of proofs cannot be read" if bad else "",
        found=len(fitting),
        other_shape=len(ours) - len(fitting),
        other_model=len(like),
    )
    return _with_proof(facts, fitting[:LOOKED_AT_MAX], Engines(environ, named))


def _with_proof(
    facts: ServedFacts, proofs: Sequence[ServingProof], engines: Engines
) -> ServedFacts:
    """Of the installed version if there is one, else the newest."""
    if not proofs:
        return facts
    now = [engines.now(proof.engine) for proof in proofs]
    order = (True, None, False)
    place = min(range(len(proofs)), key=lambda n: (order.index(now[n][0]), n))
    proof, (same, version) = proofs[place], now[place]
    digest = file_sha256(proof.log)
    return ServedFacts(
        shape=facts.shape,
        detail=facts.detail,
        found=facts.found,
        other_shape=facts.other_shape,
        other_model=facts.other_model,
        end=proof.end,
        engine=printable(proof.engine.known_as, NOW_MAX_CHARS).replace("/", " "),
        now=version,
        same_engine=same,
        log_changed=bool(digest) and digest != proof.log_sha256,
        log_gone=not digest,
        age_s=time.time() - proof.at_s,
        ready_s=proof.ready_s or 0.0,
        error=tuple(printable(line, 500) for line in proof.error),
    )
