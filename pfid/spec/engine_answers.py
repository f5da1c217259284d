"""What every check that asks an installed engine can say when it does not answer."""

from collections.abc import Callable, Iterator
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.spec.answers import Answers
from pfid.spec.control import Control
from pfid.spec.fakes_engine import engine
from pfid.spec.ports.engine import EngineFacts
from pfid.spec.python_answers import PYTHON_ANSWERS
from pfid.spec.world import World

ENGINE_ANSWERS: Final = {
    "engine_not_found": (Outcome.UNKNOWN, "the engine is not there"),
    "engine_unreadable": (Outcome.UNKNOWN, "the engine's source cannot be read"),
    "registry_unknown": (
        Outcome.UNKNOWN,
        "the engine's table of architectures is of a shape that is not known here",
    ),
    "class_not_told": (Outcome.UNKNOWN, "the model's configuration names no class to serve it"),
    "architecture_unknown": (Outcome.UNKNOWN, "the engine does not know the model's class"),
    "architecture_dropped": (
        Outcome.UNKNOWN,
        "earlier versions of the engine served the model's class and this one does not",
    ),
    "backend_fallback": (
        Outcome.UNKNOWN,
        "the engine would run another library's modelling code, which decides when it runs",
    ),
    "class_unresolved": (
        Outcome.UNKNOWN,
        "which class serves the model is decided when the engine runs",
    ),
    "plugins_may_replace": (
        Outcome.UNKNOWN,
        "plugins of the engine are installed, which may put another class in place",
    ),
    "engine_contradicts": (
        Outcome.UNKNOWN,
        "the engine's source and the running engine do not say the same",
    ),
    "no_engine": (Outcome.NOT_APPLICABLE, "no engine is named that would serve it: --engine"),
}
"""To be spread into a check's :class:`Answers`."""
_START_IT: Final = (
    "its source does not tell: prove it by starting the engine, `pfid viability prove-serving "
    "--model MODEL -- CMD...`."
)
ENGINE_REMEDIES: Final = {
    **{code: _START_IT for code, (outcome, _) in ENGINE_ANSWERS.items()
       if outcome is Outcome.UNKNOWN},
    "engine_not_found": "name the folder or the interpreter that holds the engine: "
    "`--engine-path`, `--engine-python`.",
    "engine_unreadable": "see that the engine's source is there, whole, and can be read.",
    "class_not_told": "complete `architectures` in the model's configuration.",
}  # fmt: skip
"""What to do, whichever check says so."""
ENGINE_PYTHON_ANSWERS: Final = {
    code: (Outcome.UNKNOWN, sentence.replace("training", "engine's").replace(" in the spec", ""))
    for code, (_, sentence) in PYTHON_ANSWERS.items()
}
"""The same for its interpreter."""


def engine_evidence(facts: EngineFacts) -> tuple[str, ...]:
    """Lines about the engine and the class that serves."""
    order = " < ".join(facts.order[:12])
    said = (facts.detail, order and f"looked up in order: {order}", facts.confirmation)
    return tuple(line for line in said if line)


def engine_controls(
    answers: Answers, world: Callable[[EngineFacts | None], World]
) -> Iterator[Control]:
    """One control a problem: ``world`` makes the world of an engine with these facts."""
    for code in (*ENGINE_ANSWERS, *ENGINE_PYTHON_ANSWERS):
        if code == "no_engine":
            yield answers.control(code, code, world(None))
        elif code == "engine_contradicts":
            yield answers.control(code, code, world(engine(confirmed=False)))
        else:
            yield answers.control(code, code, world(engine(problem=code)))
    yield answers.control("strange", "engine_unreadable", world(engine(problem="no such code")))
