"""A plain loop: the batches go through here, and each time the loop comes back a step is over."""

from typing import Any, Callable, Dict, Iterable, Iterator, Optional, TypeVar

from ..step_reporter import StepReporter, is_count
from .batch import added
from .guarded import Measure

Batch = TypeVar("Batch")


def reported(
    batches: Iterable[Batch],
    reporter: Optional[StepReporter] = None,
    *,
    accumulation: int = 1,
    measure: Optional[Callable[[Batch], Dict[str, Any]]] = None,
) -> Iterator[Batch]:
    """Yield the batches, and report a step each time ``accumulation`` of them were worked on.

    Args:
        batches: what the loop goes over, one micro-batch each.
        reporter: made here if none is given.
        accumulation: micro-batches of one optimizer step.
        measure: what is to be said of a micro-batch (``tokens``, ``real_tokens``: these add up
            over a step; ``width``: the widest counts).
    """
    to = StepReporter() if reporter is None else reporter
    ask = None if measure is None else Measure(measure)
    said: Dict[str, Any] = {}
    done = 0
    if not is_count(accumulation) or not accumulation:
        to.give_up(
            ValueError("accumulation={!r} is no number of micro-batches".format(accumulation))
        )
        accumulation = 1
    for batch in batches:
        to.begin()
        if ask is not None:
            said = added(said, ask(batch))
        yield batch
        done += 1
        if done % accumulation == 0:
            to.report(**said)
            said = {}
    if done % accumulation:
        to.report(**said)
