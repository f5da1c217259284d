"""What a plugin's classifier of refusals is asked, and what it answers."""

import msgspec

from pfid.domain.answer import Stance
from pfid.wire.gpu import PluginPlace


class AskedAnswer(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One answer and its question."""

    prompt: str
    output: str
    language: str | None = None


class ClassifyOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Find the classifier, ask it its own controls and then the answers.

    Attributes:
        name: of the classifier.
        plugins: where it may be.
        asked: answers of both arms, the candidate's first.
    """

    name: str
    plugins: tuple[PluginPlace, ...]
    asked: tuple[AskedAnswer, ...]


class ClassifiedControl(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled answer and what was said of it; None for what is no stance."""

    name: str
    stance: Stance
    got: Stance | None


class Classified(msgspec.Struct, frozen=True, kw_only=True):
    """What it came to.

    Attributes:
        problem: code; "" if every answer has a stance.
        detail: words about that.
        controls: its own.
        stances: of the answers, in their order.
    """

    problem: str = ""
    detail: str = ""
    controls: tuple[ClassifiedControl, ...] = ()
    stances: tuple[Stance, ...] = ()
