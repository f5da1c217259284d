"""The kernels that real modelling code looks for, asked in an interpreter of their own."""

import json
import os
import sys
from pathlib import Path

import pytest

from pfid.adapters.python_introspection import PythonIntrospection
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.model import model_facts
from pfid.domain.model import Mixer
from pfid.domain.training_plan import Plan

GATED = ("fla", "chunk_gated_delta_rule", "fused_recurrent_gated_delta_rule")
CONV = ("causal_conv1d", "causal_conv1d_fn", "causal_conv1d_update")


def package(folder, name, *functions, body=""):
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    lines = [f"def {function}(*a, **k): ..." for function in functions]
    (place / "__init__.py").write_text("\n".join([body, *lines]))


def ask(folder, *kinds, **more):
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    python = PythonIntrospection(sys.executable, environ, str(Path.cwd()), imports=False)
    answer = python.ask("hybrid_kernels", {"model_type": list(kinds), **more}, deadline_s=60)
    assert answer.said is not None, answer.detail
    return answer.said


def modelling(folder, kind, text):
    """A transformers of another version, as far as the probe reads it."""
    place = folder / "transformers" / "models" / kind
    place.mkdir(parents=True)
    (folder / "transformers" / "__init__.py").write_text("raise RuntimeError('never imported')")
    (place / f"modeling_{kind}.py").write_text(text)


@pytest.mark.full
@pytest.mark.torch
def test_a_hybrid_of_the_installed_transformers_names_its_kernels_good_bad_good(tmp_path):
    """Present, broken when imported, present again."""
    package(tmp_path, *GATED)
    package(tmp_path, *CONV)
    good = ask(tmp_path, "qwen3_5_text")
    assert {name.partition(":")[0] for name in good["needed"]} == {"fla", "causal_conv1d"}
    assert good["missing"] == []
    package(tmp_path, *GATED, body="raise OSError('undefined symbol: _ZN3c10')")
    bad = ask(tmp_path, "qwen3_5_text")
    assert {name.partition(":")[0] for name, _ in bad["missing"]} == {"fla"}
    assert all("undefined symbol" in why for _, why in bad["missing"])
    package(tmp_path, *GATED)
    assert ask(tmp_path, "qwen3_5_text")["missing"] == []


@pytest.mark.full
@pytest.mark.torch
@pytest.mark.parametrize("kind", ["jamba", "mamba", "falcon_mamba", "mamba2"])
def test_a_state_space_model_needs_its_kernels_and_no_way_without_one(tmp_path, kind):
    """mambapy, which some name too, is computed by torch and left off by their configurations."""
    bad = {name.partition(":")[0] for name, _ in ask(tmp_path, kind)["missing"]}
    assert bad == {"causal_conv1d", "mamba_ssm"}
    scans = ("selective_scan_fn", "selective_state_update", "mamba_inner_fn")
    combined = ("mamba_chunk_scan_combined", "mamba_split_conv1d_scan_combined")
    package(tmp_path, *CONV)
    package(tmp_path, "mamba_ssm", *scans, *combined)
    assert ask(tmp_path, kind)["missing"] == []


def test_which_kernels_count_is_the_installed_versions_business(tmp_path):
    old = "if is_flash_linear_attention_available():\n    from fla.ops import chunk_rule\n"
    modelling(tmp_path, "stripes", old + "is_causal_conv1d_available()\n")
    said = ask(tmp_path, "stripes_text", "stripes")
    assert said["needed"] == ["fla.ops:chunk_rule", "causal_conv1d:"]
    assert len(said["missing"]) == 2


def test_a_function_that_is_gone_is_missing_though_its_package_is_there(tmp_path):
    text = "@use_kernel_func_from_hub_with_fallback('chunk_rule', 'fla')\ndef f(): ...\n"
    modelling(tmp_path, "stripes", text)
    package(tmp_path, "fla", "other_rule")
    assert ask(tmp_path, "stripes")["missing"] == [
        ["fla:chunk_rule", "AttributeError: fla has no chunk_rule"]
    ]
    package(tmp_path, "fla", "chunk_rule")
    assert ask(tmp_path, "stripes")["missing"] == []


def test_a_class_it_does_not_know_is_no_answer(tmp_path):
    modelling(tmp_path, "stripes", "")
    outside = tmp_path / "transformers" / "models" / "a"
    (outside / "modeling_a").mkdir(parents=True)
    (outside / "modeling_a" / "b.py").write_text("")
    (outside / "b").mkdir()
    (outside / "b" / "modeling_a").mkdir()
    (outside / "b" / "modeling_a" / "b.py").write_text("")
    assert ask(tmp_path, "a/b")["problem"] == "class_unknown"
    assert ask(tmp_path, "dots")["problem"] == "class_unknown"


def test_code_that_looks_for_nothing_says_so(tmp_path):
    modelling(tmp_path, "plain", "import torch\n")
    assert ask(tmp_path, "plain")["needed"] == []


@pytest.mark.parametrize(
    ("call", "handed"),
    [
        ("self.chunk_gated_delta_rule(q, cu_seqlens=kwargs.pop('x', None))", True),
        ("mamba_chunk_scan_combined(x, seq_idx=seq_idx)", True),
        ("flash_attention(q, cu_seqlens=lengths)", False),
        ("self.chunk_gated_delta_rule(q)", False),
    ],
)
def test_boundaries_count_where_a_recurrent_function_gets_them(tmp_path, call, handed):
    modelling(tmp_path, "stripes", f"def forward(self, q, **kwargs):\n    {call}\n")
    assert ask(tmp_path, "stripes")["boundaries"] is handed


@pytest.mark.full
@pytest.mark.torch
def test_the_installed_hybrids_differ_in_what_they_hand_on(tmp_path):
    assert ask(tmp_path, "qwen3_5_text")["boundaries"] is True
    assert ask(tmp_path, "jamba")["boundaries"] is False


@pytest.mark.full
@pytest.mark.torch
def test_what_a_file_leaves_to_its_class_the_installed_class_is_asked(tmp_path):
    """Which layers of a Llama 4 have chunks stands in no file: three of four, by its class."""
    text = {
        "model_type": "llama4_text",
        "hidden_size": 64,
        "intermediate_size": 64,
        "intermediate_size_mlp": 128,
        "num_hidden_layers": 8,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_local_experts": 4,
        "attention_chunk_size": 32,
        "vocab_size": 256,
    }
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama4", "text_config": text}))
    plan = Plan(gpu_memory_bytes=1 << 34)
    asked, alone = (
        model_facts(Candidate(paths=(tmp_path,), plan=plan, python=python))
        for python in (sys.executable, "")
    )
    assert asked.shape.count(Mixer.CHUNKED) == 6
    assert asked.shape.count(Mixer.FULL) == 2
    assert alone.shape.count(Mixer.CHUNKED) == 8
    assert "layers_by_class" in dict(alone.notes)
    assert "layers_by_class" not in dict(asked.notes)
