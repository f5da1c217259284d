"""What differs counts more than what cannot be told, and a name counts for nothing."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.merge_target_is_training_base import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.lineage import LineageFacts

SAME = LineageFacts(recorded="launch", tensors=100, same=100, sampled_share=0.02, named="acme/x")


def said(facts):
    return judge(observe(model_world(lineage=facts)), NoLimits())


@pytest.mark.parametrize("doubt", ["regrouped", "uncomparable", "missing"])
def test_one_tensor_that_differs_outweighs_every_doubt(doubt):
    facts = replace(SAME, differing=1, incomplete=("a shard is gone",), **{doubt: 7})
    assert said(facts).reason == "weights_differ"


def test_what_only_an_abliteration_changes_is_said():
    assert said(replace(SAME, differing=3, residual=True)).reason == "differs_as_abliterated"


def test_a_name_is_evidence_and_decides_nothing():
    with_name = said(replace(SAME, recorded=""))
    assert with_name.reason == said(replace(SAME, recorded="", named="")).reason
    assert any("a name alone" in line for line in with_name.evidence)


def test_how_much_was_read_is_part_of_the_sentence():
    assert "2.00% of the bytes" in said(SAME).summary
    assert "every byte" in said(replace(SAME, full=True)).summary


def test_other_tensors_of_the_target_are_shown_and_do_not_decide():
    verdict = said(replace(SAME, extra=4))
    assert verdict.reason == "same_base"
    assert verdict.figures["extra"].value == 4
