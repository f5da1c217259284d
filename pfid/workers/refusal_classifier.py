"""Asks one plugin's classifier of refusals, in a process of its own that ends with the answer.

Its order lies in the file that the command line names; the answer goes to a descriptor of its own,
so that nothing a model library prints can be taken for it.
"""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pluggy

from pfid.domain.answer import LabelledAnswer, Stance
from pfid.spec import hookspecs
from pfid.spec.refusal_classifier import Asked, RefusalClassifier
from pfid.wire.gpu import PluginPlace
from pfid.wire.refusals import AskedAnswer, Classified, ClassifiedControl, ClassifyOrder
from pfid.workers.plugin_collect import load_file

MAX_CLASSIFIERS = 50
BATCH = 64


def classified(order: ClassifyOrder) -> Classified:
    """Find the classifier and ask it."""
    found, problems = _found(order)
    if len(found) != 1:
        detail = "; ".join(problems)[:500]
        return Classified(problem="not_found" if not found else "found_twice", detail=detail)
    (classifier,) = found
    try:
        controls = tuple(classifier.controls)
        _hold(controls)
        known = [Asked(prompt="", output=c.text) for c in controls]
        told = _stances(classifier, known)
        stances = _stances(classifier, list(map(_asked, order.asked)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is named
        return Classified(problem="raised", detail=f"{type(error).__name__}: {error}"[:500])
    pairs = zip(controls, told, strict=True)
    answered = tuple(ClassifiedControl(name=c.name, stance=c.stance, got=got) for c, got in pairs)
    usable = tuple(stance for stance in stances if stance is not None)
    if len(usable) != len(stances):
        return Classified(problem="rubbish", detail="an answer is no stance", controls=answered)
    return Classified(controls=answered, stances=usable)


def _hold(controls: Sequence[object]) -> None:
    for control in controls:
        if not isinstance(control, LabelledAnswer):
            raise TypeError(f"a control is {type(control).__name__}, not a LabelledAnswer")


def _asked(one: AskedAnswer) -> Asked:
    return Asked(prompt=one.prompt, output=one.output, language=one.language)


def _stances(classifier: RefusalClassifier, asked: Sequence[Asked]) -> list[Stance | None]:
    """Ask in batches; a batch of another length than was asked has no usable stance at all."""
    found: list[Stance | None] = []
    for at in range(0, len(asked), BATCH):
        batch = asked[at : at + BATCH]
        told: list[object] = list(classifier.classify(batch))
        if len(told) != len(batch):
            raise ValueError(f"classify() was asked {len(batch)} answers and told {len(told)}")
        found += [one if isinstance(one, Stance) else None for one in told]
    return found


def _found(order: ClassifyOrder) -> tuple[list[RefusalClassifier], list[str]]:
    found: list[RefusalClassifier] = []
    problems: list[str] = []
    for place in order.plugins:
        try:
            found += [c for c in _brought(place) if c.name == order.name]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is named
            problems.append(f"{place.name}: {type(error).__name__}: {error}"[:200])
    return found, problems


def _brought(place: PluginPlace) -> Iterator[RefusalClassifier]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(_load(place), place.name)
    for implementation in manager.hook.pfid_refusal_classifiers.get_hookimpls():
        handed_over: Iterable[object] = implementation.function()  # type: ignore[assignment]
        for number, one in enumerate(handed_over):
            if number >= MAX_CLASSIFIERS:
                raise ValueError(f"more than {MAX_CLASSIFIERS} classifiers")
            if not isinstance(one, RefusalClassifier):
                raise TypeError(f"yields {type(one).__name__}, not a RefusalClassifier")
            yield one


def _load(place: PluginPlace) -> object:
    if place.is_file:
        return load_file(Path(place.place))
    module, _, attribute = place.place.partition(":")
    loaded: object = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def main(order_path: str, answer_fd: int) -> None:
    """Read the order, ask, answer."""
    order = msgspec.json.decode(Path(order_path).read_bytes(), type=ClassifyOrder)
    answer = msgspec.json.encode(classified(order))
    with os.fdopen(answer_fd, "wb") as out:
        out.write(answer)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
