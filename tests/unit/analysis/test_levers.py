"""What was measured to be of no use is known again, however a claim writes it."""

import pytest

from pfid.analysis.levers import (
    COMPILE,
    CUDA_GRAPHS,
    FEED,
    FLASH_2,
    FLASH_4,
    FLEX,
    FUSED_LOSS,
    GROUPED_MM,
    LEVERS,
    Negative,
    sifted,
    speaks_of,
)

PLAYBOOK = (
    Negative(key="moe", text="Fused MoE kernel (grouped_mm) as the throughput fix: 0.9% slower"),
    Negative(key="graphs", text="CUDA graphs / torch.compile over the expert loop"),
    Negative(key="ce", text="liger-kernel fused linear CE: a 1-3% lever on this shape"),
    Negative(key="fa4", text="FlashAttention-4 on sm_120: 1.07x over FA2 in one report"),
)


@pytest.mark.parametrize(
    ("negative", "lever"),
    [
        (PLAYBOOK[0], GROUPED_MM),
        (PLAYBOOK[1], CUDA_GRAPHS),
        (PLAYBOOK[2], FUSED_LOSS),
        (PLAYBOOK[3], FLASH_4),
    ],
)
def test_the_playbooks_negatives_are_about_their_levers(negative, lever):
    assert speaks_of(negative, lever)


@pytest.mark.parametrize("text", ["a compiled corpus", "recompile limits", "grouped by topic"])
def test_a_word_that_only_looks_like_one_is_not_it(text):
    assert not any(speaks_of(Negative(key="x", text=text), lever) for lever in LEVERS)


@pytest.mark.parametrize(
    ("text", "levers"),
    [
        ("FlexAttention in place of SDPA: 4% slower", {FLEX}),
        ("flex_attention is slower than flash_attention_2", {FLEX}),
        ("Compared with FA2, FlexAttention is 4% slower", {FLEX}),
        ("Measured twice: FlexAttention, 4% slower", {FLEX}),
        ("FlashAttention-4 on sm_120: 1.07x over FA2 in one report", {FLASH_4}),
        ("FA-4: no gain; FA2 stays", {FLASH_4}),
        ("Flash Attention 2 (versus FlashAttention-4): no gain", {FLASH_2}),
        ("Flex attention against torch.compile", {FLEX}),
        ("CUDAGraphs / torch.compile over the expert loop", {CUDA_GRAPHS, COMPILE}),
        ("GroupedMM: 0.9% slower", {GROUPED_MM}),
        ("DataLoader workers: no gain", {FEED}),
    ],
)
def test_a_claim_is_about_its_subject_however_spelt_and_not_its_comparand(text, levers):
    negative = Negative(key="x", text=text)
    assert {one.key for one in LEVERS if speaks_of(negative, one)} == {one.key for one in levers}


def test_a_comparand_in_a_key_is_none_of_its_subject():
    negative = Negative(key="fa4_over_fa2", text="1.07x")
    assert speaks_of(negative, FLASH_4)
    assert not speaks_of(negative, FLASH_2)


def test_the_key_alone_is_enough():
    assert speaks_of(Negative(key="cuda-graphs", text="no gain"), CUDA_GRAPHS)


def test_levers_are_parted_and_keep_their_order():
    kept, dropped = sifted((FLASH_4, FLASH_2, FUSED_LOSS), PLAYBOOK[2:3])
    assert kept == (FLASH_4, FLASH_2)
    assert [(one.lever, one.negative.key) for one in dropped] == [(FUSED_LOSS, "ce")]


def test_without_a_ledger_nothing_is_dropped():
    assert sifted(LEVERS, ()) == (LEVERS, ())


def test_every_lever_has_a_key_of_its_own():
    assert len({lever.key for lever in LEVERS}) == len(LEVERS)
