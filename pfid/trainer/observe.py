"""What a process of the run saw with its own eyes, beside what somebody configured.

A field that records what was asked for is a claim about intent. Its pair is a consequence, seen
where it can fail: the template that the tokenizer in the *worker* rendered, not the file that the
parent had just assigned to it (playbook section 4.4).

Both are lines of ``observations.jsonl`` in the run's folder (``PFID_RUN_DIR``), appended whole by
any process of the run, one JSON object a line:

======== ==========================================================================
key      what it is about, dotted: ``template.sha256``, ``tokens.loss``, ``adapter.norm``
value    any JSON value; a number that is not finite is written as its name (``"nan"``)
pid      of the process that wrote the line, as it sees itself
started  its start in clock ticks since boot, so that a reused pid is another process; or null
at_s     wall time, Unix seconds
kind     ``configured`` (who wrote the line assigned the value) or ``observed``
rank     of the process, null where nobody says
======== ==========================================================================

``pfid.formats.observations`` reads them and pairs them up: an observation by the very process
that configured the value compares a value to itself, and is refused as a pair.

Nothing here raises into a training. Standard library only.
"""

import os
import time
from typing import Any, Dict, Optional

from .json_text import json_line
from .line_file import LineFile
from .run_folder import observations_file, rank_of, run_folder

MAX_LINE_BYTES = 64 * 1024
"""A longer value is not written: record its digest."""

_files: Dict[str, LineFile] = {}


def configured(key: str, value: Any) -> bool:
    """Say that this process assigned ``value``; False if it could not be written."""
    return _write("configured", key, value)


def observe(key: str, value: Any) -> bool:
    """Say that this process found ``value``; False if it could not be written."""
    return _write("observed", key, value)


def _write(kind: str, key: str, value: Any) -> bool:
    try:
        folder = run_folder(os.environ)
        if folder is None:
            return False
        line = json_line(_entry(kind, key, value))
        return len(line) <= MAX_LINE_BYTES and _file(folder).append(line)
    except Exception:  # noqa: BLE001 - whatever a value's own code raises must not end a training
        return False


def _file(folder: str) -> LineFile:
    path = observations_file(folder)
    return _files.setdefault(path, LineFile(path))


def _entry(kind: str, key: str, value: Any) -> Dict[str, Any]:
    return {
        "key": str(key),
        "value": value,
        "pid": os.getpid(),
        "started": start_ticks(),
        "at_s": round(time.time(), 3),
        "kind": kind,
        "rank": rank_of(os.environ),
    }


def start_ticks() -> Optional[int]:
    """When this process started, clock ticks since boot; None where the kernel does not say."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
