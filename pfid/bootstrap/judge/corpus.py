"""The corpus that rates are quoted for, by the digest of its content as it is now."""

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path

from pfid.adapters.content_digest import Declared, digest_all
from pfid.domain.provenance import FileRole
from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.result_gates.rate_bound_to_corpus import RateGate


def corpus_facts(
    gate: RateGate | None, folder: Path, told: Callable[[str], None]
) -> CorpusFacts | None:
    """Digest it; None where the spec quotes no rates.

    Args:
        gate: of the spec.
        folder: of the spec; a relative path begins there.
        told: how far it is, every two seconds.
    """
    if gate is None:
        return None
    path = folder / os.path.expanduser(gate.corpus)  # noqa: PTH111 - before it is joined
    today = dt.datetime.now(dt.UTC).date().isoformat()
    (found,) = digest_all([Declared(role=FileRole.DATASET, path=str(path))], told)
    if found.problem is not None or found.sha256 is None:
        why = f"{path}: {found.problem or 'has no digest'}"
        return CorpusFacts(problem="corpus_unreadable", detail=why, today=today)
    return CorpusFacts(sha256=found.sha256, size_bytes=found.size_bytes or 0, today=today)
