"""``pfid viability``: what it says of models as others met them, and of files that are none."""

import gzip
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.cli.viability import command

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
GIB = 1 << 30
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def _proofs_are_kept(state, monkeypatch):
    """One proof of the checks for all tests here: they prove themselves elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(state))


def run(*arguments, code=None):
    """Nothing is served here unless a test says so: proofs of that are made elsewhere."""
    served = () if "--serve" in arguments else ("--serve", "none")
    result = CliRunner().invoke(command, [str(argument) for argument in (*arguments, *served)])
    assert code is None or result.exit_code == code, result.output
    return result


def report(*arguments, memory="96GiB", code=None):
    result = run(*arguments, "--gpu-memory", memory, "--json", code=code)
    body = json.loads(result.stdout)
    assert body["schema"] == 1
    return body, {v["check"]: v for v in body["verdicts"]}


def figure(verdict, name):
    return verdict["figures"][name]["value"]


def write(folder, config=LLAMA, **files):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def index(folder, shards, **metadata):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": metadata, "weight_map": shards}))


# What others met


@pytest.mark.field_cases
def test_gemma_fits_with_care_and_its_known_peak_lies_within_the_bounds():
    body, verdicts = report(
        CASES / "gemma4-26b-moe-config", "--seq", 16384, "--micro-batch", 2, "--method", "lora"
    )
    fits = verdicts["fits_for_training"]
    low, high = figure(fits, "peak_low"), figure(fits, "peak_high")
    assert low <= 79.7 * GIB <= high
    assert (high - low) / (high + low) <= 0.15
    assert figure(fits, "weights") == pytest.approx(48.1 * GIB, rel=0.01)
    assert body["model"]["layers"] == {"sliding_attention": 25, "full_attention": 5}
    assert body["model"]["experts"] == 128
    assert verdicts["attention_shape"]["reason"] == "dense_square"
    assert figure(verdicts["attention_shape"], "head_dim_max") == 512


@pytest.mark.full
@pytest.mark.field_cases
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize(
    "name",
    [
        "gemma4-26b-moe-config",
        "llama4-scout-and-llama31/llama-3.1-8b.config.json",
        "llama4-scout-and-llama31/llama-4-scout.config.json",
        "devstral-params-json/params.json",
        "mixtral-8x22b-index",
        "mimo-hybrid-is-not-linear",
    ],
)
def test_bounds_of_published_models_decide_without_checkpointing_too(name, method):
    for plan in (("--seq", 4096), ("--seq", 16384, "--micro-batch", 2)):
        options = ("--no-checkpointing", "--method", method, *plan)
        _, verdicts = report(CASES / name, *options, memory="20000GiB")
        low, high = (figure(verdicts["fits_for_training"], f"peak_{at}") for at in ("low", "high"))
        assert (high - low) / (high + low) <= 0.15


@pytest.mark.full
@pytest.mark.field_cases
@pytest.mark.parametrize("name", ["nemotron-3-nano", "nemotron-h-56b"])
def test_bounds_that_are_wide_say_so_and_decide_nothing_near_the_card(name):
    """Their type was never held against a tracker, and nobody says whether kernels are there."""
    config = CASES / "nemotron-h-pattern-string" / f"{name}.config.json"
    plan = ("--no-checkpointing", "--seq", 16384, "--micro-batch", 2)
    fits = report(config, *plan, memory="20000GiB")[1]["fits_for_training"]
    low, high = (figure(fits, f"peak_{at}") / GIB for at in ("low", "high"))
    assert (high - low) / (high + low) > 0.15
    assert any("apart" in line for line in fits["evidence"])
    assert any("never held" in line for line in fits["evidence"])
    for share in (0.05, 0.5, 0.95):
        near = f"{low + share * (high - low):.0f}GiB"
        verdict = report(config, *plan, memory=near)[1]["fits_for_training"]
        assert verdict["outcome"] == "unknown", near


@pytest.mark.field_cases
@pytest.mark.parametrize(
    ("name", "layers", "experts"),
    [
        ("qwen3.5-27B", {"linear_attention": 48, "full_attention": 16}, 0),
        ("qwen3.5-35B-A3B", {"linear_attention": 30, "full_attention": 10}, 256),
    ],
)
def test_a_hybrid_is_found_in_its_text_part(name, layers, experts):
    body, _ = report(CASES / "qwen35-hybrid-configs" / f"{name}.config.json")
    model = body["model"]
    assert model["layers"] == layers
    assert model["experts"] == experts
    assert model["towers"] == ["vision_config"]
    assert model["mtp_layers"] == 1


@pytest.mark.field_cases
def test_pointers_are_no_weights_whatever_the_index_says(tmp_path):
    shutil.copytree(CASES / "qwen35-reap-lfs-pointers", tmp_path / "m", copy_function=shutil.copy)
    with gzip.open(tmp_path / "m" / "model.safetensors.index.json.gz") as file:
        (tmp_path / "m" / "model.safetensors.index.json").write_bytes(file.read())
    body, verdicts = report(tmp_path / "m", code=1)
    fits = verdicts["fits_for_training"]
    assert fits["reason"] == "weights_are_pointers"
    assert figure(fits, "weights") == 50_182_743_296
    assert figure(fits, "parameters") == 25_091_371_648
    assert body["model"]["dtype"] == "float16"
    assert body["model"]["layers"] == {"linear_attention": 30, "full_attention": 10}
    codes = {note["code"] for note in body["model"]["notes"]}
    assert {"class_and_type_differ"} <= codes


@pytest.mark.field_cases
@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("nemotron-h-56b", {"mamba": 54, "mlp": 54, "full_attention": 10}),
        ("nemotron-3-nano", {"mamba": 23, "moe": 23, "full_attention": 6}),
    ],
)
def test_a_pattern_string_is_read_and_infinity_is_no_hindrance(name, layers):
    body, _ = report(CASES / "nemotron-h-pattern-string" / f"{name}.config.json")
    assert body["model"]["layers"] == layers


@pytest.mark.field_cases
def test_a_pattern_of_windows_is_no_linear_attention():
    body, verdicts = report(CASES / "mimo-hybrid-is-not-linear")
    assert body["model"]["layers"] == {"sliding_attention": 39, "full_attention": 9}
    assert body["model"]["moe_layers"] == 47
    assert body["model"]["quantised"] == "FP8"
    assert verdicts["fits_for_training"]["reason"] == "quantised"
    assert any("192 (values 128)" in line for line in verdicts["attention_shape"]["evidence"])


@pytest.mark.field_cases
def test_heads_are_read_and_one_of_two_copies_of_the_weights_counts(tmp_path):
    shutil.copytree(CASES / "devstral-params-json", tmp_path / "m", copy_function=shutil.copy)
    _, verdicts = report(tmp_path / "m", code=0)
    fits, attention = verdicts["fits_for_training"], verdicts["attention_shape"]
    assert figure(fits, "parameters") == 23_572_403_200
    assert figure(fits, "weights") == 47_144_806_400
    assert fits["outcome"] == "pass"
    assert attention["reason"] == "every_path"
    assert figure(attention, "head_dim_max") == 128


@pytest.mark.field_cases
def test_params_alone_say_the_same():
    body, verdicts = report(CASES / "devstral-params-json" / "params.json")
    assert body["model"]["hidden"] == 5120
    counted = figure(verdicts["fits_for_training"], "parameters")
    assert counted == pytest.approx(23_572_403_200, rel=0.001)


@pytest.mark.field_cases
def test_no_name_is_multiplied():
    _, verdicts = report(CASES / "mixtral-8x22b-index", code=1)
    fits = verdicts["fits_for_training"]
    assert fits["reason"] == "weights_do_not_fit"
    assert figure(fits, "weights") == 281_241_268_224
    assert figure(fits, "parameters") == pytest.approx(140.6e9, rel=0.001)


@pytest.mark.field_cases
def test_experts_are_counted_from_shapes_with_the_shared_one():
    body, verdicts = report(
        CASES / "llama4-scout-and-llama31" / "llama-4-scout.config.json", code=1
    )
    fits = verdicts["fits_for_training"]
    assert fits["reason"] == "weights_do_not_fit"
    assert figure(fits, "parameters") == pytest.approx(108e9, rel=0.02)
    assert body["model"]["layers"] == {"chunked_attention": 48}


@pytest.mark.field_cases
def test_an_ordinary_model_passes_everything():
    _, verdicts = report(CASES / "llama4-scout-and-llama31" / "llama-3.1-8b.config.json", code=0)
    assert {v["outcome"] for v in verdicts.values()} <= {"pass", "not_applicable"}
    weights = figure(verdicts["fits_for_training"], "weights")
    assert weights == pytest.approx(16.06e9, rel=0.001)


# Files that are none


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ('{"hidden_size": 64, "num_hid', "config_unreadable"),
        ("[]", "config_unreadable"),
        ("[" * 100_000, "config_unreadable"),
        ("\x00\x01", "config_unreadable"),
        ("{}", "no_model"),
        (json.dumps(LLAMA | {"num_hidden_layers": 10**9}), "shapes_missing"),
        (json.dumps(LLAMA | {"num_hidden_layers": "two"}), "no_model"),
        (json.dumps(LLAMA | {"layer_types": ["full_attention"]}), "layers_contradict"),
        (json.dumps(LLAMA | {"layer_types": ["full_attention", "telepathy"]}), "shapes_unknown"),
    ],
)
def test_what_is_no_configuration_is_unknown_with_its_reason(tmp_path, config, reason):
    _, verdicts = report(write(tmp_path / "m", config), code=3)
    judged = {v["reason"] for v in verdicts.values() if v["outcome"] != "not_applicable"}
    assert judged - {"text_only"} == {reason}


def test_infinity_is_read_as_python_writes_it(tmp_path):
    text = json.dumps(LLAMA | {"time_step_limit": [0.0, float("inf")]})
    assert "Infinity" in text
    _, verdicts = report(write(tmp_path / "m", text), code=0)
    assert verdicts["fits_for_training"]["outcome"] == "pass"


def test_a_layer_behind_those_of_the_decoder_is_a_head_of_further_tokens(tmp_path):
    """It is stored as one more layer, and the adapters of every linear module reach it."""
    folder = write(tmp_path / "m", {**LLAMA, "num_nextn_predict_layers": 1})
    depth = LLAMA["num_hidden_layers"]
    names = [f"model.layers.{n}.self_attn.q_proj.weight" for n in range(depth + 1)]
    index(folder, dict.fromkeys(names, "m.safetensors"))
    _, verdicts = report(folder, "--targets", "all-linear")
    assert verdicts["adapter_reach"]["reason"] == "reaches_beyond"
    assert figure(verdicts["adapter_reach"], "further_token_tensors") == 1
    index(folder, dict.fromkeys(names[:-1], "m.safetensors"))
    _, verdicts = report(folder, "--targets", "all-linear")
    assert verdicts["adapter_reach"]["reason"] == "text_only"


@pytest.mark.parametrize(
    ("algorithm", "reason", "named"),
    [("NVFP4", "quantised", "NVFP4"), ("FP8_PB_WO", "quantised", "FP8"), (None, "fits", None)],
)
def test_the_file_of_modelopt_beside_the_configuration_names_the_format(
    tmp_path, algorithm, reason, named
):
    said = {"quantization": {"quant_algo": algorithm, "kv_cache_quant_algo": "FP8"}}
    said["producer"] = {"name": "modelopt", "version": "0.29.0"}
    folder = write(tmp_path / "m", hf_quant_config__json=json.dumps(said))
    body, verdicts = report(folder)
    assert (body["model"]["quantised"], verdicts["fits_for_training"]["reason"]) == (named, reason)
    layer = "model.layers.0.self_attn.q_proj.weight"
    index(folder, {layer: "m.safetensors"}, total_size=5_000_000_000)
    assert (report(folder)[1]["fits_for_training"]["reason"] == "quantised") is bool(named)
    (folder / "config.json").write_text(
        json.dumps({**LLAMA, "quantization_config": {"quant_method": "awq", "bits": 4}})
    )
    assert report(folder)[0]["model"]["quantised"] == "AWQ"
    (folder / "hf_quant_config.json").write_text("{}")
    assert report(folder)[0]["model"]["quantised"] == "AWQ"


def test_an_index_never_leads_out_of_its_folder(tmp_path):
    folder = write(tmp_path / "m")
    secret = tmp_path / "secret.safetensors"
    secret.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    index(
        folder, {"lm_head.weight": "../secret.safetensors", "a": "/etc/passwd"}, total_size=200_000
    )
    body, verdicts = report(folder)
    assert verdicts["fits_for_training"]["reason"] == "shards_outside"
    assert body["model"]["weights"]["pointers"] == 0


def test_a_pipe_in_the_place_of_a_shard_blocks_nobody(tmp_path):
    folder = write(tmp_path / "m")
    os.mkfifo(folder / "model.safetensors")
    _, verdicts = report(folder, code=3)
    assert verdicts["fits_for_training"]["reason"] == "shards_unreadable"
    assert any("no regular file" in line for line in verdicts["fits_for_training"]["evidence"])


def test_a_shard_that_is_cut_off_is_named(tmp_path):
    folder = write(tmp_path / "m")
    (folder / "model.safetensors").write_bytes((500).to_bytes(8, "little") + b'{"a": {"dtype"')
    _, verdicts = report(folder, code=3)
    assert verdicts["fits_for_training"]["reason"] == "shards_unreadable"
    assert any("no JSON" in line for line in verdicts["fits_for_training"]["evidence"])


def test_a_link_that_leads_nowhere_is_a_missing_shard(tmp_path):
    folder = write(tmp_path / "m")
    (folder / "a.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    )
    (folder / "b.safetensors").symlink_to(tmp_path / "nowhere")
    index(folder, {"a": "a.safetensors", "b": "b.safetensors"})
    body, _ = report(folder, code=1)
    assert body["model"]["weights"]["missing"] == 1
    assert body["model"]["weights"]["pointers"] == 1


@pytest.mark.full
def test_an_index_of_a_hundred_thousand_tensors_is_read(tmp_path):
    folder = write(tmp_path / "m")
    shards = {f"model.layers.{n}.mlp.weight": f"m-{n % 50}.safetensors" for n in range(100_000)}
    index(folder, shards, total_size=199_936)
    body, _ = report(folder)
    assert body["model"]["weights"]["missing"] == 50


def test_code_of_the_checkpoint_is_named_and_not_run(tmp_path):
    folder = write(tmp_path / "m", LLAMA | {"auto_map": {"AutoConfig": "evil.Config"}})
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    body, _ = report(folder)
    assert body["model"]["brings_code"]
    assert "brings_code" in {note["code"] for note in body["model"]["notes"]}
    assert not (tmp_path / "ran").exists()


def test_escapes_in_names_reach_no_terminal(tmp_path):
    config = LLAMA | {"architectures": ["\x1b[2JEvil"], "model_type": "\x1b]0;x\x07"}
    folder = write(tmp_path / "m", config)
    assert "\x1b" not in run(folder, "--gpu-memory", "80GiB").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--gpu-memory", "many"),
        ("--gpu-memory", "0"),
        ("--gpu-memory", "80"),
        ("--gpu-memory", "nanGiB"),
        (),
        ("--gpu-memory", "80GiB", "--seq", "0"),
        ("--gpu-memory", "80GiB", "--measured-at", "4096,1"),
        ("--gpu-memory", "80GiB", "--measured-peak", "1GiB", "--measured-at", "x"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_usage_error(tmp_path, arguments):
    run(write(tmp_path / "m"), *arguments, code=2)


def test_rows_that_are_padded_take_a_mask_for_every_layer(tmp_path):
    folder = write(tmp_path / "m")
    rows = ("--micro-batch", 4, "--no-checkpointing")
    low = {
        told: figure(report(folder, *rows, told)[1]["fits_for_training"], "activations_low")
        for told in ("--padded", "--unpadded")
    }
    assert low["--padded"] > low["--unpadded"]
    assert "padded" in run(folder, *rows, "--padded", "--gpu-memory", "1GiB").stdout


def test_decimal_and_binary_sizes_differ(tmp_path):
    folder = write(tmp_path / "m")
    sizes = [report(folder, memory=size)[0]["plan"]["gpu_memory_bytes"] for size in ("1GB", "1GiB")]
    assert sizes == [10**9, 1 << 30]


def test_a_measured_peak_closes_the_bounds(tmp_path):
    folder = write(tmp_path / "m")
    _, loose = report(folder)
    _, close = report(folder, "--measured-peak", "1GiB")
    width = [
        figure(v["fits_for_training"], "peak_high") - figure(v["fits_for_training"], "peak_low")
        for v in (loose, close)
    ]
    assert width[1] < width[0] / 100
    assert figure(close["fits_for_training"], "peak_low") == pytest.approx(GIB, rel=1e-6)


def test_what_nobody_proved_of_serving_fails_and_the_rest_is_told(tmp_path):
    """Want of a proof fails by itself, and a base that fits is told to fit beside it."""
    folder = write(tmp_path / "m")
    arguments = [str(folder), "--gpu-memory", "96GiB"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    plan = next(line for line in lines if line.startswith("plan"))
    assert "lora of rank 16, 1 x 4096 tokens, checkpointing" in plan
    assert next(line for line in lines if line.startswith("card")).split()[1:] == ["96.0", "GiB"]
    (fits,) = [line for line in lines if line.startswith("fits: ")]
    assert fits.endswith("0.4 to 0.8 GiB of 96.0 GiB")
    assert "to be proven: serving_path_proven" in lines
    assert lines[-1].startswith("next: serving_path_proven: make the proof before the window")
    verdicts = json.loads(CliRunner().invoke(command, [*arguments, "--json"]).stdout)["verdicts"]
    (served,) = [v for v in verdicts if v["check"] == "serving_path_proven"]
    assert (served["outcome"], served["reason"]) == ("fail", "not_declared")


@pytest.mark.parametrize("memory", ["0.2GiB", "1KiB"])
def test_a_failure_says_how_much_of_how_much(tmp_path, memory):
    large = LLAMA | {"num_hidden_layers": 8, "hidden_size": 2048, "intermediate_size": 4096}
    done = run(write(tmp_path / "m", large), "--gpu-memory", memory, code=1)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAIL ")]
    (row,) = [line for line in lines if " fits_for_training " in line]
    assert " GiB of 0." in row
    assert done.stdout.splitlines()[-1].startswith("next: fits_for_training: shorten the sequence")


def test_one_broken_file_is_told_once_by_its_own_name_with_what_helps(tmp_path):
    """Six checks that cannot look for the same reason are one thing to do, not six."""
    path = tmp_path / "nohidden.json"
    path.write_text('{"model_type": "llama"}')
    body, verdicts = report(path, code=3)
    blind = [v for v in body["verdicts"] if v["reason"] == "no_model"]
    assert len(blind) > 3
    assert {v["remedy"] for v in blind} == {
        "name the model's folder, or its config.json or params.json."
    }
    assert "nohidden.json: it tells no hidden width" in str(verdicts["fits_for_training"])
    shown = run(path, "--gpu-memory", "96GiB", code=3).stdout
    assert "config.json:" not in shown
    assert shown.count("  -> ") == 1
    assert shown.count("nohidden.json: it tells no hidden width") == 2  # the model, and why


def test_a_base_that_nobody_has_served_fails_unless_nothing_shall_be(tmp_path):
    folder = write(tmp_path / "m")
    asked = [
        (("--serve", "adapter"), "not_proven"),
        (("--serve", "merged"), "not_proven"),
        (("--serve", "none"), "not_served"),
    ]
    for more, reason in asked:
        _, verdicts = report(folder, *more, code=0 if reason == "not_served" else 1)
        assert verdicts["serving_path_proven"]["reason"] == reason


def test_the_json_keeps_the_documented_shape(tmp_path, documented):
    body, _ = report(write(tmp_path / "m"))
    assert set(body) - {"schema"} == documented("`pfid viability check`")


def test_models_stand_side_by_side_each_with_its_own_verdict(tmp_path):
    small = write(tmp_path / "small")
    large = write(tmp_path / "large", LLAMA | {"num_hidden_layers": 80, "hidden_size": 32768})
    broken = write(tmp_path / "broken", "{")
    result = run("compare", small, large, broken, "--gpu-memory", "8GiB", "--json", code=0)
    found = {m["name"]: m for m in json.loads(result.stdout)["models"]}
    reasons = {
        name: {v["check"]: v["reason"] for v in m["verdicts"]}["fits_for_training"]
        for name, m in found.items()
    }
    assert reasons["large"] == "weights_do_not_fit"
    assert reasons["broken"] == "config_unreadable"
    assert reasons["small"] in ("fits", "fits_with_chunked_loss")
    run("compare", large, "--gpu-memory", "8GiB", code=1)
    run("compare", broken, "--gpu-memory", "8GiB", code=3)


HYBRID = LLAMA | {
    "architectures": ["StripesForCausalLM"],
    "model_type": "stripes",
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
}


@pytest.fixture
def interpreter(tmp_path, monkeypatch):
    """A training interpreter whose transformers looks for a kernel of this package's own."""
    place = tmp_path / "installed"
    models = place / "transformers" / "models" / "stripes"
    models.mkdir(parents=True)
    (place / "transformers" / "__init__.py").write_text("")
    text = (
        "@use_kernel_func_from_hub_with_fallback('chunk_rule', 'stripes_kernels')\ndef f(): ...\n"
    )
    (models / "modeling_stripes.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(place))

    def has(*functions):
        (place / "stripes_kernels").mkdir(exist_ok=True)
        text = "".join(f"def {name}(): ...\n" for name in functions)
        (place / "stripes_kernels" / "__init__.py").write_text(text)

    return has


@pytest.mark.parametrize(("functions", "fused"), [(["chunk_rule"], True), ([], False)])
def test_the_plan_says_what_the_interpreter_answered_of_kernels(
    tmp_path, interpreter, functions, fused
):
    interpreter(*functions)
    hybrid, dense = write(tmp_path / "hybrid", HYBRID), write(tmp_path / "dense")
    body, verdicts = report(hybrid, "--python", sys.executable)
    assert verdicts["hybrid_needs_kernel"]["reason"].startswith("kernels_")
    assert body["plan"]["fused"] is fused
    assert report(hybrid)[0]["plan"]["fused"] is None
    run_ = run(
        "compare", hybrid, dense, "--gpu-memory", "8GiB", "--python", sys.executable, "--json"
    )
    shown = json.loads(run_.stdout)
    assert {m["name"]: m["fused"] for m in shown["models"]} == {"hybrid": fused, "dense": None}
    assert "fused" not in shown["plan"]


def card(tmp_path, **said):
    path = tmp_path / "card.toml"
    path.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in said.items()))
    return path


def test_a_card_for_a_dense_stock_model_does_not_apply_to_an_abliterated_moe(tmp_path):
    """The playbook's case: one family, three axes apart."""
    moe = LLAMA | {"num_local_experts": 8, "num_experts_per_tok": 2}
    folder = write(tmp_path / "m", moe, chat_template__jinja="{{ messages }}")
    path = card(
        tmp_path,
        checkpoint="google/gemma-4-31b-it",
        architecture="dense",
        alignment="stock",
        parameters="31B",
    )
    _, verdicts = report(folder, "--recipe", path, "--alignment", "abliterated", code=1)
    assert verdicts["recipe_applies"]["reason"] == "axes_differ"
    assert verdicts["recipe_applies"]["summary"].endswith("architecture, alignment, size")


def test_a_card_for_this_very_kind_applies(tmp_path):
    folder = write(tmp_path / "m", chat_template__jinja="{{ messages }}")
    _, verdicts = report(folder)
    size = figure(verdicts["fits_for_training"], "parameters")
    path = card(
        tmp_path,
        checkpoint="control",
        architecture="dense",
        alignment="stock",
        precision="bfloat16",
        parameters=size,
        template="sha256:" + hashlib.sha256(b"{{ messages }}").hexdigest(),
    )
    _, verdicts = report(folder, "--recipe", path, "--alignment", "stock", code=0)
    assert verdicts["recipe_applies"]["reason"] == "applies"
    (folder / "chat_template.jinja").write_text("{{ other }}")
    _, verdicts = report(folder, "--recipe", path, "--alignment", "stock", code=1)
    assert verdicts["recipe_applies"]["summary"].endswith("template")


@pytest.mark.parametrize(
    ("precision", "code", "reason"),
    [
        ("bf16", 3, "axes_unknown"),
        ("torch.BFloat16", 3, "axes_unknown"),
        ("fp16", 1, "axes_differ"),
    ],
)
def test_a_precision_is_what_it_is_however_it_is_spelt(tmp_path, precision, code, reason):
    path = card(tmp_path, checkpoint="control", precision=precision)
    _, verdicts = report(write(tmp_path / "m"), "--recipe", path, code=code)
    assert verdicts["recipe_applies"]["reason"] == reason


@pytest.mark.parametrize(
    "text", ["checkpoint = ", "archtecture = 'moe'", "architecture = 'big'", "parameters = -1"]
)
def test_a_card_that_cannot_be_read_is_unknown(tmp_path, text):
    path = tmp_path / "card.toml"
    path.write_text(text)
    _, verdicts = report(write(tmp_path / "m"), "--recipe", path, code=3)
    assert verdicts["recipe_applies"]["reason"] == "card_unreadable"


GEMMA = {
    "model_type": "gemma4",
    "tie_word_embeddings": True,
    "text_config": {
        "attention_k_eq_v": True,
        "dtype": "bfloat16",
        "enable_moe_block": True,
        "final_logit_softcapping": 30.0,
        "global_head_dim": 512,
        "head_dim": 256,
        "hidden_size": 2816,
        "intermediate_size": 2112,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
        "moe_intermediate_size": 704,
        "num_attention_heads": 16,
        "num_experts": 128,
        "num_global_key_value_heads": 2,
        "num_hidden_layers": 30,
        "num_key_value_heads": 8,
        "sliding_window": 1024,
        "top_k_experts": 8,
        "vocab_size": 262144,
    },
}
SMALL_4 = {
    "dim": 4096,
    "n_layers": 36,
    "n_heads": 32,
    "n_kv_heads": 32,
    "head_dim": 128,
    "hidden_dim": 12288,
    "vocab_size": 131072,
    "q_lora_rank": 1024,
    "kv_lora_rank": 256,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "moe": {
        "num_experts": 128,
        "num_experts_per_tok": 4,
        "expert_hidden_dim": 2048,
        "num_shared_experts": 1,
    },
}
MINISTRAL = {
    "dim": 5120,
    "n_layers": 40,
    "n_heads": 32,
    "n_kv_heads": 8,
    "head_dim": 128,
    "hidden_dim": 16384,
    "vocab_size": 131072,
}


def test_the_playbooks_worked_table_comes_out(tmp_path):
    """3.11: 48 GB fits, "Small" is 119 B and does not, 14 B passes; shapes as published."""
    gemma = write(tmp_path / "gemma-4-26b-a4b", GEMMA)
    for name, params in (("mistral-small-4", SMALL_4), ("ministral-3-14b", MINISTRAL)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "params.json").write_text(json.dumps(params))
    folders = (gemma, tmp_path / "mistral-small-4", tmp_path / "ministral-3-14b")
    plan = ("--gpu-memory", "97.9GiB", "--seq", "16384", "--micro-batch", "2")
    body = json.loads(run("compare", *folders, *plan, "--json", code=0).stdout)
    verdicts = [{v["check"]: v for v in m["verdicts"]} for m in body["models"]]
    fits = [v["fits_for_training"] for v in verdicts]
    assert [v["reason"] for v in fits] == [
        "fits_with_chunked_loss",
        "weights_do_not_fit",
        "fits",
    ]
    assert figure(fits[1], "parameters") == pytest.approx(119e9, rel=0.01)
    assert figure(fits[1], "weights") == pytest.approx(238e9, rel=0.01)
    assert figure(fits[2], "weights") == pytest.approx(27e9, rel=0.02)
    shapes = [v["attention_shape"]["reason"] for v in verdicts]
    assert shapes == ["dense_square", "every_path", "every_path"]
    table = run("compare", *folders, *plan, code=0).output
    plan_of_all, _, rows = table.partition("\n\n")
    assert "lora of rank 16, 2 x 16384 tokens" in plan_of_all
    assert "97.9 GiB" in plan_of_all
    assert [row.split()[0] for row in rows.splitlines()[1:]] == [f.name for f in folders]


def test_a_narrow_terminal_and_no_colour_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    output = run(write(tmp_path / "m"), "--gpu-memory", "80GiB", code=0).output
    assert "fits_for_training" in output
    assert "\x1b" not in output


def test_four_bits_do_not_shrink_fused_experts(tmp_path):
    folder = write(tmp_path / "m", GEMMA)
    sizes = {}
    for method in ("lora", "qlora"):
        body, verdicts = report(folder, "--method", method)
        sizes[method] = next(m for m in body["memory"] if m["item"] == "weights")["low"]
    experts = 2 * figure(verdicts["fits_for_training"], "expert_parameters")
    assert experts < sizes["qlora"] < sizes["lora"]
    assert sizes["qlora"] > 0.9 * sizes["lora"]
    assert any("three-dimensional" in line for line in verdicts["fits_for_training"]["evidence"])


def test_packed_tensors_betray_a_format_that_no_configuration_names(tmp_path):
    folder = write(tmp_path / "m")
    header = {
        "a": {"dtype": "F8_E4M3", "shape": [64], "data_offsets": [0, 64]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [64, 72]},
    }
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(72)
    (folder / "model.safetensors").write_bytes(data)
    body, verdicts = report(folder, code=1)
    assert verdicts["fits_for_training"]["reason"] == "quantised"
    assert body["model"]["quantised"] == "FP8"
    assert body["model"]["weights"]["by_dtype"] == {"F8_E4M3": 64, "BF16": 8}
