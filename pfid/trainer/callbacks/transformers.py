"""The Trainer of transformers: ``Trainer(..., callbacks=[TransformersSteps()])``.

Width and tokens are seen in what the model is called with, by a hook before its forward that
changes nothing; where torch compiles the model, outside of what it compiles. Tokens are also known
where ``include_num_input_tokens_seen`` is set: "all" counts padding, "non_padding" real tokens.
"""

import sys
from contextlib import suppress
from types import FrameType
from typing import Any, Callable, Dict, Optional

from ..step_reporter import StepReporter
from .batch import added, measured
from .guarded import guarded


class TransformersSteps:
    """A callback without its base class: what Trainer calls and this does not name does nothing.

    Args:
        reporter: made here if none is given.
    """

    def __init__(self, reporter: Optional[StepReporter] = None) -> None:
        self.reporter = StepReporter() if reporter is None else reporter
        self._phase = ""
        self._tokens_seen = 0
        self._loss: Any = None
        self._said: Dict[str, Any] = {}
        self._unhook: Callable[[], None] = _nothing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(name)

    @guarded
    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        """A resumed run goes through the data it has seen before its first step."""
        self.reporter.steps_done = state.global_step
        self.reporter.waits_for_device(waits=bool(args.logging_nan_inf_filter))
        self._tokens_seen = int(getattr(state, "num_input_tokens_seen", 0))
        if state.global_step:
            self._enter("resume_skip")
        self._unhook()
        self._unhook = _nothing
        with suppress(Exception):  # a report must not end a training
            self._unhook = _hooked(model, args, self._called)

    @guarded
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The model is its owner's again."""
        self._unhook()
        self._unhook = _nothing

    def _called(self, module: Any, given: Any, named: Dict[str, Any]) -> None:
        """The model is called with a micro-batch."""
        if module.training:
            self._said = added(self._said, measured(named or (given[0] if given else None)))

    @guarded
    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The batches of a step have been fetched."""
        self._leave()
        self.reporter.begin()

    @guarded
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """One optimizer step is over; evaluation and save come next."""
        loss, self._loss = self._loss, None
        said, self._said = self._said, {}
        said.update(self._tokens(args, state))
        self.reporter.report(index=state.global_step, loss=loss, **said)
        self._enter_next(control)

    @guarded
    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluation and save may also come here."""
        self._enter_next(control)

    @guarded
    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Also where nobody announced an evaluation."""
        if self._phase != "eval":
            self._enter("eval")

    @guarded
    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """An evaluation is over."""
        self._over("eval")
        if control.should_save:
            self._enter("save")

    @guarded
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint was written."""
        self._over("save")

    @guarded
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """The loss, a mean since the last log, is known only now: the next step tells it."""
        self._loss = (logs or {}).get("loss")

    def _tokens(self, args: Any, state: Any) -> Dict[str, int]:
        """Of this step and rank; the state counts those of all ranks."""
        counted = str(getattr(args, "include_num_input_tokens_seen", "no")).lower()
        name = {"all": "tokens", "true": "tokens", "non_padding": "real_tokens"}.get(counted)
        if name is None:
            return {}
        seen = int(state.num_input_tokens_seen)
        grown, self._tokens_seen = seen - self._tokens_seen, seen
        return {name: grown // max(1, int(args.world_size))} if grown > 0 else {}

    def _enter_next(self, control: Any) -> None:
        if control.should_evaluate:
            self._enter("eval")
        elif control.should_save:
            self._enter("save")

    def _enter(self, phase: str) -> None:
        self._leave()
        self._phase = phase
        self.reporter.enter(phase)

    def _over(self, phase: str) -> None:
        if not self._phase:
            self.reporter.paused(phase)
        self._leave()

    def _leave(self) -> None:
        if self._phase:
            self._phase = ""
            self.reporter.leave()


def _hooked(model: Any, args: Any, called: Callable[..., None]) -> Callable[[], None]:
    """Have a model tell what it is called with; returns what takes that off again.

    Nothing may become part of what torch compiles: a compiled model is asked outside of its graph,
    by the module that wraps it, or before the compiled call where it was compiled in place.
    """
    remove: Callable[[], None] = _nothing

    def quietly(module: Any, given: Any, named: Any) -> None:
        try:
            called(module, given, named)
        except Exception:  # noqa: BLE001 - a report must not end a training
            remove()

    if getattr(model, "_compiled_call_impl", None) is not None:
        remove = _before_compiled(model, quietly)
        return remove
    target = _outermost(model) if getattr(args, "torch_compile", False) else model
    if not hasattr(target, "register_forward_pre_hook"):
        return _nothing
    remove = target.register_forward_pre_hook(quietly, with_kwargs=True).remove
    return remove


def _before_compiled(model: Any, tell: Callable[..., None]) -> Callable[[], None]:
    """``model.compile()`` puts the compiled call into the model, hooks and all: tell before it."""
    compiled = model._compiled_call_impl  # noqa: SLF001 - torch names no other place

    def told(*given: Any, **named: Any) -> Any:
        tell(model, given, named)
        return compiled(*given, **named)

    def remove() -> None:
        if model._compiled_call_impl is told:  # noqa: SLF001 - likewise
            model._compiled_call_impl = compiled  # noqa: SLF001 - likewise

    model._compiled_call_impl = told  # noqa: SLF001 - likewise
    return remove


def _outermost(model: Any) -> Any:
    """What the Trainer that calls this has wrapped around its model; None if that is not known."""
    frame: Optional[FrameType] = sys._getframe(1)  # noqa: SLF001 - a callback is not given its Trainer
    while frame is not None:
        trainer: Any = frame.f_locals.get("self")
        if getattr(trainer, "model", None) is model and hasattr(trainer, "model_wrapped"):
            return trainer.model_wrapped
        frame = frame.f_back
    return None


def _nothing(*_: Any, **__: Any) -> None:
    return None
