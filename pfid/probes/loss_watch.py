"""Time the user's own loss inside the user's own step: forward, recompute and gradients apart.

The function is replaced, wherever a module holds it, by one that takes the time around it. What is
checkpointed under it runs a second time inside ``backward()``: that is noticed by asking autograd
whether a backward pass is running. Gradients of the loss are the time from the gradient of its
result to the end of the last of its own operations that reads what it was given. Gradients of the
given tensors themselves say less: that of a weight comes once a step, behind all that use it.
"""

import sys
import time
from typing import Any, Callable, Dict, List, Tuple

from .channel import Refused
from .user_code import find

WRAPPED = (staticmethod, classmethod)
"""Compared by type: asking isinstance of everything that modules hold wakes up lazy ones."""


Edge = Tuple[Any, Any]
"""A tensor, and the node that made it; None for a leaf."""


class LossWatch:
    """Seconds of one loss function, step by step."""

    def __init__(self, torch: Any, target: str, wait: Callable[[], None]) -> None:
        """Find the function; nothing is replaced yet."""
        self.torch = torch
        self.target = target
        self.wait = wait
        self.original = find(target)
        self.inside = 0
        self.handles: List[Any] = []
        self.clear()

    def clear(self) -> None:
        """Begin a step; what earlier ones left in a graph that lives on is timed no more."""
        self._unhook()
        self.counted_until = (0.0, 0.0)
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
        self._unhook()
        for owner, name, value in reversed(self.replaced):
            setattr(owner, name, value)

    def _unhook(self) -> None:
        handles, self.handles = self.handles, []
        for handle in handles:
            handle.remove()

    def _watched(self, *args: Any, **kwargs: Any) -> Any:
        """The loss, with the time around it; a recompute may end it in its middle on purpose."""
        if self.inside:
            return self.original(*args, **kwargs)  # it calls itself: that time is counted
        self.calls += 1
        again = in_backward(self.torch)
        given = edges(self.torch, [*args, *kwargs.values()])
        self.inside += 1
        began, behind = self._now(), self.recompute_s
        try:
            result = self.original(*args, **kwargs)
        finally:
            took = self._now() - began - (self.recompute_s - behind)
            self.inside -= 1
            if again:
                self.recompute_s += took
            else:
                self.forward_s += took
        self._watch_gradients(given, result)
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

    def _watch_gradients(self, given: List[Edge], result: Any) -> None:
        """Take the time from the result's gradient to the last of those that read what was given.

        No moment is counted twice, whatever order autograd takes the calls of a step in.
        """
        outputs = [t for t in _tensors(self.torch, result) if t.requires_grad]
        readers = readers_of(given, [t.grad_fn for t in outputs])
        if not readers:
            return
        window: List[Tuple[float, float]] = []

        def begin(gradient: Any) -> Any:
            if not window:
                window.append((self._now(), self.recompute_s))
            return gradient

        def end(*_: Any) -> None:
            if window:
                now = (self._now(), self.recompute_s)
                since = max(window[0], self.counted_until)
                self.gradient_s += max(0.0, now[0] - since[0] - (now[1] - since[1]))
                self.counted_until = now

        self.windows += 1
        self.handles += [one.register_hook(begin) for one in outputs]
        self.handles += [node.register_hook(end) for node in readers]

    def _now(self) -> float:
        self.wait()
        return time.perf_counter()


def edges(torch: Any, given: List[Any]) -> List[Edge]:
    """Where the graph of what is given ends: asked before a call that may write into it."""
    return [(t, t.grad_fn) for t in _tensors(torch, given) if t.requires_grad]


def readers_of(given: List[Edge], results: List[Any]) -> List[Any]:
    """Nodes of autograd's graph that lead from the results straight to what was given."""
    leaves = {id(tensor) for tensor, node in given if node is None}
    inner = {node for _, node in given if node is not None}
    # a set of nodes, not of their ids: a node that nobody holds gives its id to the next one
    seen, waiting = set(inner), [node for node in results if node is not None]
    found: List[Any] = []
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        following = [one for one, _ in node.next_functions if one is not None]
        if any(one in inner or id(getattr(one, "variable", None)) in leaves for one in following):
            found.append(node)
        waiting += following
    return found


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
