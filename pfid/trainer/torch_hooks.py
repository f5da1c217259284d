"""Reports the optimizer steps of a program that knows nothing of pfid, by torch's global hooks.

Nothing here changes what is computed: a hook reads a clock and appends a line. Under
``torch.compile`` a hook becomes part of the traced step, so there it does nothing at all, except
for the optimizers whose graph stock torch breaks itself: for these it calls a function that dynamo
leaves alone, which changes no graph.
"""

import os
import sys
from typing import Any, Callable, List, Tuple

from .run_folder import REPORTED
from .step_recorder import StepRecorder, recorder_for

UNCOMPILED = frozenset(
    "torch.optim." + name
    for name in (
        *("sgd.SGD", "adam.Adam", "adamw.AdamW", "adagrad.Adagrad", "rmsprop.RMSprop"),
        *("nadam.NAdam", "radam.RAdam", "rprop.Rprop", "asgd.ASGD", "adadelta.Adadelta"),
        *("adamax.Adamax", "lbfgs.LBFGS", "sparse_adam.SparseAdam"),
    )
)
"""Optimizers that dynamo does not compile as a whole (read in torch 2.13). Any other one's compiled
step is left alone and goes unreported: there only an explicit call helps."""

Hook = Callable[[Any, Any, Any], None]
WhenLoaded = Callable[[str, Callable[[Any], None]], None]

_attached: List[StepRecorder] = []


def attach(module: Any, when_loaded: WhenLoaded) -> None:
    """Put the hooks on ``torch.optim.optimizer``, which was just loaded.

    Args:
        module: the module itself: torch deletes the attribute by which it could be found.
        when_loaded: calls back once a module is loaded.
    """
    recorder = recorder_for(os.environ)
    if recorder is None or getattr(sys, REPORTED, False):
        return
    before, after, let_alone = hooks(module.torch, recorder)
    handles = [
        module.register_optimizer_step_pre_hook(before),
        module.register_optimizer_step_post_hook(after),
    ]
    recorder.leaves_by(lambda: [handle.remove() for handle in handles])
    recorder.attached()
    _attached.append(recorder)
    when_loaded("torch._dynamo", lambda dynamo: let_alone(dynamo.disable))


def stand_down() -> None:
    """Leave the counting to a StepReporter, which knows more; two would count every step twice."""
    for recorder in _attached:
        recorder.leave()
    _attached.clear()


def hooks(torch: Any, recorder: StepRecorder) -> Tuple[Hook, Hook, Callable[[Any], None]]:
    """The two hooks, and what makes dynamo let alone what they call.

    All that they need is in their closures: dynamo reads globals only of modules that it finds.
    torch is half imported when this is called; what is used of it is looked up in the hook.
    """
    begin, end = recorder.begin, recorder.end
    untraced = [begin, end]

    def _path(kind: Any) -> str:
        return str(kind.__module__ + "." + kind.__name__)

    def let_alone(disable: Callable[[Any], Any]) -> None:
        # Any optimizer loads dynamo when it is made, so this has happened before its first step.
        untraced[:] = [disable(begin), disable(end)]

    def before(optimizer: Any, _: Any, __: Any) -> None:
        if not torch.compiler.is_compiling():
            begin(optimizer)
        elif _path(type(optimizer)) in UNCOMPILED:
            untraced[0](optimizer)

    def after(optimizer: Any, _: Any, __: Any) -> None:
        if not torch.compiler.is_compiling():
            end(optimizer)
        elif _path(type(optimizer)) in UNCOMPILED:
            untraced[1](optimizer)

    return before, after, let_alone
