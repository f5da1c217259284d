"""Subjects of the checks before a base model is chosen."""

from dataclasses import dataclass, field
from typing import Final

from pfid.domain.model import ModelShape
from pfid.domain.training_plan import Plan
from pfid.domain.weights import Weights

_ONE_TOKEN: Final = ("update", "recurrent")
"""Words in the names of kernels that serve one token at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the files of a model say.

    Attributes:
        problem: why its shapes are not known: a code, "" where there is none.
        detail: words about that, for the owner alone.
        shape: out of its configuration; None if there is a problem.
        weights: out of its index and shards.
        params: shapes out of ``params.json``, where both files are there.
        notes: contradictions between files, by code.
    """

    problem: str = ""
    detail: str = ""
    shape: ModelShape | None = None
    weights: Weights = field(default_factory=Weights)
    params: ModelShape | None = None
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """What the training interpreter says of fused kernels for the model's class.

    Attributes:
        problem: why it could not be asked, or does not know: a code, "" where there is none.
        detail: words about that.
        transformers: version that is installed.
        needed: kernels that its modelling code looks for, as ``package:function``.
        missing: of them those that cannot be imported, with why.
        boundaries: whether the modelling code hands recurrent functions where documents meet.
    """

    problem: str = ""
    detail: str = ""
    transformers: str = ""
    needed: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    boundaries: bool = False

    @property
    def fused(self) -> bool | None:
        """Whether training has the kernels that scan; None if nobody says.

        A convolution's own changes little, and training never serves one token at a time.
        """
        if self.problem or not self.needed:
            return None
        missing = [name for name, _ in self.missing if not name.startswith("causal_conv1d")]
        return all(any(word in name for word in _ONE_TOKEN) for name in missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeAxis:
    """One axis of a recipe card in words: what it was written for and what the model is.

    Either is "" where it is not known.
    """

    name: str
    card: str
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFacts:
    """A recipe card held beside the model.

    Attributes:
        problem: why it cannot be read: a code, "" where there is none.
        detail: words about that.
        checkpoint: which checkpoint the card says it was written for; "" if it does not.
        axes: each that is compared in words.
        card_parameters: size the card was written for; 0 if it does not say.
        our_parameters: of the model; 0 if nobody knows.
    """

    problem: str = ""
    detail: str = ""
    checkpoint: str = ""
    axes: tuple[RecipeAxis, ...] = ()
    card_parameters: float = 0.0
    our_parameters: float = 0.0


__all__ = ["KernelFacts", "ModelFacts", "Plan", "RecipeAxis", "RecipeFacts"]
