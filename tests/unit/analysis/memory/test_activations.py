"""What a layer keeps follows from what its operations save."""

from dataclasses import replace

import pytest

from pfid.analysis.memory.account import account
from pfid.analysis.memory.activations import layer_bytes
from pfid.domain.model import Attention, Mixer
from pfid.domain.training_plan import AttentionKind, Method, Packing
from pfid.domain.weights import Weights
from pfid.spec.fakes_viability import DELTA_LAYER, DENSE, DENSE_LAYER, GIB, ON_DISK, PLAN

FULL = replace(PLAN, method=Method.FULL)
SCORES = 32 * 4096 * 4096
"""Heads, queries and keys of one row."""


def kept(layer, shape=DENSE, plan=FULL):
    return layer_bytes(layer, shape, plan).kept


def attending(**changed):
    return replace(DENSE_LAYER, attention=replace(DENSE_LAYER.attention, **changed))


@pytest.mark.parametrize(
    ("changed", "bytes_each"),
    [({"sinks": True}, 2), ({"capped": True}, 8), ({"unfused": True}, 6), ({}, 0)],
)
def test_what_scaled_dot_product_attention_cannot_carry_keeps_its_scores(changed, bytes_each):
    repeated = 2 * (32 - 8) * 2 * 128 * 4096 if changed else 0  # no eager code groups queries
    more = kept(attending(**changed)).low - kept(DENSE_LAYER).low
    assert more == bytes_each * SCORES + repeated


def test_a_mask_repeats_keys_and_values_and_is_kept_by_every_layer():
    masked, plain = (kept(DENSE_LAYER, plan=replace(FULL, padded=told)) for told in (True, False))
    repeated, bias = (32 - 8) * 2 * 128, 4096
    assert masked.low - plain.low == masked.high - plain.high == 2 * (repeated + bias) * 4096


@pytest.mark.parametrize(
    ("rows", "padded", "packing", "masked"),
    [
        (1, None, Packing.NONE, False),
        (2, None, Packing.NONE, True),
        (2, False, Packing.NONE, False),
        (2, True, Packing.PLAIN, False),
        (1, None, Packing.BOUNDARIES, True),
    ],
)
def test_rows_bring_a_mask_where_they_are_padded_or_tell_boundaries(rows, padded, packing, masked):
    assert replace(PLAN, micro_batch=rows, padded=padded, packing=packing).masked is masked


def test_flash_attention_carries_a_cap():
    plan = replace(FULL, attention=AttentionKind.FLASH)
    assert kept(attending(capped=True), plan=plan) == kept(DENSE_LAYER, plan=plan)


def test_an_activation_in_python_keeps_each_of_its_operations():
    layer = replace(DENSE_LAYER, feed=replace(DENSE_LAYER.feed, written_out=3))
    assert kept(layer).low - kept(DENSE_LAYER).low == 3 * 2 * 14336 * 4096


def test_a_norm_that_is_one_operation_keeps_no_float32_copy():
    shape = replace(DENSE, norms=2, norms_behind=0)
    single = replace(shape, layer_norms=True)
    assert kept(DENSE_LAYER, shape).low - kept(DENSE_LAYER, single).low == 2 * 4 * 4096 * 4096


@pytest.mark.parametrize("norms", [None, 1, 2, 4])
@pytest.mark.parametrize("mixer", [Mixer.FULL, Mixer.DELTA, Mixer.CONV])
@pytest.mark.parametrize("method", list(Method))
def test_the_least_is_never_more_than_the_most(norms, mixer, method):
    layer = DENSE_LAYER if mixer is Mixer.FULL else replace(DELTA_LAYER, mixer=mixer)
    found = layer_bytes(layer, replace(DENSE, norms=norms), replace(PLAN, method=method))
    for size in (found.kept, found.beside, found.workspace):
        assert 0 <= size.low <= size.high


def test_sinks_that_only_tensors_name_are_seen():
    plain = account(DENSE, ON_DISK, PLAN).peak
    sinks = account(DENSE, replace(ON_DISK, sinks=True), PLAN).peak
    assert sinks.whole.low > plain.whole.low + GIB


def test_sizes_untold_leave_no_peak():
    assert account(replace(DENSE, untold="streams"), Weights(), PLAN).peak is None


def test_short_convolutions_keep_less_than_a_state():
    conv = replace(DELTA_LAYER, mixer=Mixer.CONV)
    assert kept(conv).high < kept(DELTA_LAYER).high


def test_latent_heads_are_counted_as_they_are_seen():
    heads = Attention(heads=16, kv_heads=16, head_dim=96, value_dim=64)
    wide = replace(DENSE_LAYER, attention=replace(heads, value_dim=96))
    assert kept(replace(DENSE_LAYER, attention=heads)).low < kept(wide).low


def test_more_keys_than_queries_turn_no_bounds_round():
    shape = replace(DENSE, hidden=64, norms=2, norms_behind=0, head_norms=False)
    found = kept(attending(heads=2, kv_heads=32), shape)
    assert found.low <= found.high


def test_what_is_dropped_at_random_keeps_a_byte_that_says_so():
    assert kept(DENSE_LAYER, replace(DENSE, dropped=True)).low - kept(DENSE_LAYER).low == (
        2 * 4096 * 4096
    )
    eager = {"plan": replace(FULL, attention=AttentionKind.EAGER)}
    more = kept(attending(dropped=True), **eager).low - kept(DENSE_LAYER, **eager).low
    assert more == 3 * SCORES


def test_an_activation_whose_gradient_follows_from_its_result_keeps_that_alone():
    plain = replace(DENSE_LAYER, feed=replace(DENSE_LAYER.feed, gated=False))
    layer = replace(plain, feed=replace(plain.feed, keeps_result=True))
    assert kept(plain).low - kept(layer).low == 2 * 14336 * 4096


def test_experts_that_all_compute_keep_as_if_all_were_chosen():
    feed = replace(DENSE_LAYER.feed, dense=0, experts=8, top_k=2, expert=1024)
    chosen, every = (
        kept(replace(DENSE_LAYER, feed=replace(feed, every=told))) for told in (False, True)
    )
    everyone = kept(replace(DENSE_LAYER, feed=replace(feed, top_k=8)))
    assert chosen.low < every.low == everyone.low


def test_a_class_without_other_code_keeps_its_scores_whatever_is_asked_for():
    flash = replace(FULL, attention=AttentionKind.FLASH)
    plain = replace(FULL, attention=AttentionKind.EAGER)
    assert kept(attending(eager=True), plan=flash).low >= 6 * SCORES
    assert kept(attending(eager=True), plan=plain) == kept(DENSE_LAYER, plan=plain)
    rounded = kept(attending(eager=True, rounded=True), plan=plain)
    assert kept(DENSE_LAYER, plan=plain).low - rounded.low == 4 * SCORES


def test_a_type_that_nobody_held_keeps_between_half_and_as_much_as_eager_code_and_a_half():
    eager = kept(DENSE_LAYER, plan=replace(FULL, attention=AttentionKind.EAGER))
    wide, plain = kept(DENSE_LAYER, replace(DENSE, held=False)), kept(DENSE_LAYER)
    assert (wide.low, wide.high) == (0.5 * plain.low, 1.5 * eager.high)
    long = replace(FULL, checkpointing=False)
    known = kept(DENSE_LAYER, plan=long)
    assert (known.low, known.high) == (0.91 * plain.low, plain.high)


def test_one_product_of_all_experts_has_fewer_gradients_beside_it_than_gathered_ones():
    feed = replace(DENSE_LAYER.feed, dense=0, experts=16, top_k=16, expert=8192)
    gathered, every = (
        layer_bytes(replace(DENSE_LAYER, feed=replace(feed, every=told)), DENSE, FULL).beside
        for told in (False, True)
    )
    own = 16 * 2 * 4096  # experts, width, tokens
    assert every.high < gathered.high
    assert every.high >= own * (2 * 4096 + 2.5 * 8192)
    assert every.low < gathered.low
