"""Weight files as the safetensors library writes them, and links as a download cache lays them."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from pfid.adapters.model_files import POINTER_MAX_BYTES, read_model
from pfid.domain.weights import Weights
from pfid.formats.safetensors import Index
from pfid.formats.weights import weights_of

LAYER = "model.language_model.layers.{}"


def tensors(*names, dtype=np.float16, shape=(8, 4)):
    return {name: np.zeros(shape, dtype=dtype) for name in names}


def look(*paths) -> Weights:
    files = read_model([Path(path) for path in paths])
    assert not files.problems
    return weights_of(files.index, files.shards)


def config(folder):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_headers_tell_every_tensor_and_its_type(tmp_path):
    folder = config(tmp_path / "m")
    save_file(tensors("lm_head.weight", "a"), folder / "model.safetensors")
    save_file(tensors("b", dtype=np.float32), folder / "model-2.safetensors")
    seen = look(folder)
    assert seen.source == "headers"
    assert (seen.parameters, seen.size_bytes, seen.tensors) == (96, 256, 3)
    assert dict(seen.by_dtype) == {"F16": 128, "F32": 128}
    assert seen.has_head


def test_of_two_copies_of_the_weights_one_counts(tmp_path):
    folder = config(tmp_path / "m")
    for name in ("model", "consolidated"):
        save_file(tensors("a"), folder / f"{name}.safetensors")
    assert look(folder).parameters == 32


def test_a_link_into_a_cache_is_followed(tmp_path):
    folder = config(tmp_path / "m")
    blob = tmp_path / "blobs-0a"
    save_file(tensors("a"), blob)
    (folder / "model.safetensors").symlink_to("../blobs-0a")
    assert look(folder).parameters == 32


def test_headers_are_believed_over_an_index_and_the_difference_is_told(tmp_path):
    folder = config(tmp_path / "m")
    save_file(tensors("a", "b"), folder / "m.safetensors")
    index = {"metadata": {"total_size": 1000}, "weight_map": {"a": "m.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    seen = look(folder)
    assert seen.size_bytes == 128
    assert {code for code, _ in seen.notes} == {"index_size_differs", "index_names_differ"}


def test_names_tell_towers_further_heads_norms_and_prefix(tmp_path):
    folder = config(tmp_path / "m")
    layer = LAYER.format(0)
    names = (
        f"{layer}.self_attn.q_proj.weight",
        f"{layer}.self_attn.q_norm.weight",
        f"{layer}.input_layernorm.weight",
        f"{layer}.post_attention_layernorm.weight",
        "model.visual.blocks.0.attn.qkv.weight",
        "mtp.layers.0.mlp.up_proj.weight",
    )
    seven = tensors(*names) | tensors("model.visual.patch_embed.proj.weight", shape=(4, 3, 2, 2))
    save_file(seven, folder / "model.safetensors")
    seen = look(folder)
    assert (seen.vision_linears, seen.mtp_tensors, seen.has_head) == (1, 1, False)
    assert seen.tower_modules == (("model.visual.blocks.#.attn.qkv", 1),)
    assert (seen.norms, seen.head_norms) == (2, True)
    assert seen.text_prefix == "model.language_model.layers"


FURTHER = ("eh_proj", "enorm", "hnorm", "shared_head.norm", "shared_head.head")


@pytest.mark.parametrize("own", [FURTHER, ()])
def test_a_layer_behind_the_others_is_a_further_head_by_its_own_names_or_by_its_number(
    tmp_path, own
):
    plain = ("self_attn.q_proj", "input_layernorm", "post_attention_layernorm")
    rest = {0: plain, 1: plain, 2: (*plain, *own)}
    names = [f"model.layers.{n}.{name}.weight" for n, of in rest.items() for name in of]
    index = Index(shards=dict.fromkeys(names, "m"), total_bytes=None, total_parameters=None)
    seen = weights_of(index, (), 0 if own else 2)
    assert seen.mtp_tensors == 3 + len(own)
    assert seen.norms == 2  # those of the head are of no decoder layer
    assert weights_of(index, ()).mtp_tensors == (8 if own else 0)


def test_fused_experts_are_counted(tmp_path):
    folder = config(tmp_path / "m")
    expert = tensors("model.layers.0.mlp.experts.gate_up_proj", shape=(4, 8, 2))
    save_file(expert, folder / "model.safetensors")
    assert look(folder).fused_experts == 128


@pytest.mark.parametrize("keep", [0, 3, 8, 40])
def test_a_file_cut_off_anywhere_is_broken_and_never_empty(tmp_path, keep):
    folder = config(tmp_path / "m")
    path = folder / "model.safetensors"
    save_file(tensors("a", "b"), path)
    path.write_bytes(path.read_bytes()[:keep])
    seen = look(folder)
    assert (seen.source, len(seen.broken)) == ("", 1)


def test_data_that_is_cut_off_behind_a_whole_header_is_noticed(tmp_path):
    folder = config(tmp_path / "m")
    path = folder / "model.safetensors"
    save_file(tensors("a", "b"), path)
    path.write_bytes(path.read_bytes()[:-1])
    assert "lie behind it" in look(folder).broken[0]


def test_a_page_of_an_error_saved_as_weights_is_broken_and_not_read_as_a_length(tmp_path):
    folder = config(tmp_path / "m")
    page = b"<!DOCTYPE html><title>404</title>" + b" " * POINTER_MAX_BYTES
    (folder / "model.safetensors").write_bytes(page)
    assert "not the length of a header" in look(folder).broken[0]
