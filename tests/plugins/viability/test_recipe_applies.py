"""A difference counts more than a doubt, and every one is named."""

from pfid_plugins.viability.recipe_applies import Limits, judge, observe

from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.viability import RecipeAxis, RecipeFacts


def said(**facts):
    return judge(observe(model_world(recipe=RecipeFacts(**facts))), Limits())


def test_a_difference_is_told_though_another_axis_is_unknown():
    axes = (
        RecipeAxis(name="architecture", card="dense", ours="moe"),
        RecipeAxis(name="alignment", card="stock", ours=""),
    )
    verdict = said(checkpoint="x", axes=axes, card_parameters=31e9, our_parameters=26e9)
    assert verdict.reason == "axes_differ"
    assert verdict.summary.endswith("architecture, size")
    assert "alignment: card stock, ours ?" in verdict.evidence


def test_the_same_family_is_no_answer():
    """A card that names nothing but a checkpoint of the family says nothing of any axis."""
    assert said(checkpoint="google/gemma-4-31b-it").reason == "axes_unknown"
