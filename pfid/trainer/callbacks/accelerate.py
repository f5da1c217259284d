"""A loop of accelerate, where not every call of ``optimizer.step()`` is a step."""

from typing import Any, Optional

from ..step_reporter import StepReporter


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
        self._tokens = 0
        self._real_tokens = 0

    def begin(self) -> None:
        """A micro-batch begins; may be left out."""
        self.reporter.begin()

    def report(self, *, tokens: int = 0, real_tokens: int = 0, **said: Any) -> None:
        """``optimizer.step()`` was called; tokens add up over the micro-batches of a step."""
        self._tokens += tokens
        self._real_tokens += real_tokens
        if not self._accelerator.sync_gradients:
            return
        if self._tokens:
            said["tokens"] = self._tokens
        if self._real_tokens:
            said["real_tokens"] = self._real_tokens
        self._tokens = self._real_tokens = 0
        if not self._accelerator.optimizer_step_was_skipped:
            self.reporter.report(**said)
