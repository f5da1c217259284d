"""Lightning: ``Trainer(callbacks=[lightning_steps()])``.

Tokens and width are known of batches with ``input_ids``; of any other say how to ``measure`` them.
The loss is told where reading it waits for no device.
"""

import sys
from importlib import import_module
from typing import Any, Callable, Dict, Optional

from ..step_reporter import StepReporter
from .batch import added, loss_of, measured
from .guarded import Measure, guarded


def lightning_steps(
    reporter: Optional[StepReporter] = None,
    *,
    measure: Callable[[Any], Dict[str, int]] = measured,
) -> Any:
    """A callback for the Lightning that this program uses.

    Args:
        reporter: made here if none is given.
        measure: what is to be said of a micro-batch (``tokens``, ``real_tokens``: these add up
            over a step; ``width``: the widest counts).

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
        StepReporter() if reporter is None else reporter, measure
    )


class _Steps:
    """The hooks. ``global_step`` tells an optimizer step from a batch that only accumulates."""

    def __init__(
        self, reporter: StepReporter, measure: Callable[[Any], Dict[str, int]] = measured
    ) -> None:
        self.reporter = reporter
        self._measure = Measure(measure)
        self._done = 0
        self._said: Dict[str, Any] = {}

    @guarded
    def on_train_start(self, trainer: Any, module: Any) -> None:
        """A resumed run begins further on."""
        self._done = self.reporter.steps_done = trainer.global_step

    @guarded
    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
        """The first batch of a step begins it."""
        self.reporter.begin()

    @guarded
    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        """Report if the optimizer has stepped."""
        self._said = added(self._said, self._measure(batch))
        if trainer.global_step != self._done:
            self._done = trainer.global_step
            said, self._said = self._said, {}
            self.reporter.report(
                **{**said, "index": self._done, "loss": _quietly(loss_of, outputs)}
            )

    @guarded
    def on_validation_start(self, trainer: Any, module: Any) -> None:
        """An evaluation is no step."""
        self.reporter.enter("eval")

    @guarded
    def on_validation_end(self, trainer: Any, module: Any) -> None:
        """It is over."""
        self.reporter.leave()

    @guarded
    def on_save_checkpoint(self, trainer: Any, module: Any, checkpoint: Any) -> None:
        """A checkpoint is written in the gap before the next step."""
        self.reporter.paused("save")


def _quietly(read: Callable[[Any], Any], given: Any) -> Any:
    """What is read of a foreign object; None if it does not let itself be read."""
    try:
        return read(given)
    except Exception:  # noqa: BLE001 - a report must not end a training
        return None
