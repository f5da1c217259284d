"""What a probe says to pfid: one JSON object a line, each with its ``event``.

A probe is ``probe(arguments)`` in a module of this folder. It says what it finds and returns; what
it raises becomes its last word. The first line is ``hello``, the last one of:

- ``done``: everything asked for was said
- ``refused``: it cannot be looked at here; ``reason`` is a code that pfid puts into words
- ``out_of_memory``: the device's or the interpreter's memory was not enough
- ``failed``: the user's own code raised; ``type``, ``detail`` and ``where`` say what and where

A probe that ends without one of these has crashed.
"""

import contextlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, List

TEXT_MAX = 500
OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError")
_FD = [1]


class Refused(Exception):  # noqa: N818 - an answer of a probe, not a fault
    """It cannot be looked at here; the first argument is a code, the second a detail."""


def open_on(descriptor: int) -> None:
    """Say everything from now on to this descriptor."""
    _FD[0] = descriptor


def say(event: str, **facts: Any) -> None:
    """Say one line at once; ends the process if nobody listens any more."""
    line = (json.dumps(dict(facts, event=event)) + "\n").encode("ascii")
    try:
        while line:
            line = line[os.write(_FD[0], line) :]
    except BrokenPipeError:
        os._exit(141)  # whoever asked is gone: give the GPU back


def conduct(probe: Callable[[List[str]], None], arguments: List[str]) -> int:
    """Run a probe from ``hello`` to its last word; the exit status says the same."""
    say("hello", python=sys.version.split()[0], executable=sys.executable, pid=os.getpid())
    try:
        probe(arguments)
    except Refused as refused:
        reason, detail = [*refused.args, "", ""][:2]
        _last("refused", reason=str(reason), detail=short(detail))
        return 3
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
        traceback.print_exc()
        event = "out_of_memory" if is_out_of_memory(error) else "failed"
        _last(event, type=type(error).__name__, detail=short(error), where=where(error))
        return 3
    _last("done")
    return 0


def _last(event: str, **facts: Any) -> None:
    """Say the last word once what was printed stands in the file: nobody waits for it after."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the user's code may have closed it, or put its own
            stream.flush()
    say(event, **facts)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was not enough: torch's own class, CUDA's words for it, or Python's."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(kinds & set(OUT_OF_MEMORY)) or "out of memory" in str(error).lower()


def short(text: object) -> str:
    """Return a text in one line of bounded length."""
    return " ".join(str(text).split())[:TEXT_MAX]


def where(error: BaseException) -> str:
    """File and line at which the user's own code was, else where it was raised; "" if unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).resolve().parent
    outside = [f for f in frames if Path(f.filename).resolve().parent != here]
    own = str(Path.cwd()) + os.sep
    inside = [f for f in outside if str(Path(f.filename).resolve()).startswith(own)]
    chosen = (inside or outside or frames)[-1:]
    return f"{chosen[0].filename}:{chosen[0].lineno}" if chosen else ""
