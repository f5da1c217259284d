"""The mask probe against the transformers that is installed here, over real configurations."""

import ast
import json
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from pfid.analysis.mask_structure import read_masks
from pfid.cli.entry import main
from pfid.domain.masks import MaskCase, MaskKind
from pfid.domain.outcome import Outcome
from pfid.formats.mask_report import MaskReportError, read_mask_report
from pfid.probes import (
    mask,
    mask_call,
    mask_config,
    mask_definition,
    mask_flash,
    mask_hub,
    mask_layers,
)

MODULES = (mask, mask_call, mask_config, mask_definition, mask_flash, mask_hub, mask_layers)
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "max_position_embeddings": 4096,
}
GEMMA = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 6,
    "sliding_window": 1024,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    **SIZES,
}
real = [pytest.mark.full, pytest.mark.torch]


@pytest.fixture
def config(tmp_path):
    def write(**keys):
        (tmp_path / "config.json").write_text(json.dumps(keys))
        return str(tmp_path)

    return write


def look(model, **asked):
    """Ask in this process: importing transformers once is enough."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    try:
        with warnings.catch_warnings():
            return read_mask_report(mask.answer({"model": model, **asked}))
    finally:
        torch.set_num_threads(threads)


def outcomes(report, *attention):
    return {row.reason for row in read_masks(report, attention).rows}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_it_is_python_3_9_and_needs_nothing_but_the_standard_library_to_start(module):
    tree = ast.parse(Path(module.__file__).read_text(), feature_version=(3, 9))
    names = [n.names[0].name for n in tree.body if isinstance(n, ast.Import)]
    names += [str(n.module) for n in tree.body if isinstance(n, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


class TestReal:
    pytestmark = real

    def test_every_mask_of_a_windowed_model_is_right_under_every_attention(self, config):
        report = look(config(**GEMMA))
        assert read_masks(report).outcome is Outcome.PASS
        assert {"sdpa", "eager", "flex_attention", "flash_attention_2"} <= set(report.registered)
        assert {one.mask_function for one in report.layers} == {
            "create_causal_mask",
            "create_sliding_window_causal_mask",
        }
        assert [one.window for one in report.layers] == [1024] * 5 + [None]
        assert report.flash_window == 1024
        assert [fact.kind for fact in report.cliff] == [MaskKind.NONE, MaskKind.TENSOR]

    def test_a_full_layer_keeps_the_causal_way_only_without_padding(self, config):
        report = look(config(**GEMMA), attention=["sdpa"])
        kinds = {f.case: f.kind for f in report.masks if f.layer_type == "full_attention"}
        assert kinds[MaskCase.NONE] is kinds[MaskCase.ALL_ONES] is MaskKind.NONE
        assert kinds[MaskCase.RIGHT_PAD] is kinds[MaskCase.PACKED] is MaskKind.TENSOR
        (call,) = {(one.sdpa["with_mask"].kv_heads, one.kv_heads) for one in report.layers}
        assert call == (4, 2)

    def test_a_window_that_would_not_fit_is_probed_smaller_and_that_is_kept(self, config):
        keys = {**SIZES, "model_type": "mistral", "num_hidden_layers": 2, "sliding_window": 131072}
        report = look(config(**keys), attention=["sdpa", "flash_attention_2"])
        assert report.configured == {"sliding_attention": 131072}
        assert report.probed == {"sliding_attention": 1024}
        assert outcomes(report) == {"right"}

    def test_chunks_are_judged_and_what_the_library_refuses_is_no_fault(self, config):
        keys = {
            **SIZES,
            "model_type": "llama4_text",
            "num_hidden_layers": 4,
            "num_local_experts": 2,
        }
        report = look(config(**keys, attention_chunk_size=512), attention=["sdpa"])
        assert report.layer_types == {"chunked_attention": 3, "full_attention": 1}
        assert outcomes(report) == {"right"}

    def test_a_mask_function_that_is_one_off_is_seen(self, config, monkeypatch):
        from transformers import masking_utils

        overlay = masking_utils.sliding_window_overlay
        monkeypatch.setattr(masking_utils, "sliding_window_overlay", lambda n: overlay(n + 1))
        assert "window_off_by_one" in outcomes(look(config(**GEMMA), attention=["sdpa"]))

    def test_a_mask_function_that_sees_ahead_is_seen(self, config, monkeypatch):
        from transformers import masking_utils

        def ahead(_batch, _head, query, key):
            return key <= query + 1

        monkeypatch.setattr(masking_utils, "causal_mask_function", ahead)
        assert "not_causal" in outcomes(look(config(**GEMMA), attention=["eager"]))

    def test_flash_without_its_keyword_is_seen(self, config, monkeypatch):
        from transformers.models.gemma3 import modeling_gemma3

        attention = modeling_gemma3.Gemma3Attention
        built = attention.__init__

        def forgetful(self, *args, **kwargs):
            built(self, *args, **kwargs)
            self.sliding_window = None

        monkeypatch.setattr(attention, "__init__", forgetful)
        report = look(config(**GEMMA), attention=["flash_attention_2"])
        assert "window_not_passed" in outcomes(report)

    def test_a_mask_function_that_wants_what_no_release_has_wanted_is_refused(
        self, config, monkeypatch
    ):
        from transformers import masking_utils

        def create_causal_mask(config, moon_phase):
            """Want the moon."""

        monkeypatch.setattr(masking_utils, "create_causal_mask", create_causal_mask)
        with pytest.raises(MaskReportError, match="wants moon_phase") as caught:
            look(config(**GEMMA), attention=["sdpa"])
        assert caught.value.reason == "unknown_signature"

    def test_code_that_comes_with_a_model_is_not_executed(self, config, tmp_path):
        (tmp_path / "evil.py").write_text("raise SystemExit('executed')\n")
        model = config(model_type="never_heard_of", auto_map={"AutoConfig": "evil.Config"}, **SIZES)
        with pytest.raises(MaskReportError) as caught:
            look(model)
        assert caught.value.reason in {"remote_code", "no_config"}

    @pytest.mark.parametrize("text", ["", "{", '{"hidden_size": 64}', '{"model_type": "nonsense"}'])
    def test_what_is_no_configuration_is_refused(self, tmp_path, text):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(MaskReportError) as caught:
            look(str(tmp_path))
        assert caught.value.reason == "no_config"

    def test_the_command_says_it_as_the_playbook_expects(self, config):
        arguments = ["probe", "mask", config(**GEMMA), "--python", sys.executable]
        done = CliRunner().invoke(main, [*arguments, "--attention", "sdpa"])
        assert (
            "sliding_attention max 1,024 allowed/row, saturates at row 1,023  PASS" in done.output
        )
        assert "planted faults named  3 of 3" in done.output
        assert done.exit_code == 0

    @pytest.mark.parametrize(
        ("keys", "reasons"),
        [
            ({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2}, {"right"}),
            ({"model_type": "bloom", "hidden_size": 64, "n_head": 4}, {"layers_unseen"}),
            ({"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4}, set()),
        ],
    )
    def test_masks_are_judged_of_models_whose_layers_are_seen_to_take_them(
        self, config, keys, reasons
    ):
        """BLOOM computes attention in a way of its own, and BERT looks both ways.

        That the library could make either a causal mask says nothing of them.
        """
        model = config(vocab_size=128, num_hidden_layers=2, **keys)
        report = look(model, attention=["eager"])
        assert outcomes(report) == reasons
        right = Outcome.PASS if reasons == {"right"} else Outcome.UNKNOWN
        assert read_masks(report).outcome is right

    def test_an_attention_that_nobody_registered_fails(self, config, documented):
        arguments = ["probe", "mask", config(**GEMMA), "--python", sys.executable, "--json"]
        done = CliRunner().invoke(main, [*arguments, "--attention", "flash_attention_9"])
        said = json.loads(done.output)
        assert {row["reason"] for row in said["masks"]} == {"unregistered"}
        assert set(said) - {"schema"} == documented("`pfid probe mask`")
        assert done.exit_code == 1

    @pytest.mark.parametrize("name", ["my_kernel", "owner/kernel"])
    def test_the_configurations_own_attention_is_among_those_that_are_judged(self, config, name):
        pytest.importorskip("transformers")
        model = config(**GEMMA, _attn_implementation=name, attn_implementation=name)
        masks = mask.Masks(model, None, None)
        assert masks.requested == name
        assert name in masks.attention
        assert set(masks.attention) >= set(masks.registered)
        assert mask.Masks(model, ["sdpa"], None).attention == ["sdpa"]

    @pytest.mark.parametrize(
        ("name", "window", "reasons", "outcome"),
        [
            ("kernels-community/flash-attn2", 1024, {"right"}, Outcome.PASS),
            ("kernels-community/vllm-flash-attn3@v2", 1024, {"right"}, Outcome.PASS),
            ("kernels-community/flash-attn2", None, {"right", "window_not_passed"}, Outcome.FAIL),
            ("owner/kernel:forward", 1024, {"hub_kernel"}, Outcome.UNKNOWN),
            ("owner/kernel", 1024, {"hub_kernel"}, Outcome.UNKNOWN),
            ("a/b/c", 1024, {"unregistered"}, Outcome.FAIL),
        ],
    )
    def test_a_kernel_of_the_hub_is_judged_as_what_it_is_known_to_be_and_else_unknown(
        self, config, monkeypatch, name, window, reasons, outcome
    ):
        from transformers.models.gemma3 import modeling_gemma3

        attention = modeling_gemma3.Gemma3Attention
        built = attention.__init__

        def passing_on(self, *args, **kwargs):
            built(self, *args, **kwargs)
            self.sliding_window = self.sliding_window and window

        monkeypatch.setattr(attention, "__init__", passing_on)
        report = look(config(**GEMMA, _attn_implementation=name, attn_implementation=name))
        assert {fact.attention for fact in report.masks} == {*report.registered, name}
        assert outcomes(report, name) == reasons
        assert read_masks(report, (name,)).outcome is outcome
        assert outcomes(look(config(**GEMMA), attention=[name]), name) == reasons


def bound(function):
    """Call a function as the probe would; what it was given, tensors by their shape."""
    torch = pytest.importorskip("torch")
    given = {"batch": 2, "mask": None, "positions": torch.arange(8).expand(2, -1)}
    utils = SimpleNamespace()
    return mask_call.call(torch, utils, function, "the config", given, positions_passed=True)


@pytest.mark.full
@pytest.mark.torch
class TestSignatures:
    """Names of arguments as they stood in releases."""

    def test_of_4_53(self):
        def create(config, input_embeds, attention_mask, cache_position, past_key_values,
                   position_ids=None):  # fmt: skip
            assert attention_mask is past_key_values is None
            return config, input_embeds.shape, cache_position.shape, position_ids.shape

        assert bound(create) == ("the config", (2, 8, 1), (8,), (2, 8))

    def test_of_5_24(self):
        def create(config, inputs_embeds, attention_mask, cache, position_ids=None, **more):
            assert not more
            assert attention_mask is cache is None
            return config, inputs_embeds.shape, position_ids.shape

        assert bound(create) == ("the config", (2, 8, 1), (2, 8))

    def test_an_argument_that_nobody_knows_is_named(self):
        def create(config, moon_phase):
            """Want what no release has had."""

        with pytest.raises(mask_call.UnknownSignature, match="create wants moon_phase"):
            bound(create)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--python", "/nonexistent/python"], "does not exist"),
        (["--python", "/bin/true"], "no answer"),
    ],
)
def test_an_interpreter_that_is_none_is_named(config, arguments, said):
    done = CliRunner().invoke(main, ["probe", "mask", config(**GEMMA), *arguments])
    assert said in done.output
    assert done.exit_code == 3


def test_an_interpreter_without_torch_is_told_so(tmp_path, config, monkeypatch):
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = str(empty / "bin" / "python")
    done = CliRunner().invoke(main, ["probe", "mask", config(**GEMMA), "--python", python])
    assert "has no torch" in done.output
    assert done.exit_code == 3
