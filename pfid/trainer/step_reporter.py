"""Reports every optimizer step of a training program to pfid, exactly and from inside.

    reporter = StepReporter()
    for batch in loader:
        with reporter.step(tokens=batch.numel(), real_tokens=int(mask.sum())) as step:
            loss = train_on(batch)
            step.loss = float(loss)

or, after each step, ``reporter.report(tokens=...)``. Outside of ``pfid run`` it does nothing.

Both clocks are told: ``seconds`` from the end of one step to the end of the next, in which waiting
for data, an evaluation or a save is contained, and ``inside_s`` from a step's begin to its end.
Nothing here raises into a training, and nothing synchronises with a device.
"""

import os
import sys
import time
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, Callable, List, Mapping, Optional

from .accounting import Accounting
from .dynamo_counters import DynamoCounters
from .json_text import json_line
from .run_folder import REPORTED, rank_of, run_folder, steps_file
from .step_file import StepFile

PHASES = frozenset({"compile", "train", "eval", "checkpoint", "save", "resume_skip"})
_now = time.perf_counter


class Step:
    """One step while it lasts; what is set on it before it ends is reported with it.

    Attributes:
        tokens: of the step's batch on this rank, padding included.
        real_tokens: those of them that are no padding.
        width: padded width of the batch.
        loss: a number. A tensor is not read, because that would wait for the device.
        index: the program's own step counter after this step; counted up where it is not said.
    """

    __slots__ = ("_began_s", "_reporter", "index", "loss", "real_tokens", "tokens", "width")

    def __init__(self, reporter: "StepReporter") -> None:
        self._reporter = reporter
        self._began_s = 0.0
        self.tokens: Any = None
        self.real_tokens: Any = None
        self.width: Any = None
        self.loss: Any = None
        self.index: Any = None

    def __enter__(self) -> "Step":  # noqa: PYI034 - Self is younger than Python 3.9
        self._began_s = _now()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:  # a step that raised did not happen
            self._reporter._ended(self, self._began_s)  # noqa: SLF001 - one thing in two classes


class StepReporter:
    """Writes one line a step. One a process, used from one thread.

    Args:
        rank: of the process; taken from the environment (``RANK``) if not said.
        accounting: what a token costs, for achieved FLOP/s (pfid.trainer.accounting).
        synchronised: whether the program waits for its device in every step, as reading the loss
            does. If not said: yes, unless this process uses a GPU. Steps of a clock that is not
            are judged many at a time.
        steps_done: where the program's counter stands, for a run that was resumed.
        environ: instead of the process's own.
    """

    def __init__(
        self,
        *,
        rank: Optional[int] = None,
        accounting: Optional[Accounting] = None,
        synchronised: Optional[bool] = None,
        steps_done: int = 0,
        environ: Optional[Mapping[str, str]] = None,
    ) -> None:
        given = os.environ if environ is None else environ
        self.steps_done = steps_done
        self._rank = rank_of(given) if rank is None else rank
        self._folder = run_folder(given)
        self._accounting = accounting
        self._synchronised = synchronised
        self._file: Optional[StepFile] = None
        self._pid = 0
        self._clock = ""
        self._ended_s: Optional[float] = None
        self._phases: List[str] = []
        self._held = ""
        self._dynamo = DynamoCounters()
        self._warned = False
        self._begun_s: Optional[float] = None
        if self._folder is not None:
            _stand_down()

    @property
    def lost(self) -> int:
        """Lines that could not be written (disk full, folder gone)."""
        return 0 if self._file is None else self._file.lost

    def step(self, **said: Any) -> Step:
        """A context around one optimizer step; ``said`` are attributes of ``Step``."""
        return _filled(Step(self), said)

    def begin(self) -> None:
        """A step begins; ``report`` ends it. For loops that no context fits around."""
        if self._begun_s is None:
            self._begun_s = _now()

    def report(self, **said: Any) -> None:
        """One optimizer step has just ended; ``said`` are attributes of ``Step``."""
        began_s, self._begun_s = self._begun_s, None
        self._ended(_filled(Step(self), said), began_s)

    def phase(self, name: str) -> "Pause":
        """A context around something that is no step: an evaluation, a save."""
        return Pause(self, name if _is_phase(name) else "train")

    def enter(self, phase: str) -> None:
        """Say that something else than training begins; ``phase`` does it for a block."""
        self._quietly(self._enter, phase)

    def leave(self) -> None:
        """Say that it is over."""
        self._quietly(self._leave)

    def waits_for_device(self, *, waits: bool) -> None:
        """Say whether every step waits for the device, where that is known only later."""
        if self._synchronised is None:
            self._synchronised = waits or None

    def paused(self, phase: str) -> None:
        """Something else than training happened since the last step: its gap is no step time."""
        if _is_phase(phase):
            self._held = phase

    def _enter(self, phase: str) -> None:
        if self._ready() and _is_phase(phase):
            self._phases.append(phase)
            self._open().note("phase", phase=phase)

    def _leave(self) -> None:
        if self._ready() and self._phases:
            self._held = self._phases.pop()
            self._open().note("phase", phase=self._phases[-1] if self._phases else "train")

    def _ended(self, step: Step, began_s: Optional[float]) -> None:
        now_s = _now()
        if self._folder is not None:
            self._quietly(self._write, step, began_s, now_s)

    def _quietly(self, call: Callable[..., None], *arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception as error:  # noqa: BLE001 - a report must not end a training
            self.give_up(error)

    def give_up(self, error: BaseException) -> None:
        """Report nothing any more, and say why, once."""
        if self._folder is not None:
            self._folder = None
            warn("steps are not reported any more", error)

    def _ready(self) -> bool:
        return self._folder is not None

    def _write(self, step: Step, began_s: Optional[float], now_s: float) -> None:
        file = self._open()
        before_s = began_s if self._ended_s is None else self._ended_s
        self._ended_s = now_s
        index = step.index if is_count(step.index) else self.steps_done + 1
        self.steps_done = index
        more = (
            self._clock
            if began_s is None
            else ',"inside_s":%.4g%s'
            % (
                now_s - began_s,
                self._clock,
            )
        )
        more += self._counts(step)
        held, self._held = self._phases[-1] if self._phases else self._held, ""
        if held:  # the gap that ends here is no step time
            more += ',"phase":"%s"' % held
        changes = self._dynamo.changes()
        if changes is not None:
            more += ',"dynamo":' + json_line(changes).decode().rstrip()
        written = file.step(index, None if before_s is None else now_s - before_s, more)
        if not written and not self._warned:
            self._warned = True
            warn("step reports are lost: " + file.why_lost)

    def _counts(self, step: Step) -> str:
        more = ""
        width = step.width if is_count(step.width) else None
        if is_count(step.tokens):
            more = ',"tokens":%d' % step.tokens
            if self._accounting is not None:
                more += ',"flops":%.6g,"recompute_flops":%.6g' % (
                    self._accounting.flops(step.tokens, width),
                    self._accounting.recomputed(step.tokens, width),
                )
        if is_count(step.real_tokens):
            more += ',"real_tokens":%d' % step.real_tokens
        if width is not None:
            more += ',"width":%d' % width
        if isinstance(step.loss, Real):
            more += ',"loss":%s' % _number(step.loss)
        return more

    def _open(self) -> StepFile:
        file = self._file
        if file is not None and self._pid == os.getpid():
            return file
        self._pid = os.getpid()
        self._ended_s = None
        path = steps_file(self._folder or "", self._rank or 0)
        file = self._file = StepFile(path, self._rank)
        waits = self._synchronised if self._synchronised is not None else not _uses_gpu()
        self._clock = "" if waits else ',"clock":"asynchronous"'
        file.note("reporter")
        if self._accounting is not None:
            file.note(
                "accounting",
                name=self._accounting.name,
                peak_flops_per_s=self._accounting.peak_flops_per_s,
            )
        return file


class Pause:
    """Something that is no step, as a context."""

    __slots__ = ("_name", "_reporter")

    def __init__(self, reporter: StepReporter, name: str) -> None:
        self._reporter = reporter
        self._name = name

    def __enter__(self) -> None:
        self._reporter.enter(self._name)

    def __exit__(self, *_: object) -> None:
        self._reporter.leave()


def _filled(step: Step, said: Mapping[str, Any]) -> Step:
    for name, value in said.items():
        if name in Step.__slots__ and not name.startswith("_"):
            setattr(step, name, value)
    return step


def _is_phase(name: Any) -> bool:
    return isinstance(name, str) and name in PHASES


def is_count(value: Any) -> bool:
    """Whether it is a number of something; a tensor is none, reading it would wait for a device."""
    return isinstance(value, Integral) and int(value) >= 0


def _number(value: Any) -> str:
    shown = "%.8g" % float(value)
    return shown if shown[-1].isdigit() else '"%s"' % shown  # nan and inf are words in JSON


def _uses_gpu() -> bool:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(cuda is not None and cuda.is_initialized())


def _stand_down() -> None:
    """What ``pfid run --instrument`` puts into this process would count every step again.

    Where torch is not loaded yet its hooks come later: the mark tells them, whatever name this
    copy of pfid.trainer has.
    """
    setattr(sys, REPORTED, True)
    hooks = sys.modules.get("_pfid_trainer.torch_hooks")
    if hooks is not None:
        hooks.stand_down()


def warn(text: str, error: Optional[BaseException] = None) -> None:
    """One line on standard error; what cannot be shown of an error is its name."""
    why = "" if error is None else ": " + type(error).__name__
    if error is not None:
        with suppress(Exception):
            why = ": {!r}".format(error)
    with suppress(Exception):  # nobody is left to be told
        sys.stderr.write("pfid: {}{}\n".format(text, why))
