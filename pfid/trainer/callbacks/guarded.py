"""What a training framework calls, guarded: a report must not end a training."""

from functools import wraps
from typing import Any, Callable, Dict

from ..step_reporter import warn
from .batch import added

Hook = Callable[..., None]
UNKNOWN = ("tokens", "real_tokens", "width")
SAID = (*UNKNOWN, "loss", "index")


def guarded(hook: Hook) -> Hook:
    """A method of something with a ``reporter``: what it raises ends the reports, told once."""

    @wraps(hook)
    def call(self: Any, *given: Any, **named: Any) -> None:
        try:
            hook(self, *given, **named)
        except Exception as error:  # noqa: BLE001 - whatever a foreign object's own code raises
            self.reporter.give_up(error)

    return call


class Measure:
    """Asks a user's function what is to be said of a micro-batch.

    Where it raises, the step is reported without: tokens of some of its micro-batches would be
    taken for those of all. It is told once.
    """

    def __init__(self, measure: Callable[[Any], Any]) -> None:
        self._measure = measure
        self._told = False

    def __call__(self, batch: Any) -> Dict[str, Any]:
        """What is said of one micro-batch."""
        try:
            said = dict(self._measure(batch) or {})
            return added({}, {name: said[name] for name in SAID if name in said})
        except Exception as error:  # noqa: BLE001 - as above
            self._tell(error)
            return dict.fromkeys(UNKNOWN)

    def _tell(self, error: BaseException) -> None:
        if not self._told:
            self._told = True
            warn("steps are reported without what is measured of a batch", error)
