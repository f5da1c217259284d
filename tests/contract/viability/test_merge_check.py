"""``pfid merge-check`` on real safetensors files, written by the package that defines them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors
from click.testing import CliRunner

from pfid.analysis.weight_sample import numbers, rounded
from pfid.cli.entry import main

RNG = np.random.default_rng(7)
LAYERS, WIDE, NARROW, VOCABULARY = 2, 96, 64, 200
ITEM = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def _proofs_are_kept(state, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(state))


def matrix(*shape):
    return (RNG.standard_normal(shape) * 0.02).astype(np.float32)


def base_weights():
    weights = {
        "model.embed_tokens.weight": matrix(VOCABULARY, NARROW),
        "model.norm.weight": np.ones(NARROW, np.float32),
        "lm_head.weight": matrix(VOCABULARY, NARROW),
    }
    for n in range(LAYERS):
        at = f"model.layers.{n}"
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            weights[f"{at}.self_attn.{name}.weight"] = matrix(NARROW, NARROW)
        for name in ("gate_proj", "up_proj"):
            weights[f"{at}.mlp.{name}.weight"] = matrix(WIDE, NARROW)
        weights[f"{at}.mlp.down_proj.weight"] = matrix(NARROW, WIDE)
        weights[f"{at}.input_layernorm.weight"] = np.ones(NARROW, np.float32)
    return weights


BASE = base_weights()
Q = [f"model.layers.{n}.self_attn.q_proj.weight" for n in range(LAYERS)]


def stored(values, dtype):
    values = np.ascontiguousarray(values, np.float32)
    return values.tobytes() if dtype == "F32" else rounded(values, dtype)


def file_of(tensors):
    """Data type, shape and bytes by name, in the package's own format."""
    held = {name: np.frombuffer(data, np.uint8) for name, (_, _, data) in tensors.items()}
    specs = {
        name: safetensors.TensorSpec(
            dtype=dtype, shape=list(shape), data_ptr=held[name].ctypes.data, data_len=len(data)
        )
        for name, (dtype, shape, data) in tensors.items()
    }
    return bytes(safetensors.serialize(specs, None))


def write(folder, weights, dtype="F32", shards=1, kept=None):
    """A checkpoint: one file, or an index and shards."""
    folder.mkdir(exist_ok=True)
    kept = kept or {}
    names = sorted(weights)
    entries = {}
    for name in names:
        kind = kept.get(name, dtype)
        entries[name] = (ITEM[kind], weights[name].shape, stored(weights[name], kind))
    if shards == 1:
        (folder / "model.safetensors").write_bytes(file_of(entries))
        return folder
    placed = {}
    for k in range(shards):
        file = f"model-{k + 1:05}-of-{shards:05}.safetensors"
        mine = {name: entries[name] for name in names[k::shards]}
        (folder / file).write_bytes(file_of(mine))
        placed |= dict.fromkeys(mine, file)
    index = {"metadata": {"total_size": 0}, "weight_map": placed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def adapter(folder, modules=None, zero=(), **config):
    """A LoRA adapter as PEFT saves it, and what each module's product is."""
    folder.mkdir(exist_ok=True)
    modules = [name.removesuffix(".weight") for name in Q] if modules is None else modules
    tensors, deltas = {}, {}
    for module in modules:
        shape = BASE.get(f"{module}.weight", BASE[Q[0]]).shape
        a, b = matrix(4, shape[1]) * 10, matrix(shape[0], 4) * 10
        b *= 0 if module in zero else 1
        tensors[f"base_model.model.{module}.lora_A.weight"] = a
        tensors[f"base_model.model.{module}.lora_B.weight"] = b
        deltas[f"{module}.weight"] = b @ a
    entries = {n: ("float32", t.shape, t.tobytes()) for n, t in tensors.items()}
    (folder / "adapter_model.safetensors").write_bytes(file_of(entries))
    said = {"peft_type": "LORA", "base_model_name_or_path": "acme/base", "lora_alpha": 4, **config}
    (folder / "adapter_config.json").write_text(json.dumps(said))
    return folder, deltas


def run(*arguments, code=None):
    result = CliRunner().invoke(main, ["merge-check", *map(str, arguments)])
    assert code is None or result.exit_code == code, result.output
    return result


def verdicts(*arguments, code=None):
    body = json.loads(run(*arguments, "--json", code=code).stdout)
    assert body["schema"] == 1
    return {v["check"]: v for v in body["verdicts"]}


def lineage(*arguments, code=None):
    return verdicts(*arguments, code=code)["merge_target_is_training_base"]


def changed(*arguments, code=None):
    return verdicts(*arguments, code=code)["targets_changed"]


def count(verdict, name):
    return verdict["figures"][name]["value"]


@pytest.fixture
def made(tmp_path):
    """A base, and an adapter that has it on record."""
    base = write(tmp_path / "base", BASE)
    of, _ = adapter(tmp_path / "adapter")
    run("--record", base, of, code=0)
    return tmp_path, base, of


# Which base


def test_the_base_itself_passes_and_says_how_much_was_read(made):
    _, base, of = made
    found = lineage(of, base, code=0)
    assert found["reason"] == "same_base"
    assert count(found, "same") == count(found, "tensors") == len(BASE)
    assert "of the bytes were compared, some of every tensor" in found["summary"]
    assert 0 < count(found, "sampled_share") < 1


def test_the_same_tensors_in_other_shards_are_the_same_base(made):
    folder, _, of = made
    found = lineage(of, write(folder / "resharded", BASE, shards=3), code=0)
    assert found["reason"] == "same_base"


def test_renamed_modules_are_the_same_base(made):
    folder, _, of = made
    renamed = {n.replace("model.", "model.language_model.", 1): w for n, w in BASE.items()}
    found = lineage(of, write(folder / "renamed", renamed), code=0)
    assert found["reason"] == "same_base"
    assert count(found, "renamed") == len(BASE) - 1


@pytest.mark.parametrize("dtype", ["BF16", "F16"])
def test_another_precision_is_named_as_such_and_is_no_stranger(made, dtype):
    folder, _, of = made
    found = lineage(of, write(folder / "cast", BASE, dtype), code=0)
    assert found["reason"] == "same_base_cast"
    assert f"F32 to {dtype}" in found["summary"]


def test_a_base_in_few_bits_is_known_in_more(tmp_path):
    base = write(tmp_path / "base", BASE, "BF16")
    of, _ = adapter(tmp_path / "adapter")
    run("--record", base, of, code=0)
    wide = {n: numbers("BF16", stored(w, "BF16")).reshape(w.shape) for n, w in BASE.items()}
    assert lineage(of, write(tmp_path / "wide", wide))["reason"] == "same_base_cast"


def test_stock_in_the_place_of_an_abliterated_base_fails_though_it_bears_the_name(tmp_path):
    """Same name, same index, same shapes: only what the tensors hold tells."""
    direction = matrix(NARROW, 1)
    direction /= np.linalg.norm(direction)
    abliterated = {
        name: w - direction @ (direction.T @ w)
        if name.endswith(("o_proj.weight", "down_proj.weight"))
        else w
        for name, w in BASE.items()
    }
    trained = write(tmp_path / "abliterated", abliterated, "BF16", shards=2)
    stock = write(tmp_path / "stock", BASE, "BF16", shards=2)
    index = "model.safetensors.index.json"
    assert (trained / index).read_bytes() == (stock / index).read_bytes()
    of, _ = adapter(tmp_path / "adapter", base_model_name_or_path=str(stock))
    run("--record", trained, of, code=0)
    found = lineage(of, stock, code=1)
    assert found["reason"] == "differs_as_abliterated"
    assert count(found, "differing") == 2 * LAYERS
    assert any("a name alone" in line for line in found["evidence"])
    assert lineage(of, trained, code=0)["reason"] == "same_base"


def test_another_tune_of_the_shapes_fails(made):
    folder, _, of = made
    other = {n: w + matrix(*w.shape) * 0.1 for n, w in BASE.items()}
    assert lineage(of, write(folder / "tune", other), code=1)["reason"] == "weights_differ"


def test_another_model_fails(made):
    folder, _, of = made
    other = {"model.embed_tokens.weight": matrix(10, 8), "other.weight": matrix(8, 8)}
    assert lineage(of, write(folder / "other", other), code=1)["reason"] == "other_model"


def test_without_a_record_a_name_is_no_evidence(tmp_path):
    base = write(tmp_path / "base", BASE)
    of, _ = adapter(tmp_path / "adapter", base_model_name_or_path=str(base))
    assert lineage(of, base, code=3)["reason"] == "lineage_unknown"


def test_a_head_that_is_tied_in_the_target_is_not_missed(tmp_path):
    tied = BASE | {"lm_head.weight": BASE["model.embed_tokens.weight"]}
    base = write(tmp_path / "base", tied)
    of, _ = adapter(tmp_path / "adapter")
    run("--record", base, of, code=0)
    headless = {n: w for n, w in tied.items() if n != "lm_head.weight"}
    assert lineage(of, write(tmp_path / "tied", headless), code=0)["reason"] == "same_base"
    untied = write(tmp_path / "again", headless)
    other, _ = adapter(tmp_path / "other")
    run("--record", untied, other, code=0)
    assert lineage(other, base, code=0)["reason"] == "same_base"


def test_a_class_for_text_alone_is_the_same_base_without_its_tower(tmp_path):
    tower = {f"model.visual.blocks.{n}.attn.qkv.weight": matrix(48, 16) for n in range(3)}
    of, _ = adapter(tmp_path / "adapter")
    run("--record", write(tmp_path / "seeing", BASE | tower), of, code=0)
    found = lineage(of, write(tmp_path / "text", BASE), code=0)
    assert found["reason"] == "same_base"
    assert count(found, "left_out") == 3


def test_layers_that_are_gone_are_missed(made):
    folder, _, of = made
    fewer = {n: w for n, w in BASE.items() if "layers.1." not in n}
    assert lineage(of, write(folder / "fewer", fewer), code=1)["reason"] == "weights_missing"


def test_experts_stacked_otherwise_cannot_be_compared(tmp_path):
    experts = [matrix(32, NARROW) for _ in range(4)]
    at = "model.layers.0.mlp.experts"
    single = {f"{at}.{n}.down_proj.weight": w for n, w in enumerate(experts)}
    of, _ = adapter(tmp_path / "adapter")
    run("--record", write(tmp_path / "single", BASE | single), of, code=0)
    stacked = BASE | {f"{at}.down_proj": np.stack(experts)}
    found = lineage(of, write(tmp_path / "stacked", stacked), code=3)
    assert found["reason"] == "not_comparable"
    assert count(found, "regrouped") == 4


def test_a_change_between_the_samples_is_found_by_reading_everything(tmp_path):
    large = BASE | {"model.embed_tokens.weight": matrix(2000, NARROW)}
    base = write(tmp_path / "base", large)
    of, _ = adapter(tmp_path / "adapter")
    run("--record", base, of, "--full", code=0)
    edited = large["model.embed_tokens.weight"].copy()
    edited.reshape(-1)[2000] += 1
    other = write(tmp_path / "other", large | {"model.embed_tokens.weight": edited})
    assert lineage(of, other, code=0)["reason"] == "same_base"
    found = lineage(of, other, "--full", code=1)
    assert found["reason"] == "differs_as_abliterated"
    assert "every byte was compared" in found["summary"]
    assert lineage(of, base, "--full", code=0)["reason"] == "same_base"


def test_a_record_of_samples_says_that_it_cannot_answer_for_every_byte(made):
    _, base, of = made
    found = lineage(of, base, "--full", code=0)
    assert any("record it with --full" in line for line in found["evidence"])
    assert "some of every tensor" in found["summary"]


def test_a_record_is_never_replaced_by_another(made):
    folder, base, of = made
    record = (of / "pfid-base.json").read_bytes()
    other = write(folder / "other", {n: w + 1 for n, w in BASE.items()})
    assert "records another base" in run("--record", other, of, code=3).output
    assert (of / "pfid-base.json").read_bytes() == record
    run("--record", base, of, code=0)
    assert (of / "pfid-base.json").read_bytes() == record


# Files that are none


def break_record(folder, base, of):
    (of / "pfid-base.json").write_text('{"schema": 1, "name": ')


def break_schema(folder, base, of):
    record = json.loads((of / "pfid-base.json").read_text())
    (of / "pfid-base.json").write_text(json.dumps(record | {"schema": 99}))


def cut_header(folder, base, of):
    (base / "model.safetensors").write_bytes((5000).to_bytes(8, "little") + b'{"a": {"dty')


def cut_data(folder, base, of):
    whole = (base / "model.safetensors").read_bytes()
    (base / "model.safetensors").write_bytes(whole[:-4000])


def far_offsets(folder, base, of):
    head = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [1 << 62, (1 << 62) + 8]}}
    text = json.dumps(head).encode()
    (base / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))


def pointers(folder, base, of):
    (base / "model.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    )


def a_pipe(folder, base, of):
    (base / "model.safetensors").unlink()
    os.mkfifo(base / "model.safetensors")


def nothing(folder, base, of):
    (base / "model.safetensors").unlink()


def torch_format(folder, base, of):
    nothing(folder, base, of)
    (base / "pytorch_model.bin").write_bytes(b"PK")


def outside(folder, base, of):
    secret = write(folder / "secret", BASE)
    nothing(folder, base, of)
    index = {"weight_map": dict.fromkeys(BASE, f"../{secret.name}/model.safetensors")}
    (base / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (break_record, "record_unreadable"),
        (break_schema, "record_unreadable"),
        *(
            (harm, "target_unreadable")
            for harm in (
                *(cut_header, cut_data, far_offsets, pointers, a_pipe, nothing, torch_format),
                outside,
            )
        ),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_cannot_be_read_is_unknown_and_says_why(made, harm, reason):
    folder, base, of = made
    harm(folder, base, of)
    found = lineage(of, base, code=3)
    assert found["reason"] == reason
    assert found["evidence"]


def test_a_missing_shard_is_unknown_unless_what_is_there_already_differs(made):
    folder, _, of = made
    part = write(folder / "part", BASE, shards=3)
    (part / "model-00002-of-00003.safetensors").unlink()
    found = lineage(of, part, code=3)
    assert found["reason"] == "target_incomplete"
    assert any("missing" in line for line in found["evidence"])
    other = write(folder / "wrong", {n: w * 1.5 for n, w in BASE.items()}, shards=3)
    (other / "model-00002-of-00003.safetensors").unlink()
    assert lineage(of, other, code=1)["reason"] == "weights_differ"


def test_an_index_that_is_cut_off_or_lists_what_no_shard_holds_is_no_whole_target(made):
    folder, _, of = made
    part = write(folder / "part", BASE, shards=2)
    index = part / "model.safetensors.index.json"
    whole = json.loads(index.read_text())
    whole["weight_map"]["model.layers.9.ghost.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(whole))
    assert lineage(of, part, code=3)["reason"] == "target_incomplete"
    index.write_text(json.dumps(whole)[:200])
    assert lineage(of, part, code=3)["reason"] == "target_incomplete"


def test_links_to_shards_are_followed_as_a_download_cache_makes_them(made):
    folder, base, of = made
    (folder / "linked").mkdir()
    (folder / "linked" / "model.safetensors").symlink_to(base / "model.safetensors")
    assert lineage(of, folder / "linked", code=0)["reason"] == "same_base"


def test_a_base_that_is_not_whole_is_not_recorded(tmp_path):
    part = write(tmp_path / "part", BASE, shards=2)
    (part / "model-00001-of-00002.safetensors").unlink()
    of, _ = adapter(tmp_path / "adapter")
    assert "missing" in run("--record", part, of, code=3).output
    assert not (of / "pfid-base.json").exists()


def test_infinity_in_an_adapters_configuration_is_no_hindrance(made):
    _, base, of = made
    (of / "adapter_config.json").write_text(
        '{"base_model_name_or_path": "acme/base", "lora_alpha": Infinity}'
    )
    assert any("acme/base" in line for line in lineage(of, base, code=0)["evidence"])


def test_escapes_in_names_reach_no_terminal(made):
    folder, _, of = made
    hostile = BASE | {"\x1b[2J\x1b]0;x\x07.weight": matrix(4, 4)}
    (of / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "\x1b[2Jacme"}))
    other = write(folder / "\x1b[31mred", {n: w * 2 for n, w in hostile.items()})
    assert "\x1b" not in run(of, other, code=1).output


# What a merge changed


def merged(deltas, scale=1.0, into=BASE):
    return into | {name: into[name] + scale * delta for name, delta in deltas.items()}


@pytest.fixture
def tune(made):
    folder, base, _ = made
    of, deltas = adapter(folder / "adapter")
    return folder, base, of, deltas


def test_a_merge_that_took_passes(tune):
    folder, base, of, deltas = tune
    found = changed(of, base, "--merged", write(folder / "merged", merged(deltas)), code=0)
    assert found["reason"] == "as_told"
    assert count(found, "changed") == count(found, "targets") == LAYERS
    assert count(found, "untouched") == len(BASE) - LAYERS
    assert count(found, "relative_change") > 0


def test_a_merge_saved_in_another_precision_passes_and_says_so(tune):
    folder, base, of, deltas = tune
    saved = write(folder / "merged", merged(deltas), "BF16")
    found = changed(of, base, "--merged", saved, code=0)
    assert found["reason"] == "as_told"
    assert "another precision" in found["summary"]


def test_a_merge_whose_modules_were_renamed_passes(tune):
    folder, base, of, deltas = tune
    renamed = {
        n.replace("model.", "model.language_model.", 1): w for n, w in merged(deltas).items()
    }
    found = changed(of, base, "--merged", write(folder / "merged", renamed), code=0)
    assert found["reason"] == "as_told"


def test_a_merge_that_changed_nothing_fails(tune):
    _, base, of, _ = tune
    assert changed(of, base, "--merged", base, code=1)["reason"] == "nothing_changed"


def test_a_merge_lost_in_the_precision_it_was_saved_in_fails(tune):
    folder, base, of, deltas = tune
    config = of / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"lora_alpha": 4e-6}))
    faint = merged(deltas, scale=1e-6)
    saved = write(folder / "merged", faint, "BF16")
    assert changed(of, base, "--merged", saved, code=1)["reason"] == "rounding_only"
    kept = write(folder / "kept", faint)
    assert changed(of, base, "--merged", kept, code=0)["reason"] == "as_told"
    thin = {n: numbers("BF16", stored(w, "BF16")).reshape(w.shape) for n, w in BASE.items()}
    there_and_back = write(folder / "back", thin)
    assert changed(of, base, "--merged", there_and_back, code=1)["reason"] == "rounding_only"
    cast = write(folder / "cast", BASE, "BF16")
    assert changed(of, base, "--merged", cast, code=1)["reason"] == "rounding_only"


def test_a_merge_of_only_some_targets_fails_and_names_the_others(tune):
    folder, base, of, deltas = tune
    some = write(folder / "merged", BASE | {Q[0]: BASE[Q[0]] + deltas[Q[0]]})
    found = changed(of, base, "--merged", some, code=1)
    assert found["reason"] == "some_unchanged"
    assert any(Q[1] in line for line in found["evidence"])


def test_a_tensor_that_nothing_should_have_touched_fails(tune):
    folder, base, of, deltas = tune
    name = "model.layers.1.mlp.up_proj.weight"
    other = write(folder / "merged", merged(deltas) | {name: BASE[name] * 1.01})
    found = changed(of, base, "--merged", other, code=1)
    assert found["reason"] == "untouched_changed"
    assert any(name in line for line in found["evidence"])


def test_an_adapter_whose_names_fit_nowhere_is_unknown(tune):
    folder, base, _, _ = tune
    of, _ = adapter(folder / "strange", ["encoder.block.0.query"])
    run("--record", base, of, code=0)
    found = changed(of, base, "--merged", base, code=3)
    assert found["reason"] == "targets_unmatched"
    assert any("encoder.block.0.query" in line for line in found["evidence"])


def test_a_first_save_whose_factors_are_zero_fails(tune):
    folder, base, of, _ = tune
    module = Q[1].removesuffix(".weight")
    assert changed(of, base, code=0)["reason"] == "adapter_trained"
    idle, _ = adapter(folder / "idle", zero=(module,))
    run("--record", base, idle, code=0)
    found = changed(idle, base, code=1)
    assert found["reason"] == "adapter_zero"
    assert any(module in line for line in found["evidence"])


def test_a_save_of_the_whole_model_is_held_against_its_base(made):
    folder, base, _ = made
    tuned = {n: w + (matrix(*w.shape) * 0.1 if w.ndim > 1 else 0) for n, w in BASE.items()}
    saved = write(folder / "saved", tuned)
    run("--record", base, saved, code=0)
    assert changed(saved, base)["reason"] == "as_told"
    tuned[Q[0]] = BASE[Q[0]]
    assert changed(write(folder / "saved", tuned), base)["reason"] == "some_unchanged"
    frozen = write(folder / "frozen", BASE | {Q[0]: BASE[Q[0]] * 2, Q[1]: BASE[Q[1]] * 2})
    run("--record", base, frozen, code=0)
    assert changed(frozen, base, "--targets", "q_proj")["reason"] == "as_told"


EXPERTS, AT = 6, "model.layers.0.mlp.experts"


def moe():
    single = {
        f"{AT}.{n}.{leaf}.weight": matrix(*shape)
        for n in range(EXPERTS)
        for leaf, shape in (("gate_proj", (32, 64)), ("up_proj", (32, 64)), ("down_proj", (64, 32)))
    }
    gates = [
        [single[f"{AT}.{n}.{leaf}.weight"] for leaf in ("gate_proj", "up_proj")]
        for n in range(EXPERTS)
    ]
    stacked = {
        f"{AT}.gate_up_proj": np.stack([np.concatenate(two) for two in gates]),
        f"{AT}.down_proj": np.stack([single[f"{AT}.{n}.down_proj.weight"] for n in range(EXPERTS)]),
    }
    return single, stacked


def stack_adapter(folder):
    """An adapter on the stacked gates and ups, and what it makes of each expert's."""
    folder.mkdir()
    a, b = matrix(EXPERTS * 4, NARROW) * 10, matrix(64, 4 * EXPERTS) * 10
    tensors = {
        f"base_model.model.{AT}.lora_A.weight": ("float32", a.shape, a.tobytes()),
        f"base_model.model.{AT}.lora_B.weight": ("float32", b.shape, b.tobytes()),
    }
    (folder / "adapter_model.safetensors").write_bytes(file_of(tensors))
    said = {"peft_type": "LORA", "r": 4, "lora_alpha": 4}
    said["target_parameters"] = ["mlp.experts.gate_up_proj"]
    (folder / "adapter_config.json").write_text(json.dumps(said))
    return folder, np.einsum("ore,eri->eoi", b.reshape(64, 4, EXPERTS), a.reshape(EXPERTS, 4, -1))


def test_stacked_experts_must_all_differ(made):
    folder, _, _ = made
    _, stacked = moe()
    base = write(folder / "moe", BASE | stacked)
    of, delta = stack_adapter(folder / "moe-adapter")
    run("--record", base, of, code=0)
    name = f"{AT}.gate_up_proj"
    tuned = stacked[name] + delta
    whole = write(folder / "whole", BASE | stacked | {name: tuned})
    assert changed(of, base, "--merged", whole, code=0)["reason"] == "as_told"
    half = np.concatenate([tuned[:3], stacked[name][3:]])
    some = write(folder / "some", BASE | stacked | {name: half})
    found = changed(of, base, "--merged", some, code=1)
    assert found["reason"] == "some_unchanged"
    assert any("only some experts" in line for line in found["evidence"])


def test_an_adapter_on_stacked_experts_means_each_single_one(made):
    folder, _, _ = made
    single, _ = moe()
    base = write(folder / "moe", BASE | single)
    of, delta = stack_adapter(folder / "moe-adapter")
    run("--record", base, of, code=0)
    tuned = dict(single)
    for n in range(EXPERTS):
        tuned[f"{AT}.{n}.gate_proj.weight"] = single[f"{AT}.{n}.gate_proj.weight"] + delta[n, :32]
        tuned[f"{AT}.{n}.up_proj.weight"] = single[f"{AT}.{n}.up_proj.weight"] + delta[n, 32:]
    whole = write(folder / "whole", BASE | tuned)
    found = changed(of, base, "--merged", whole, code=0)
    assert found["reason"] == "as_told"
    assert count(found, "targets") == 2 * EXPERTS


LEAVES = {"gate_proj": (64, 64), "up_proj": (64, 64), "down_proj": (64, 64)}
SQUARE = {
    f"{AT}.gate_up_proj": matrix(EXPERTS, 128, 64),
    f"{AT}.down_proj": matrix(EXPERTS, 64, 64),
}


@pytest.fixture
def single(made):
    """An adapter on single experts, what each module makes, and a base that keeps stacks."""
    folder, _, _ = made
    base = write(folder / "moe", BASE | SQUARE)
    modules = [f"{AT}.{n}.{leaf}" for n in (1, 4) for leaf in LEAVES]
    of, deltas = adapter(folder / "moe-adapter", modules)
    run("--record", base, of, code=0)
    return folder, base, of, {name.removesuffix(".weight"): d for name, d in deltas.items()}


def stacks(deltas, *, experts=(1, 4), scale=1.0, into=None, turned=False, in_turn=False):
    """The stacks that those experts' products make of the base's."""
    gate_up, down = (values.copy() for values in SQUARE.values())
    rows = {"gate_proj": slice(64), "up_proj": slice(64, None)}
    rows = {"gate_proj": slice(0, None, 2), "up_proj": slice(1, None, 2)} if in_turn else rows
    for n in experts:
        at = (into or {}).get(n, n)
        for leaf, place in rows.items():
            gate_up[at, place] += scale * deltas[f"{AT}.{n}.{leaf}"]
        product = scale * deltas[f"{AT}.{n}.down_proj"]
        down[at] += product.T if turned else product
    return BASE | {f"{AT}.gate_up_proj": gate_up, f"{AT}.down_proj": down}


@pytest.mark.parametrize("how", [{}, {"turned": True}, {"in_turn": True}], ids=str)
@pytest.mark.parametrize("dtype", ["F32", "BF16"])
def test_an_adapter_on_single_experts_makes_its_part_of_the_stack(single, how, dtype):
    folder, base, of, deltas = single
    whole = write(folder / "whole", stacks(deltas, **how), dtype)
    found = changed(of, base, "--merged", whole, code=0)
    assert found["reason"] == "as_told", found
    assert count(found, "right") == count(found, "targets") == 2
    assert count(found, "idle") == 0


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"scale": 0.5}, "wrong_factor"),
        ({"experts": (1,)}, "some_unchanged"),
        ({"into": {4: 5}}, "untouched_changed"),
        ({"into": {1: 4, 4: 1}}, "another_change"),
        ({"experts": ()}, "nothing_changed"),
    ],
    ids=str,
)
def test_single_experts_merged_otherwise_fail(single, how, reason):
    folder, base, of, deltas = single
    found = changed(of, base, "--merged", write(folder / "m", stacks(deltas, **how)), code=1)
    assert found["reason"] == reason, found
    if reason == "wrong_factor":
        assert count(found, "factor") == pytest.approx(0.5, rel=0.01)
    if reason == "untouched_changed":
        assert any(f"{AT}.down_proj (experts 5)" in line for line in found["evidence"])


def test_experts_that_no_module_names_may_be_saved_in_another_precision(single):
    folder, base, of, deltas = single
    narrow = {
        name: numbers("BF16", rounded(values, "BF16")).reshape(values.shape)
        for name, values in stacks(deltas).items()
    }
    found = changed(of, base, "--merged", write(folder / "m", narrow))
    assert found["reason"] == "as_told", found


@pytest.mark.parametrize("kept", ["stacks", "single"])
def test_an_expert_that_the_base_has_not_belongs_nowhere(made, kept):
    folder, _, _ = made
    weights = BASE | (SQUARE if kept == "stacks" else moe()[0])
    base = write(folder / "experts", weights)
    modules = [f"{AT}.{EXPERTS}.down_proj", Q[0].removesuffix(".weight")]
    of, deltas = adapter(folder / "one-more", modules)
    run("--record", base, of, code=0)
    saved = write(folder / "merged", weights | {Q[0]: weights[Q[0]] + deltas[Q[0]]})
    found = changed(of, base, "--merged", saved, code=3)
    assert (found["reason"], count(found, "unmatched")) == ("targets_unmatched", 1), found


def test_lengths_of_single_experts_leave_the_amount_untold(single):
    """DoRA needs whole rows of the base, which for a part of a stack are not read."""
    folder, base, of, deltas = single
    held = safetensors.deserialize((of / "adapter_model.safetensors").read_bytes())
    entries = {n: ("float32", t["shape"], bytes(t["data"])) for n, t in held}
    lengths = {
        f"base_model.model.{module}.lora_magnitude_vector": ("float32", (64,), bytes(256))
        for module in deltas
    }
    (of / "adapter_model.safetensors").write_bytes(file_of(entries | lengths))
    found = changed(of, base, "--merged", write(folder / "m", stacks(deltas)), code=3)
    assert found["reason"] == "amount_untold"


def test_experts_of_a_whole_save_that_nothing_reached_are_unknown_and_a_layer_of_them_fails(made):
    folder, _, _ = made
    single, stacked = moe()
    base = write(folder / "moe", BASE | single)
    tuned = {n: w * 1.5 if w.ndim > 1 else w for n, w in (BASE | single).items()}
    left = {n: w for n, w in single.items() if f"{AT}.2." in n}
    found = changed(write(folder / "saved", tuned | left), base, code=3)
    assert found["reason"] == "experts_unreached"
    assert any(f"{AT}.2." in line for line in found["evidence"])
    none = write(folder / "none", tuned | single)
    assert changed(none, base)["reason"] == "some_unchanged"
    base = write(folder / "stacks", BASE | stacked)
    tuned = {n: w * 1.5 if w.ndim > 1 else w for n, w in (BASE | stacked).items()}
    tuned[f"{AT}.down_proj"][3] = stacked[f"{AT}.down_proj"][3]
    found = changed(write(folder / "saved-stacks", tuned), base, code=3)
    assert found["reason"] == "experts_unreached"


def test_a_first_save_with_experts_that_no_token_reached_is_unknown(tune):
    folder, base, _, _ = tune
    modules = [f"{AT}.{n}.down_proj" for n in range(3)]
    some, _ = adapter(folder / "some-experts", modules, zero=modules[:1])
    assert changed(some, base)["reason"] == "experts_unreached"
    idle, _ = adapter(folder / "idle-experts", modules, zero=modules)
    assert changed(idle, base)["reason"] == "adapter_zero"


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ({"lora_alpha": None}, "lora_alpha is not told"),
        ({"lora_alpha": float("inf")}, "lora_alpha is not told"),
        ({"peft_type": "LOHA"}, "of LOHA"),
        ({"peft_type": ["\x1b"]}, "and not LORA"),
        ({"init_lora_weights": "pissa_niter_4"}, "changed the base"),
        ({"use_qalora": True}, "other products"),
        ({"alpha_pattern": {"(q_proj": 9, "([a-z]+)*$": 4}, "lora_alpha": "4"}, "not told"),
    ],
)
def test_how_much_a_merge_should_move_is_unknown_where_the_adapter_does_not_say(tune, harm, words):
    folder, base, of, deltas = tune
    config = of / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | harm))
    found = changed(of, base, "--merged", write(folder / "merged", merged(deltas)), code=3)
    assert found["reason"] == "amount_untold"
    assert any(words in line for line in found["evidence"])


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        ((4, 64), (64, 3), "float32"),
        ((0, 64), (64, 0), "float32"),
        ((), (), "float32"),
        ((4,), (64,), "float32"),
        ((4, 2, 64), (64, 4), "float32"),
        ((4, 64), (64, 4), "int8"),
        ((4, 32), (64, 4), "float32"),
    ],
)
def test_factors_that_make_nothing_of_their_module_leave_the_amount_untold(tune, a, b, dtype):
    folder, base, of, deltas = tune
    entries = {}
    for name in Q:
        for part, shape in (("lora_A", a), ("lora_B", b)):
            values = np.ones(shape, dtype)
            key = f"base_model.model.{name.removesuffix('weight')}{part}.weight"
            entries[key] = (dtype, shape, values.tobytes())
    (of / "adapter_model.safetensors").write_bytes(file_of(entries))
    config = of / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"r": 2}))
    saved = write(folder / "merged", merged(deltas))
    found = changed(of, base, "--merged", saved)
    assert found["reason"] in ("amount_untold", "adapter_zero", "another_change"), found
    assert changed(of, base)["reason"] in ("adapter_trained", "adapter_zero")


@pytest.mark.parametrize("scale", [2.0, 0.5, -1.0, 1.05])
def test_a_merge_by_another_factor_fails(tune, scale):
    folder, base, of, deltas = tune
    found = changed(of, base, "--merged", write(folder / "m", merged(deltas, scale)), code=1)
    assert found["reason"] == "wrong_factor"
    assert count(found, "factor") == pytest.approx(scale, rel=0.01)
    told = changed(of, base, "--merged", folder / "m", "--share", scale, code=0)
    assert told["reason"] == "as_told"


@pytest.mark.parametrize("which", ["adapter", "base", "merged"])
def test_a_file_of_the_merge_that_cannot_be_read_is_unknown(tune, which):
    folder, base, of, deltas = tune
    saved = write(folder / "merged", merged(deltas))
    broken = {"adapter": of / "adapter_model.safetensors", "base": base / "model.safetensors"}
    broken.get(which, saved / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    found = changed(of, base, "--merged", saved, code=3)
    assert found["reason"] == f"{which}_unreadable"


def test_a_missing_shard_of_the_merged_is_unknown(tune):
    folder, base, of, deltas = tune
    saved = write(folder / "merged", merged(deltas), shards=4)
    placed = json.loads((saved / "model.safetensors.index.json").read_text())["weight_map"]
    spare = next(f for f in sorted(set(placed.values())) if f not in {placed[q] for q in Q})
    (saved / spare).unlink()
    assert changed(of, base, "--merged", saved, code=3)["reason"] == "incomplete"


# Shapes


def test_the_json_keeps_the_documented_shape(made, documented):
    _, base, of = made
    body = json.loads(run(of, base, "--json").stdout)
    told = json.loads(run("--record", base, of, "--json").stdout)
    assert (set(body) | set(told)) - {"schema"} == documented("`pfid merge-check`")


# The base that a launch recorded


def test_what_a_launch_recorded_is_found_by_what_the_run_wrote(made, monkeypatch):
    """A run that declared its base and its artefact answers without any record beside it."""
    folder, base, of = made
    (of / "pfid-base.json").unlink()
    (folder / "preflight.toml").write_text(
        '[provenance]\nbase = "base"\nartefacts = ["adapter/adapter_model.safetensors"]\n'
    )
    monkeypatch.chdir(folder)
    ran = subprocess.run(
        [sys.executable, "-m", "pfid", "run", "--name", "tune", "--", "true"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert lineage(of, base, code=0)["reason"] == "same_base"
    assert lineage(of, base, "--run", "tune", code=0)["reason"] == "same_base"
    other = write(folder / "other", {n: w * 2 for n, w in BASE.items()})
    assert lineage(of, other, code=1)["reason"] == "weights_differ"
    assert lineage(of, base, "--run", "nobody", code=3)["reason"] == "record_unreadable"
    elsewhere, _ = adapter(folder / "elsewhere")
    assert lineage(elsewhere, base, code=3)["reason"] == "lineage_unknown"
