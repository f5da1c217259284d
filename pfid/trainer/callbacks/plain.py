"""A plain loop: the batches go through here, and each time the loop comes back a step is over."""

from typing import Any, Callable, Dict, Iterable, Iterator, Optional, TypeVar

from ..step_reporter import StepReporter

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
    said: Dict[str, Any] = {}
    done = 0
    for batch in batches:
        to.begin()
        if measure is not None:
            _add(said, measure(batch))
        yield batch
        done += 1
        if done % accumulation == 0:
            to.report(**said)
            said = {}
    if done % accumulation:
        to.report(**said)


def _add(said: Dict[str, Any], more: Dict[str, Any]) -> None:
    for name, value in more.items():
        if name in {"tokens", "real_tokens"}:
            said[name] = said.get(name, 0) + value
        elif name == "width":
            said[name] = max(said.get(name, 0), value)
        else:
            said[name] = value
