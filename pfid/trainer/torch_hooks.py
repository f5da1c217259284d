"""Reports the optimizer steps of a program that knows nothing of pfid, by torch's global hooks.

Nothing here changes what is computed: a hook reads a clock and appends a line. Under
``torch.compile`` a hook becomes part of the traced step, so there it does nothing at all, except
for the optimizers whose graph stock torch breaks itself: for these it calls a function that dynamo
leaves alone, which changes no graph.

Older torch takes the hooks off the stock optimizers itself as soon as a program compiles anything:
their steps are unseen from then on, which is told as of any program whose steps do not come.
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
LetAlone = Callable[[Callable[[], bool], Callable[[Any], Any]], None]
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
    before, after, let_alone = hooks(recorder)
    handles: List[Any] = []

    def came(dynamo: Any) -> None:
        try:
            let_alone(_who_knows(module.torch, dynamo), dynamo.disable)
        except Exception as error:  # noqa: BLE001 - a hook that cannot ask must not be traced
            recorder.give_up(error)

    recorder.leaves_by(lambda: [handle.remove() for handle in handles])
    try:
        handles.append(module.register_optimizer_step_pre_hook(before))
        handles.append(module.register_optimizer_step_post_hook(after))
    except Exception:
        recorder.leave()
        raise
    recorder.attached()
    _attached.append(recorder)
    when_loaded("torch._dynamo", came)


def stand_down() -> None:
    """Leave the counting to a StepReporter, which knows more; two would count every step twice."""
    for recorder in _attached:
        recorder.leave()
    _attached.clear()


def hooks(recorder: StepRecorder) -> Tuple[Hook, Hook, LetAlone]:
    """The two hooks, and what makes dynamo, once it is loaded, let alone what they call.

    All that they need is in their closures: dynamo reads globals only of modules that it finds.
    Nothing compiles before dynamo is loaded: until then nobody is asked, and torch may be half
    imported. Any optimizer of today's torch loads it when it is made, before its first step.
    """
    begin, end = recorder.begin, recorder.end
    untraced = [begin, end]
    is_compiling: Callable[[], bool] = _not_yet

    def _path(kind: Any) -> str:
        return str(kind.__module__ + "." + kind.__name__)

    def let_alone(asked: Callable[[], bool], disable: Callable[[Any], Any]) -> None:
        nonlocal is_compiling
        untraced[:] = [disable(begin), disable(end)]
        is_compiling = asked

    def before(optimizer: Any, _: Any, __: Any) -> None:
        if not is_compiling():
            begin(optimizer)
        elif _path(type(optimizer)) in UNCOMPILED:
            untraced[0](optimizer)

    def after(optimizer: Any, _: Any, __: Any) -> None:
        if not is_compiling():
            end(optimizer)
        elif _path(type(optimizer)) in UNCOMPILED:
            untraced[1](optimizer)

    return before, after, let_alone


def _not_yet() -> bool:
    return False


def _who_knows(torch: Any, dynamo: Any) -> Callable[[], bool]:
    """What tells whether a step is being traced: torch 2.0 to 2.2 have it in dynamo alone.

    It is called once here, outside of any trace: what cannot answer now is not asked in a step.

    Raises:
        Exception: whatever it meets.
    """
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    if asked is None:
        asked = dynamo.is_compiling
    if asked():
        raise RuntimeError("torch says that it compiles while it is imported")
    found: Callable[[], bool] = asked
    return found
