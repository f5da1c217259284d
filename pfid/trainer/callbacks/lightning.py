"""Lightning: ``Trainer(callbacks=[lightning_steps()])``."""

import sys
from importlib import import_module
from typing import Any, Optional

from ..step_reporter import StepReporter


def lightning_steps(reporter: Optional[StepReporter] = None) -> Any:
    """A callback for the Lightning that this program uses.

    Args:
        reporter: made here if none is given.

    Raises:
        ImportError: where neither ``lightning`` nor ``pytorch_lightning`` is installed.
    """
    name = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
    if "lightning" in sys.modules:
        name = "lightning.pytorch"
    try:
        base = import_module(name).Callback
    except ModuleNotFoundError:
        base = import_module("pytorch_lightning").Callback
    return type("LightningSteps", (_Steps, base), {})(
        StepReporter() if reporter is None else reporter
    )


class _Steps:
    """The hooks. ``global_step`` tells an optimizer step from a batch that only accumulates."""

    def __init__(self, reporter: StepReporter) -> None:
        self.reporter = reporter
        self._done = 0

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """A resumed run begins further on."""
        self._done = self.reporter.steps_done = trainer.global_step

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
        """The first batch of a step begins it."""
        self.reporter.begin()

    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        """Report if the optimizer has stepped."""
        if trainer.global_step != self._done:
            self._done = trainer.global_step
            self.reporter.report(index=self._done)

    def on_validation_start(self, trainer: Any, module: Any) -> None:
        """An evaluation is no step."""
        self.reporter.enter("eval")

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        """It is over."""
        self.reporter.leave()

    def on_save_checkpoint(self, trainer: Any, module: Any, checkpoint: Any) -> None:
        """A checkpoint is written in the gap before the next step."""
        self.reporter.paused("save")
