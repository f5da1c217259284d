"""What a mask costs and what was not looked at is said beside what is wrong with it."""

from dataclasses import replace

import pytest

from pfid.analysis.mask_cases import FULL, SLIDING, bare, healthy, layer, tensor
from pfid.analysis.mask_structure import FastPath, judge_mask, mask_notes, read_masks
from pfid.domain.masks import MaskCase, MaskKind
from pfid.domain.outcome import Outcome


@pytest.mark.parametrize(
    ("fact", "path"),
    [
        (bare(FULL, MaskCase.NONE, "sdpa"), FastPath.CAUSAL),
        (tensor(FULL, MaskCase.RIGHT_PAD), FastPath.DENSE),
        (tensor(FULL, MaskCase.NONE, "eager"), FastPath.DENSE),
        (bare(FULL, MaskCase.NONE, "flash_attention_2"), FastPath.FLASH),
        (bare(FULL, MaskCase.LEFT_PAD, "flash_attention_2"), FastPath.UNPADDED),
        (tensor(FULL, MaskCase.NONE, "flex_attention", kind=MaskKind.BLOCK), FastPath.BLOCKS),
        (bare(FULL, MaskCase.NONE, "nobody_knows"), FastPath.NONE),
    ],
)
def test_the_path_that_attention_takes_is_named(fact, path):
    assert judge_mask(fact, healthy()).path is path


def test_the_worst_mask_decides_and_another_attention_does_not():
    report = replace(healthy(), flash_window=1_025)
    assert read_masks(report, ("sdpa",)).outcome is Outcome.PASS
    assert read_masks(report).outcome is Outcome.FAIL


def test_nothing_looked_at_is_unknown():
    assert read_masks(healthy(), ("nobody_knows",)).outcome is Outcome.UNKNOWN


def codes(report):
    return {code for code, _ in mask_notes(report)}


def test_the_cliff_at_the_windows_width_is_told_only_where_there_is_one():
    assert "width_cliff" in codes(healthy())
    at = bare(SLIDING, MaskCase.ALL_ONES, "sdpa", width=1_024)
    level = replace(healthy(), cliff=(healthy().cliff[0], at))
    assert "width_cliff" not in codes(level)


@pytest.mark.parametrize(
    ("changed", "causal"),
    [
        ({}, True),
        ({"causal": False}, False),
        ({"not_judged": {SLIDING: "create_bidirectional_sliding_window_mask"}}, False),
        ({"not_judged": {FULL: "create_bidirectional_mask"}}, True),
    ],
)
def test_a_cliff_is_said_to_be_of_plain_causal_attention_only_where_it_is(changed, causal):
    notes = dict(mask_notes(replace(healthy(), **changed)))
    assert ("although it is plain causal;" in notes["width_cliff"]) is causal
    assert "1,023 takes none and keeps the fast path" in notes["width_cliff"]


def test_copied_keys_are_told_only_where_a_mask_makes_the_difference():
    assert "gqa_expanded" in codes(healthy())
    alone = layer(0, FULL, kv_heads=16)
    assert "gqa_expanded" not in codes(replace(healthy(), layers=(alone,)))


def test_what_was_probed_otherwise_or_not_at_all_is_told():
    report = replace(
        healthy(),
        configured={SLIDING: 131_072},
        layers=None,
        layers_why="ValueError: no such class",
        not_judged={"linear_attention": None},
    )
    notes = dict(mask_notes(report))
    assert "1,024 in place of 131,072" in notes["window_scaled"]
    assert "no such class" in notes["layers_unseen"]
    assert "linear_attention" in notes["not_judged"]


@pytest.mark.parametrize(("width", "reason"), [(1_024, "right"), (1_025, "layers_unseen")])
def test_a_keyword_that_cannot_be_told_matters_only_where_rows_are_wider(width, reason):
    fact = bare(SLIDING, MaskCase.NONE, "flash_attention_2", width=width)
    assert judge_mask(fact, replace(healthy(), flash_window=None)).reason == reason


def test_a_flash_attention_that_drops_the_keyword_is_seen_at_every_width():
    fact = bare(SLIDING, MaskCase.NONE, "flash_attention_2", width=512)
    layers = tuple(replace(one, window=None) for one in healthy().layers)
    assert judge_mask(fact, replace(healthy(), layers=layers)).reason == "window_not_passed"
