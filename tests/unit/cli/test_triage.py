"""``pfid triage``: stops where the answer is, says why it cannot look, and fits on one page."""

import json
import random
import sys

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

LEDGER = """
[[claims]]
key = "{key}"
text = "{text}"
date = 2026-08-24
status = "negative"
source = {{kind = "measured", by = "an A/B run"}}
"""


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Write a spec beside its files and triage it."""
    chance = random.Random(7)
    ragged = [chance.choice((40, 60, 900)) for _ in range(400)]
    (tmp_path / "ragged.json").write_text(json.dumps(ragged))
    (tmp_path / "even.json").write_text(json.dumps([512] * 100))
    (tmp_path / "trace.json").write_text(json.dumps(trace()))
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def triage(text, *arguments):
        spec = tmp_path / "spec.toml"
        spec.write_text(text)
        shared = ("--python", "/nonexistent/python", "--json")
        done = CliRunner().invoke(main, ["triage", str(spec), *shared, *arguments])
        return done, json.loads(done.stdout) if done.stdout.startswith("{") else None

    return triage


ATTENTION = "fmha_cutlassF_bf16_aligned_32x128_gmem_sm80"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128"


def trace(attention=ATTENTION, rows=None):
    """One step of 100 ms: attention takes 60 of its 90 busy ones, on kernels for sm80."""
    kernels = rows or ((attention, 0.0, 60_000.0), (GEMM, 60_000.0, 30_000.0))
    rows = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9,
         "ts": 0.0, "dur": 100_000.0},
        *(
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": took,
             "args": {"device": 0, "stream": 7}}
            for name, at, took in kernels
        ),
    ]  # fmt: skip
    device = {"id": 0, "name": "a card", "computeMajor": 12, "computeMinor": 0}
    return {"schemaVersion": 1, "deviceProperties": [device], "traceEvents": rows}


RAGGED = '[lengths]\nfile = "ragged.json"\nbatch = 2\n'
EVEN = '[lengths]\nfile = "even.json"\nbatch = 2\n'
TRACE = '[trace]\nfile = "trace.json"\n'
CLAIMS = '[claims]\nfile = "claims.toml"\n'


def stages(said):
    return {one["stage"]: one["looked"] for one in said["stages"]}


def test_padding_is_the_answer_where_it_pays_and_backends_are_not_reached(ask):
    done, said = ask(RAGGED)
    assert said["stage"] == "data"
    assert [one["lever"] for one in said["levers"]] == ["bucketing"]
    assert stages(said)["backends"] == "not reached"
    assert stages(said)["scaling"] == "not asked"
    assert done.exit_code == 0


def test_what_the_ledger_holds_as_a_measured_negative_is_not_recommended(ask, tmp_path):
    (tmp_path / "claims.toml").write_text(LEDGER.format(key="bucketing", text="no gain here"))
    done, said = ask(RAGGED + CLAIMS)
    assert said["answer"] is None
    assert said["levers"] == []
    (left_out,) = said["not_recommended"]
    assert (left_out["lever"], left_out["claim"]) == ("bucketing", "bucketing")
    assert done.exit_code == 3


def test_a_claim_that_a_lever_helped_does_not_speak_against_it(ask, tmp_path):
    claim = LEDGER.format(key="bucketing", text="44.3 to 20.1 s/it")
    (tmp_path / "claims.toml").write_text(claim.replace('"negative"', '"measured"'))
    _, said = ask(RAGGED + CLAIMS)
    assert said["not_recommended"] == []
    assert said["stage"] == "data"


def test_backends_come_last_and_by_what_takes_the_time(ask, tmp_path):
    text = "FlashAttention-4 on sm_120 is sour"
    (tmp_path / "claims.toml").write_text(LEDGER.format(key="fa4", text=text))
    done, said = ask(TRACE + EVEN + CLAIMS)
    assert said["stage"] == "backends"
    assert [one["lever"] for one in said["levers"]] == ["flex_attention", "flash_attention_2"]
    assert [one["lever"] for one in said["not_recommended"]] == ["flash_attention_4"]
    assert "attention takes 66.7%" in said["stages"][2]["said"]
    assert "of what was looked at (masks, scaling could not be" in said["answer"]
    assert done.exit_code == 0


@pytest.mark.parametrize("place", ["here", "above", "current"])
def test_the_projects_own_ledger_is_read_without_being_named(ask, tmp_path, monkeypatch, place):
    folder = tmp_path / "probes" / "deep" if place == "above" else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ledger = elsewhere if place == "current" else tmp_path
    (ledger / "claims.toml").write_text(LEDGER.format(key="bucketing", text="no gain here"))
    (folder / "spec.toml").write_text(RAGGED.replace("ragged.json", str(tmp_path / "ragged.json")))
    done = CliRunner().invoke(main, ["triage", str(folder / "spec.toml"), "--json"])
    said = json.loads(done.stdout)
    assert [one["lever"] for one in said["not_recommended"]] == ["bucketing"]
    assert said["claims"]["negatives"] == 1
    assert said["claims"]["file"].endswith("claims.toml")
    assert done.exit_code == 3


def test_a_ledger_outside_of_the_repository_is_somebody_elses(ask, tmp_path, monkeypatch):
    (tmp_path / "claims.toml").write_text(LEDGER.format(key="bucketing", text="no gain there"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    (project / "spec.toml").write_text(RAGGED.replace("ragged.json", str(tmp_path / "ragged.json")))
    done = CliRunner().invoke(main, ["triage", str(project / "spec.toml"), "--json"])
    said = json.loads(done.stdout)
    assert said["claims"] == {"file": None, "negatives": 0}
    assert said["stage"] == "data"
    done = CliRunner().invoke(main, ["triage", str(project / "spec.toml")])
    assert "none found: what was measured" in " ".join(done.stdout.split())


def test_a_ledger_that_was_found_and_cannot_be_read_lets_nothing_be_recommended(ask, tmp_path):
    (tmp_path / "claims.toml").write_text("[[claims]]\n")
    done, said = ask(RAGGED)
    assert (done.exit_code, said) == (2, None)
    assert "claims.toml" in done.output


@pytest.mark.parametrize(
    ("attention", "model", "left"),
    [
        ("triton_tem_fused_flex_attention_0", "", ["flash_attention_2", "flash_attention_4"]),
        ("void pytorch_flash::flash_fwd_kernel<x>", "", ["flex_attention", "flash_attention_4"]),
        ("void flash::flash_fwd_kernel<x>", "", ["flex_attention", "flash_attention_4"]),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100F", "", ["flex_attention"]),
        (ATTENTION, "flex_attention", ["flash_attention_2", "flash_attention_4"]),
        (ATTENTION, "", ["flex_attention", "flash_attention_2", "flash_attention_4"]),
    ],
)
def test_what_runs_already_is_not_recommended(ask, tmp_path, attention, model, left):
    (tmp_path / "trace.json").write_text(json.dumps(trace(attention)))
    named = f'[model]\nconfig = "none"\nattention = "{model}"\n' if model else ""
    _, said = ask(named + TRACE + EVEN)
    assert [one["lever"] for one in said["levers"]] == left
    every = {"flex_attention", "flash_attention_2", "flash_attention_4"}
    assert {one["lever"] for one in said["already_running"]} == every - set(left)


@pytest.mark.parametrize(("experts", "wanted"), [(0, False), (8, True)])
def test_one_gemm_for_all_experts_is_for_models_that_have_some(ask, tmp_path, experts, wanted):
    keys = {"model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 4}
    more = {"num_hidden_layers": 1, "intermediate_size": 128, "vocab_size": 100}
    told = {**keys, **more, "num_local_experts": experts, "num_experts_per_tok": 2}
    (tmp_path / "config.json").write_text(json.dumps(told))
    _, said = ask('[model]\nconfig = "config.json"\n' + TRACE + EVEN)
    assert ("grouped_mm" in {one["lever"] for one in said["levers"]}) is wanted


def without_a_last_row(text):
    return text[: text.rindex("{")]


def with_a_damaged_row(text):
    return text.replace(f'"name": "{GEMM}"', f'"name" "{GEMM}"')


def with_a_row_of_no_time(text):
    return text.replace('"dur": 30000.0', '"dur": null')


def with_another_behind(text):
    return text + text


def of_two_processes(text):
    step = text[text.index("{", text.index("[", text.index("traceEvents"))) :]
    step = step[: step.index("}") + 1]
    return text.replace(step, f"{step}, {step.replace('9', '8')}")


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (without_a_last_row, "ends in its middle"),
        (with_a_damaged_row, "records that could not be read: 1"),
        (with_a_row_of_no_time, "rows without usable times: 1"),
        (with_another_behind, "characters behind the end"),
        (of_two_processes, "several processes are in one file"),
    ],
)
def test_a_trace_that_is_not_one_ranks_whole_tells_no_cost_centre(ask, tmp_path, harm, why):
    (tmp_path / "trace.json").write_text(harm(json.dumps(trace())))
    done, said = ask(TRACE + EVEN)
    assert stages(said)["kernels"] == "no answer"
    assert why in said["stages"][2]["said"]
    assert (said["answer"], said["levers"]) == (None, [])
    assert done.exit_code == 3


def launches(gap_us, count=100, took_us=10.0):
    return [(GEMM, n * (took_us + gap_us), took_us) for n in range(count)]


def test_a_device_that_waits_for_launches_is_launch_bound(ask, tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(trace(rows=launches(990.0 / 11, 1_000))))
    done, said = ask(TRACE + EVEN)
    assert (said["regime"], said["regime_from"], said["no_regime"]) == (
        *("launch_bound", "kernels"),
        None,
    )
    assert [one["lever"] for one in said["levers"]] == [
        *("cuda_graphs", "torch_compile", "bigger_batch"),
    ]
    assert "1,000 a step, 10.0 us each" in said["answer"]
    assert said["stages"][2]["figures"]["launches_per_step"] == 1_000
    assert done.exit_code == 0


def test_a_device_that_waits_long_waits_for_data_and_is_not_launch_bound(ask, tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(trace(rows=launches(0.0, 100, 100.0))))
    _, said = ask(TRACE + EVEN)
    assert [one["lever"] for one in said["levers"]] == ["feeding"]
    assert "90.0 ms the longest" in said["answer"]
    assert said["regime"] is None
    assert said["no_regime"] == "the spec has no [step]"


def test_a_stage_that_cannot_be_looked_at_says_why_and_the_others_go_on(ask):
    step = '[step]\nfactory = "tiny"\nwidths = [8, 16, 32]\ndevice = "cpu"\n'
    model = '[model]\nconfig = "config.json"\n'
    done, said = ask(model + step + RAGGED)
    looked = stages(said)
    assert looked["masks"] == looked["scaling"] == looked["kernels"] == "could not look"
    assert "/nonexistent/python" in said["stages"][1]["said"]
    assert said["stage"] == "data"
    assert done.exit_code == 0


def test_a_pass_that_fails_is_made_once_and_its_failure_kept(ask, tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\nexit 1\n")
    python.chmod(0o700)
    step = '[step]\nfactory = "tiny"\nwidths = [8, 16, 32]\ndevice = "cpu"\n'
    _, said = ask(step + EVEN, "--python", str(python))
    assert stages(said)["scaling"] == stages(said)["kernels"] == "could not look"
    assert (tmp_path / "runs").read_text() == "run\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names nothing to look at"),
        ("[nonsense]\n", "unknown key"),
        ("[step]\nfactory = 5\nwidths = [1]\n", "step.factory"),
        ('[lengths]\nfile = "x"\n', "lengths.batch: is required"),
        ("[[[", "not TOML"),
        (RAGGED + CLAIMS, "claims.toml: cannot be read"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_with_its_key(ask, text, why):
    done, said = ask(text)
    assert said is None
    assert why in done.output
    assert done.exit_code == 2


@pytest.mark.parametrize("content", ["[1, 2, -3]", "[", "[]", '["a"]'])
def test_lengths_that_cannot_be_are_a_stage_that_could_not_be_looked_at(ask, tmp_path, content):
    (tmp_path / "ragged.json").write_text(content)
    done, said = ask(RAGGED)
    assert stages(said)["data"] == "could not look"
    assert done.exit_code == 3


def test_the_page_is_one_file_that_loads_nothing_and_escapes_what_it_is_told(ask, tmp_path):
    page = tmp_path / "page.html"
    ask(f'title = "<script>alert(1)</script>"\n{RAGGED}', "--html", str(page))
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not any(word in html for word in ("http://", "https://", "src=", "@import"))
    assert "PairedBucketSampler" in html


def test_a_page_that_cannot_be_written_is_said(ask, tmp_path):
    done, _ = ask(RAGGED, "--html", str(tmp_path / "none" / "page.html"))
    assert "cannot be written" in done.output
    assert done.exit_code == 2


def test_the_shape_is_the_documented_one(ask, documented):
    _, said = ask(RAGGED)
    assert set(said) - {"schema"} == documented("`pfid triage`")


@pytest.mark.full
@pytest.mark.torch
def test_masks_that_are_wrong_stop_it_before_anything_is_timed(tmp_path):
    keys = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({**keys, "num_hidden_layers": 1}))
    spec = tmp_path / "spec.toml"
    model = '[model]\nconfig = "config.json"\nattention = "flash_attention_9"\n'
    step = '[step]\nfactory = "tiny"\nwidths = [8, 16, 32]\ndevice = "cpu"\n'
    spec.write_text(model + step)
    done = CliRunner().invoke(main, ["triage", str(spec), "--python", sys.executable])
    assert "no figure of it counts" in done.stdout
    assert "not reached" in done.stdout
    assert done.exit_code == 1


@pytest.mark.full
@pytest.mark.torch
def test_the_built_in_step_goes_through_every_stage(tmp_path):
    (tmp_path / "even.json").write_text(json.dumps([512] * 100))
    spec = tmp_path / "spec.toml"
    step = '[step]\nfactory = "tiny"\nwidths = [16, 64, 256]\ndevice = "cpu"\nloss = "tiny"\n'
    spec.write_text(step + EVEN)
    arguments = ["triage", str(spec), "--python", sys.executable, "--json"]
    done = CliRunner().invoke(main, arguments)
    said = json.loads(done.stdout)
    assert said["stages"][1]["looked"] in ("found", "no answer")
    assert (said["regime"] is None) is (said["stages"][1]["looked"] == "no answer")
    assert done.exit_code in (0, 3)
