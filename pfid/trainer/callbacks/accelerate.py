"""A loop of accelerate, where not every call of ``optimizer.step()`` is a step."""

from typing import Any, Dict, Optional

from ..step_reporter import StepReporter
from .batch import added
from .guarded import guarded


class AccelerateSteps:
    """Reports the steps that were steps.

    steps = AccelerateSteps(accelerator)
    for batch in loader:
        with accelerator.accumulate(model):
            ...
            optimizer.step()
            steps.report(tokens=batch.numel())

    Args:
        accelerator: of the loop.
        reporter: made here if none is given.
    """

    def __init__(self, accelerator: Any, reporter: Optional[StepReporter] = None) -> None:
        self.reporter = StepReporter() if reporter is None else reporter
        self._accelerator = accelerator
        self._said: Dict[str, Any] = {}

    def begin(self) -> None:
        """A micro-batch begins; may be left out."""
        self.reporter.begin()

    @guarded
    def report(self, *, tokens: Any = 0, real_tokens: Any = 0, **said: Any) -> None:
        """``optimizer.step()`` was called; tokens add up over the micro-batches of a step."""
        self._said = added(self._said, {"tokens": tokens, "real_tokens": real_tokens})
        if not self._accelerator.sync_gradients:
            return
        told, self._said = self._said, {}
        said.update((name, count) for name, count in told.items() if count)
        if not self._accelerator.optimizer_step_was_skipped:
            self.reporter.report(**said)
