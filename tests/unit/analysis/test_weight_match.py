"""Two sets of weights: what is the same under another name, and what is not though it looks so."""

import pytest
from msgspec.structs import replace

from pfid.analysis.weight_match import match
from pfid.domain.weight_identity import TensorPrint


def tensor(what, dtype="BF16", shape=(4, 4)):
    return TensorPrint(dtype=dtype, shape=shape, sample=what, as_bf16=what, as_f16=what)


BASE = {
    "model.embed_tokens.weight": tensor("e"),
    "model.layers.0.self_attn.o_proj.weight": tensor("o"),
    "model.layers.0.mlp.down_proj.weight": tensor("d"),
    "model.layers.0.self_attn.q_proj.weight": tensor("q"),
}


def test_a_tensor_is_found_by_its_content_where_every_name_differs():
    found = match(BASE, {f"t{n}": one for n, one in enumerate(BASE.values())})
    assert (found.same, found.renamed, found.missing) == (4, 4, ())


def test_two_tensors_that_changed_places_differ():
    swapped = BASE | {
        "model.layers.0.self_attn.o_proj.weight": tensor("d"),
        "model.layers.0.mlp.down_proj.weight": tensor("o"),
    }
    found = match(BASE, swapped)
    assert len(found.differing) == 2
    assert found.only_residual_writers


def test_another_matrix_than_a_residual_writer_is_no_abliteration():
    found = match(BASE, BASE | {"model.layers.0.self_attn.q_proj.weight": tensor("x")})
    assert not found.only_residual_writers


def test_buffers_are_no_weights():
    inv = {"model.rotary_emb.inv_freq": tensor("i", "F32")}
    assert match(BASE | inv, BASE).missing == ()


def test_a_copy_counts_once():
    """One tensor of the target is never the answer for two of the base."""
    base = {"a.weight": tensor("same"), "b.weight": tensor("same")}
    found = match(base, {"c.weight": tensor("same")})
    assert found.same == 1
    assert len(found.missing) == 1


@pytest.mark.parametrize(("dtype", "shape"), [("F8_E4M3", (4, 4)), ("U8", (4, 2))])
def test_quantised_weights_are_no_other_weights(dtype, shape):
    packed = {
        n: TensorPrint(dtype=dtype, shape=shape, sample="p") if "layers" in n else one
        for n, one in BASE.items()
    }
    found = match(BASE, packed)
    assert len(found.uncomparable) == 3
    assert found.differing == ()


def test_weights_packed_under_names_of_their_own_are_not_missing():
    name = "model.layers.0.self_attn.q_proj.weight"
    packed = {n: one for n, one in BASE.items() if n != name}
    packed["model.layers.0.self_attn.q_proj.qweight"] = tensor("p", "I32")
    found = match(BASE, packed)
    assert found.missing == ()
    assert found.uncomparable == (name,)


def test_digests_of_every_byte_decide_where_both_are_known():
    name = "model.layers.0.self_attn.q_proj.weight"
    known = BASE | {name: replace(BASE[name], whole="1")}
    seen = BASE | {name: replace(BASE[name], whole="2")}
    assert match(known, seen).differing == ()
    assert match(known, seen, whole=True).differing == (name,)
    assert match(BASE, seen, whole=True).differing == ()


@pytest.mark.parametrize(
    ("further", "left_out"),
    [
        (("model.layers.1.eh_proj.weight", "model.layers.1.mlp.up_proj.weight"), 2),
        (("model.layers.1.self_attn.o_proj.weight",), 0),
        (("mtp.layers.0.mlp.up_proj.weight",), 1),
    ],
)
def test_a_layer_behind_the_others_that_predicts_further_is_left_out_and_a_lost_one_is_missing(
    further, left_out
):
    base = BASE | {name: tensor(name) for name in further}
    found = match(base, BASE)
    assert (found.left_out, len(found.missing)) == (left_out, len(further) - left_out)
