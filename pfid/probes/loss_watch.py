"""Time the user's own loss inside the user's own step: forward, recompute and gradients apart.

The function is replaced, wherever a module holds it, by one that takes the time around it. What is
checkpointed under it runs a second time inside ``backward()``: that is noticed by asking autograd
whether a backward pass is running. Gradients of the loss are the time from the gradient of its
result to the gradient of what it was given.
"""

import sys
import time
from typing import Any, Callable, Dict, List, Optional

from .channel import Refused
from .user_code import find

WRAPPED = (staticmethod, classmethod)
"""Compared by type: asking isinstance of everything that modules hold wakes up lazy ones."""


class LossWatch:
    """Seconds of one loss function, step by step."""

    def __init__(self, torch: Any, target: str, wait: Callable[[], None]) -> None:
        """Find the function; nothing is replaced yet."""
        self.torch = torch
        self.target = target
        self.wait = wait
        self.original = find(target)
        self.inside = 0
        self.clear()

    def clear(self) -> None:
        """Begin a step."""
        self.calls = 0
        self.forward_s = 0.0
        self.recompute_s = 0.0
        self.gradient_s = 0.0
        self.windows = 0

    def told(self) -> Dict[str, Any]:
        """What the step since ``clear`` spent in the loss.

        Raises:
            Refused: if the step never called it.
        """
        if not self.calls:
            raise Refused("loss_not_called", "the step never called %s" % self.target)
        return {
            "calls": self.calls,
            "forward_s": self.forward_s,
            "recompute_s": self.recompute_s,
            "gradient_s": self.gradient_s if self.windows else None,
        }

    def __enter__(self) -> "LossWatch":  # noqa: PYI034 - Self came with Python 3.11
        from torch.utils import checkpoint

        self.checkpoint = checkpoint.checkpoint

        # functions, not methods of ours: what lives in a class must bind to its own object
        def watched(*args: Any, **kwargs: Any) -> Any:
            return self._watched(*args, **kwargs)

        def checkpointed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            return self._checkpointed(function, *args, **kwargs)

        self.replaced = [
            *replace_everywhere(self.original, watched, self.target),
            *replace_everywhere(self.checkpoint, checkpointed, ""),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, value in reversed(self.replaced):
            setattr(owner, name, value)

    def _watched(self, *args: Any, **kwargs: Any) -> Any:
        """The loss, with the time around it; a recompute may end it in its middle on purpose."""
        self.calls += 1
        again = in_backward(self.torch)
        self.inside += 1
        began = self._now()
        try:
            result = self.original(*args, **kwargs)
        finally:
            took = self._now() - began
            self.inside -= 1
            if again:
                self.recompute_s += took
            else:
                self.forward_s += took
        self._watch_gradients([*args, *kwargs.values()], result)
        return result

    def _checkpointed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Checkpoint as torch does; what it runs again for the loss is timed."""
        if not self.inside or in_backward(self.torch):
            return self.checkpoint(function, *args, **kwargs)

        def timed(*inner: Any, **more: Any) -> Any:
            if not in_backward(self.torch):
                return function(*inner, **more)
            began = self._now()
            try:
                return function(*inner, **more)
            finally:
                self.recompute_s += self._now() - began

        return self.checkpoint(timed, *args, **kwargs)

    def _watch_gradients(self, given: List[Any], result: Any) -> None:
        """Take the time from the result's gradient to the last one of what was given."""
        torch = self.torch
        outputs = [t for t in _tensors(torch, result) if t.requires_grad]
        inputs = [t for t in _tensors(torch, given) if t.requires_grad]
        if not outputs or not inputs:
            return
        window: Dict[str, Optional[float]] = {"began": None, "taken": 0.0, "again": 0.0}

        def begin(gradient: Any) -> Any:
            if window["began"] is None:
                window["began"] = self._now()
                window["again"] = self.recompute_s
            return gradient

        def end(gradient: Any) -> Any:
            if window["began"] is not None:
                whole = self._now() - window["began"]
                alone = max(0.0, whole - (self.recompute_s - float(window["again"] or 0.0)))
                self.gradient_s += alone - float(window["taken"] or 0.0)
                window["taken"] = alone
            return gradient

        self.windows += 1
        for one in outputs:
            one.register_hook(begin)
        for one in inputs:
            one.register_hook(end)

    def _now(self) -> float:
        self.wait()
        return time.perf_counter()


def in_backward(torch: Any) -> bool:
    """Whether autograd is running a backward pass in this thread."""
    inner = getattr(torch, "_C")  # noqa: B009 - private there
    current = getattr(inner, "_current_graph_task_id", None)
    return current is not None and current() != -1


def replace_everywhere(original: Any, new: Any, target: str) -> List[Any]:
    """Put a function in the place of another wherever a module or its class holds it."""
    done: List[Any] = []
    owners = [
        m for m in list(sys.modules.values()) if isinstance(getattr(m, "__dict__", None), dict)
    ]
    module_name, _, path = target.partition(":")
    if "." in path:
        owner = sys.modules[module_name]
        for name in path.split(".")[:-1]:
            owner = getattr(owner, name)
        owners.append(owner)
    for owner in owners:
        for name, value in list(vars(owner).items()):
            if value is original:
                done.append((owner, name, value))
                setattr(owner, name, new)
            elif type(value) in WRAPPED and value.__func__ is original:
                done.append((owner, name, value))
                setattr(owner, name, type(value)(new))
    return done


def _tensors(torch: Any, value: Any) -> List[Any]:
    """Tensors in a value, also in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(torch, item)]
    return []
