"""The user's own step: made by their factory, timed from idle to idle."""

import inspect
import time
from typing import Any, Callable, Dict, Optional, Tuple

from .channel import Refused
from .device import torch_here
from .user_code import call, find

TINY = "tiny"


class Step:
    """One micro-batch of one shape, ready to be run again and again."""

    def __init__(self, run: Callable[[], Any], model: Any, wait: Callable[[], None]) -> None:
        """Keep what the factory made."""
        self.run = run
        self.model = model
        self.wait = wait

    def timed(self) -> Tuple[float, Optional[int]]:
        """Seconds of one run, and the loss targets that it says it had."""
        self.wait()
        began = time.perf_counter()
        said = self.run()
        self.wait()
        took = time.perf_counter() - began
        counted = isinstance(said, int) and not isinstance(said, bool) and said >= 0
        return took, said if counted else None


class Factory:
    """``MODULE:STEP_FACTORY``, or the built-in one."""

    def __init__(self, target: str) -> None:
        """Find it.

        Raises:
            Refused: if there is none, or no torch for the built-in one.
        """
        self.target = target if target != TINY else "the built-in step"
        if target == TINY:
            torch_here()
            from . import tiny_training

            self.function: Callable[..., Any] = tiny_training.step_factory
        else:
            self.function = find(target)

    @property
    def takes_padding(self) -> bool:
        """Whether it can make the same shape with a row that is part padding."""
        try:
            parameters = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False
        return "padding" in parameters

    def step(self, offered: Dict[str, Any], wait: Callable[[], None]) -> Step:
        """Make a step of one shape.

        Raises:
            Refused: if what it returns is no step.
        """
        made = call(self.function, offered, self.target)
        model = None
        if isinstance(made, tuple) and len(made) == 2:
            made, model = made
        if not callable(made):
            kind = type(made).__name__
            raise Refused("no_step", "the factory returned %s, no function" % kind)
        return Step(made, model if model is not None else getattr(made, "model", None), wait)


def own(target: str, name: str) -> str:
    """``MODULE:NAME`` of a function: the built-in one's, for a built-in step."""
    if target != TINY:
        return target
    return __name__.rpartition(".")[0] + ".tiny_training:" + name
