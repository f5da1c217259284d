"""Runs a plugin's classifier of refusals in a process of its own, under a deadline."""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from pfid.adapters.bounded_process import ANSWER_FD, BoundedProcess, CannotStartError
from pfid.wire.refusals import Classified, ClassifyOrder

MODULE: Final = "pfid.workers.refusal_classifier"
BYTES_A_STANCE: Final = 16
SPARE_BYTES: Final = 4 * 1024 * 1024


def classify(
    order: ClassifyOrder, *, deadline_s: float, environ: Mapping[str, str] | None = None
) -> Classified:
    """Ask; whatever the plugin does, an answer comes out that names it."""
    with tempfile.TemporaryDirectory(prefix="pfid-classify-") as folder:
        path = Path(folder) / "order.json"
        path.write_bytes(msgspec.json.encode(order))
        argv = (sys.executable, "-P", "-m", MODULE, str(path), str(ANSWER_FD))
        try:
            with BoundedProcess(
                argv,
                os.environ if environ is None else environ,
                deadline_s=deadline_s,
                out_max_bytes=SPARE_BYTES + BYTES_A_STANCE * len(order.asked),
                answers=True,
            ) as process:
                finished = process.finish()
        except CannotStartError as error:
            return Classified(problem="not_started", detail=str(error))
    if finished.hung:
        return Classified(problem="hung", detail=f"it did not answer in {deadline_s:g} s")
    if finished.exit_code != 0 or finished.overflowed:
        return Classified(problem="crashed", detail=finished.last_line()[:300])
    try:
        return msgspec.json.decode(finished.out, type=Classified)
    except msgspec.MsgspecError as error:
        return Classified(problem="rubbish", detail=str(error)[:300])
