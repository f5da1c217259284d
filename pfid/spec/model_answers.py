"""What every check of a model's shapes can say when there are none."""

from collections.abc import Callable, Iterator
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.spec.answers import Answers
from pfid.spec.control import Control
from pfid.spec.fakes_viability import model
from pfid.spec.ports.viability import ModelFacts
from pfid.spec.world import World

MODEL_ANSWERS: Final = {
    "no_model": (Outcome.UNKNOWN, "there is no configuration that describes a text model"),
    "config_unreadable": (Outcome.UNKNOWN, "the model's configuration cannot be read"),
    "index_unreadable": (Outcome.UNKNOWN, "the index of the weights cannot be read"),
    "layers_contradict": (
        Outcome.UNKNOWN,
        "the configuration contradicts itself about its layers",
    ),
    "shapes_missing": (Outcome.UNKNOWN, "the configuration leaves out shapes that decide"),
    "shapes_unknown": (Outcome.UNKNOWN, "layers are of a kind whose shapes are not known"),
    "is_adapter": (Outcome.UNKNOWN, "this is an adapter, not a base model"),
}
"""To be spread into a check's :class:`Answers`: every code is UNKNOWN and names the problem."""
MODEL_REMEDIES: Final = {
    "no_model": "name the model's folder, or its config.json or params.json.",
    "config_unreadable": "mend the file that is named above, or download it again.",
    "index_unreadable": "mend the index that is named above, or download it again.",
    "layers_contradict": "ask whoever made the configuration: as it stands it is of no model.",
    "shapes_missing": "complete the configuration: a training would read it from the same file.",
    "shapes_unknown": "measure one step: what layers of this kind hold is not known here.",
    "is_adapter": "name the base model: an adapter's folder describes no layers.",
}
"""What to do, whichever check says so: none of them is about the file."""
BY_FILES: Final = tuple(code for code in MODEL_ANSWERS if code != "shapes_unknown")


def model_controls(answers: Answers, world: Callable[[ModelFacts], World]) -> Iterator[Control]:
    """One control a problem: ``world`` makes the world of a model with these facts."""
    for code in BY_FILES:
        yield answers.control(code, code, world(model(None, problem=code)))
