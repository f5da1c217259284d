"""Counts the steps of every optimizer of this process and writes a line for each."""

import os
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import Any, Callable, Dict, Mapping, Optional

from .dynamo_counters import DynamoCounters
from .json_text import json_line
from .run_folder import rank_of, run_folder, steps_file
from .step_file import StepFile

OPTIMIZERS_MAX = 32
"""More at a time are left out: one optimizer a parameter (in backward) would be as many lines."""
EXACT_STEPS = 10_000
"""So many steps of an optimizer get a line each, however short they are."""
LINE_EVERY_S = 0.01
"""After that at most one line in this time: a file must not grow by gigabytes."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_now = time.perf_counter


class _Counted:
    """One optimizer that steps."""

    __slots__ = ("clock", "held_s", "held_steps", "last_s", "number", "of", "steps")

    def __init__(
        self, optimizer: Any, number: int, clock: str, gone: Callable[[Any], None]
    ) -> None:
        self.of = weakref.ref(optimizer, gone)
        self.number = number
        self.clock = clock
        self.steps = 0
        self.last_s: Optional[float] = None
        self.held_steps = 0
        self.held_s = 0.0


class StepRecorder:
    """What the hooks call. Raises nothing of its own into a step.

    Args:
        folder: of the run.
        environ: of the process.
    """

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ
        self._file: Optional[StepFile] = None
        self._leave: Callable[[], Any] = lambda: None
        self._dynamo = DynamoCounters()
        self._counted: Dict[int, _Counted] = {}
        self._met = 0
        self._local = threading.local()
        self._warned = False
        self._left = False
        os.register_at_fork(after_in_child=self._forked)

    def leaves_by(self, leave: Callable[[], Any]) -> None:
        """How the hooks are taken off again."""
        self._leave = leave

    def attached(self) -> None:
        """Say that this process was seen, before it has stepped; helpers of it say nothing."""
        helpers = sys.modules.get("multiprocessing.process")
        if helpers is None or getattr(helpers, "_parent_process", None) is None:
            self._open().note("attached")

    def _open(self) -> StepFile:
        if self._file is None:
            rank = _rank(self._environ)
            self._file = StepFile(steps_file(self._folder, rank or 0), rank)
        return self._file

    def begin(self, _: Any) -> None:
        """An optimizer begins to step. Arms the report; an inner optimizer's arms it anew."""
        self._local.began_s = _now()

    def end(self, optimizer: Any) -> None:
        """It has stepped: report once, whoever else's hooks run around it."""
        now_s = _now()
        local = self._local
        began_s = getattr(local, "began_s", None)
        if began_s is None or self._left:
            return
        local.began_s = None
        try:
            counted = self._counted.get(id(optimizer))
            if counted is None:  # an id is free for another only once the weak reference told
                counted = self._meet(optimizer)
            if counted is not None:
                self._report(counted, began_s, now_s)
        except Exception as error:
            if not _own(error):
                raise
            self.give_up(error)

    def _report(self, counted: _Counted, began_s: float, now_s: float) -> None:
        last_s, counted.last_s = counted.last_s, now_s
        counted.steps += 1
        seconds = None if last_s is None else now_s - last_s
        interval = 1
        if counted.steps > EXACT_STEPS and seconds is not None:
            counted.held_steps += 1
            counted.held_s += seconds
            if counted.held_s < LINE_EVERY_S:
                return
            interval, seconds = counted.held_steps, counted.held_s
            counted.held_steps, counted.held_s = 0, 0.0
        more = ',"inside_s":%.4g%s' % (now_s - began_s, counted.clock)
        if interval > 1:
            more += ',"interval_steps":%d' % interval
        if counted.number:
            more += ',"opt":%d' % counted.number
        changes = self._dynamo.changes()
        if changes is not None:
            more += ',"dynamo":' + json_line(changes).decode().rstrip()
        file = self._file
        if file is not None and not file.step(counted.steps, seconds, more):
            self._warn("lines are lost: " + file.why_lost)

    def _meet(self, optimizer: Any) -> Optional[_Counted]:
        """Take up an optimizer that steps for the first time."""
        if len(self._counted) >= OPTIMIZERS_MAX:
            return None
        if not self._met:
            self._file = None  # a process group may have been made since this one was attached
        file = self._open()
        key, counted = id(optimizer), self._counted
        kind, parameters, device = _described(optimizer)
        clock = ',"clock":"%s"' % ("reported" if device == "cpu" else "asynchronous")

        def gone(_: Any) -> None:
            counted.pop(key, None)

        new = _Counted(optimizer, self._met, clock, gone)
        self._met += 1
        file.note("optimizer", opt=new.number, kind=kind, parameters=parameters, device=device)
        self._counted[key] = new
        return new

    def leave(self) -> None:
        """Take the hooks off and leave the program to itself, which may have done so already."""
        self._left = True
        with suppress(Exception):
            self._leave()
        self._counted.clear()

    def give_up(self, error: BaseException) -> None:
        """Leave, with one warning."""
        self.leave()
        why = type(error).__name__
        with suppress(Exception):  # an error of the program's own may not even be shown
            why = repr(error)[:200]
        with suppress(Exception):
            self._open().note("given_up", why=why)
        self._warn("steps of this process are not reported any more: " + why)

    def _forked(self) -> None:
        """A child is another process: nothing that it may report goes on from its parent."""
        self._counted = {}
        self._met = 0
        self._file = None
        self._local = threading.local()

    def _warn(self, text: str) -> None:
        if self._warned:
            return
        self._warned = True
        with suppress(Exception):  # nobody is left to be told
            sys.stderr.write("pfid: %s\n" % text)


def recorder_for(environ: Mapping[str, str]) -> Optional[StepRecorder]:
    """The recorder of this process; None outside of a run."""
    folder = run_folder(environ)
    return None if folder is None else StepRecorder(folder, environ)


def _rank(environ: Mapping[str, str]) -> Optional[int]:
    """By the environment, else by a process group that is there already."""
    found = rank_of(environ)
    if found is not None:
        return found
    distributed = sys.modules.get("torch.distributed")
    try:
        return int(distributed.get_rank()) if distributed and distributed.is_initialized() else None
    except Exception:  # noqa: BLE001 - a foreign module, half loaded perhaps
        return None


def _described(optimizer: Any) -> Any:
    """Class, number of parameters and device of an optimizer."""
    kind = type(optimizer)
    name = "%s.%s" % (kind.__module__, kind.__qualname__)
    try:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        other = sorted({p.device.type for p in parameters} - {"cpu", "meta"})
        return name, sum(p.numel() for p in parameters), other[0] if other else "cpu"
    except Exception:  # noqa: BLE001 - a user's own class may raise anything
        return name, None, "unknown"


def _own(error: BaseException) -> bool:
    """Whether this package raised it, not a signal's handler that ran in the middle of it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or trace.tb_frame.f_code.co_filename.startswith(_FOLDER)
