"""A trace is bound to its run: which flags took, and which it says nothing about."""

import json
import os

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from pfid.adapters.manifest_files import write_manifest
from pfid.cli.trace import command
from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    Ending,
    Field,
    HostIdentity,
    InterpreterIdentity,
    Manifest,
)
from pfid.policy.provenance_fields import at_launch

FLEX = "triton_tem_fused_flex_attention_0"
GROUPED = "void cutlass::device_kernel<enable_3x_kernel_for_sm9x<GroupProblemShape<S>>>(P)"
TORCH_FLASH = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_traits<128>>(x)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
LAUNCHED_S = 1_788_000_000.0


@pytest.fixture
def traced(tmp_path):
    """A trace of kernels in a folder, beside a manifest where fields are given."""

    def write(*kernels, fields=None, at_s=None, edit=False, **changed):
        events = [
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * n, "dur": 5}
            for n, name in enumerate(kernels)
        ]
        base = {} if at_s is None else {"baseTimeNanoseconds": int(at_s * 1e9)}
        trace = tmp_path / "trace.json"
        trace.write_text(json.dumps({"deviceProperties": [], **base, "traceEvents": events}))
        if fields is not None:
            manifest = Manifest(
                run_id="train-1",
                name="train",
                attempt=1,
                sampled_at_s=LAUNCHED_S,
                complete=True,
                command=CommandIdentity(),
                host=HostIdentity(),
                code=CodeIdentity(),
                interpreter=InterpreterIdentity(),
                fields={**at_launch({}, "", None), **fields},
                end=Ending(exit_code=0, signal=None, at_s=LAUNCHED_S + 3_600),
            )
            write_manifest(tmp_path, replace(manifest, **changed))
        if edit:
            file = tmp_path / "provenance.json"
            file.write_text(file.read_text().replace('"train"', '"other"'))
        return trace

    return write


def read(*arguments):
    done = CliRunner().invoke(command, ["read", "--json", *map(str, arguments)])
    body = json.loads(done.stdout)
    notes = {note["code"]: note["text"] for note in body["notes"]}
    return body["launches"]["provenance"], notes, done.exit_code


def outcomes(bound):
    return {flag["field"]: (flag["outcome"], flag["reason"]) for flag in bound["flags"]}


def test_the_manifest_beside_a_trace_binds_it(traced):
    trace = traced(FLEX, fields={"attn_implementation": Field(requested="flex_attention")})
    bound, notes, code = read(trace)
    assert (bound["run_id"], bound["bound_by"], code) == ("train-1", "beside", 0)
    assert outcomes(bound)["attn_implementation"] == ("pass", "took")
    assert "took" in notes["flag_took"]
    assert "no_provenance" not in notes


def test_a_run_launched_without_the_flag_leaves_it_unknown(traced):
    bound, notes, code = read(traced(FLEX, GROUPED, fields={}))
    assert set(outcomes(bound).values()) == {("unknown", "launched_without")}
    assert "nothing about the flag" in notes["flag_launched_without"]
    assert code == 0
    assert read("--flag", "attn_implementation", traced(FLEX, fields={}))[2] == 3


def test_a_flag_that_did_not_take_fails(traced):
    bound, _, code = read(
        traced(GEMM, fields={"experts_implementation": Field(requested="grouped_mm")})
    )
    assert outcomes(bound)["experts_implementation"] == ("fail", "did_not_take")
    assert code == 1


@pytest.mark.parametrize("harm", ["cut", "damaged", "rejected"])
def test_a_flag_is_not_said_to_have_failed_by_what_was_not_read(traced, harm):
    fields = {
        "attn_implementation": Field(requested="flex_attention"),
        "experts_implementation": Field(requested="grouped_mm"),
    }
    trace = traced(GEMM, TORCH_FLASH, FLEX, GROUPED, fields=fields)
    assert [outcome for outcome, _ in outcomes(read(trace)[0]).values()] == ["unknown", "pass"]
    text = trace.read_text()
    flex = text.index('{"ph": "X", "cat": "kernel", "name": "triton')
    if harm == "cut":
        trace.write_text(text[:flex])
    else:
        old, new = {"damaged": ('"dur":', '"dur"'), "rejected": ('"dur": 5', '"dur": null')}[harm]
        trace.write_text(text[:flex] + text[flex:].replace(old, new))
    bound, notes, code = read(trace)
    assert set(outcomes(bound).values()) == {("unknown", "cannot_tell")}
    assert "as far as it was read" in notes["flag_cannot_tell"]
    assert code == 3
    assert read("--flag", "attn_implementation", trace)[2] == 3


def test_a_run_can_be_named_and_one_that_is_not_there_is_said(traced, tmp_path):
    trace = traced(FLEX, fields={"attn_implementation": Field(requested="flex_attention")})
    elsewhere = tmp_path / "sub" / "t.json"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(trace.read_bytes())
    assert read(elsewhere)[0] is None
    bound, _, _ = read("--run", tmp_path / "provenance.json", elsewhere)
    assert bound["bound_by"] == "named"
    gone = CliRunner().invoke(command, ["read", "--run", str(tmp_path / "no.json"), str(trace)])
    assert gone.exit_code != 0


@pytest.mark.parametrize(
    ("seconds", "ran"), [(-3_600, False), (10, True), (3_500, True), (7_300, False)]
)
def test_a_trace_of_another_time_says_nothing_about_the_run(traced, seconds, ran):
    field = Field(requested="flex_attention")
    trace = traced(FLEX, fields={"attn_implementation": field}, at_s=LAUNCHED_S + seconds)
    bound, notes, _ = read(trace)
    assert (outcomes(bound)["attn_implementation"][0] == "pass") is ran
    assert ("did not run" in notes.get("flag_cannot_tell", "")) is not ran


def test_an_edited_manifest_binds_nothing(traced):
    field = Field(requested="flex_attention")
    bound, notes, _ = read(traced(FLEX, fields={"attn_implementation": field}, edit=True))
    assert outcomes(bound)["attn_implementation"] == ("unknown", "cannot_tell")
    assert "edited" in notes["flag_cannot_tell"]


def test_a_trace_without_device_rows_tells_nothing_about_flags(traced):
    field = Field(requested="flex_attention")
    trace = traced(fields={"attn_implementation": field})
    trace.write_text(
        json.dumps(
            {
                "traceEvents": [
                    {
                        "ph": "X",
                        "cat": "cpu_op",
                        "name": "aten::mm",
                        "pid": 0,
                        "tid": 7,
                        "ts": 1,
                        "dur": 5,
                    }
                ]
            }
        )
    )
    bound, _, code = read(trace)
    assert outcomes(bound)["attn_implementation"] == ("unknown", "cannot_tell")
    assert code == 3


def test_no_difference_is_evidence_of_nothing_without_launches_that_tell(traced):
    zero = {"max_abs_diff": Field(observed=0.0)}
    _, notes, _ = read(traced(GEMM, fields=zero))
    assert "evidence of nothing" in notes["zero_difference"]
    told = {**zero, "experts_implementation": Field(requested="grouped_mm")}
    assert "zero_difference" not in read(traced(GROUPED, fields=told))[1]


def test_what_lies_beside_it_and_is_no_manifest_binds_nothing_and_stops_nothing(traced, tmp_path):
    trace = traced(FLEX)
    (tmp_path / "provenance.json").write_text('{"predicate": "slsa"}')
    bound, notes, code = read(trace)
    assert (bound, code) == (None, 0)
    assert "no_provenance" in notes


def reported(folder, rank, **more):
    """Step files as a run writes them: a slow first step, then steps of 4,096 tokens."""
    steps = folder / "steps"
    steps.mkdir(exist_ok=True)
    note = {"note": "accounting", "name": "6ND of 1e+09 trained", "peak_flops_per_s": None}
    lines = [note] + [
        {"step": n, "seconds": 2.0, "tokens": 4_096, "width": 512, "rank": rank, "pid": 1} | more
        for n in range(3)
    ]
    (steps / f"rank-{rank}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))


def accounting(*arguments):
    done = CliRunner().invoke(command, ["read", "--json", *map(str, arguments)])
    body = json.loads(done.stdout)
    return body["accounting"], body["accounting_unknown"]


@pytest.mark.parametrize("lines", [1, 2])
def test_the_runs_own_report_says_what_a_step_costs_under_its_own_name(traced, tmp_path, lines):
    trace = traced(GEMM, fields={})
    more = {"flops": lines * 3e12, "tokens": lines * 4_096, "interval_steps": lines}
    reported(tmp_path, 0, **more)
    found, unknown = accounting("--steps", "1", "--wall", "2", trace)
    assert (found["flops_per_s"], found["tokens_per_step"]) == (1.5e12, 4_096)
    assert found["name"] == "6ND of 1e+09 trained"
    assert "own report" in found["source"]
    assert unknown is None


def test_tokens_and_width_of_the_run_go_with_a_model_that_is_named(traced, tmp_path):
    trace = traced(GEMM, fields={})
    reported(tmp_path, 0)
    assert "reported no FLOPs" in accounting("--steps", "1", trace)[1]
    given = ("--parameters", "1000", "--attention-layers", "1", "--attention-width", "8")
    found, _ = accounting(*given, "--steps", "1", "--wall", "2", trace)
    assert found["flops_per_step"] == 6 * 1_000 * 4_096
    assert found["attention_flops_per_step"] == 12 * 8 * 512 * 4_096


def test_what_lies_there_and_is_no_report_is_passed_by(traced, tmp_path):
    trace = traced(GEMM, fields={})
    reported(tmp_path, 0, flops=3e12)
    os.mkfifo(tmp_path / "steps" / "pipe.jsonl")
    (tmp_path / "steps" / "folder.jsonl").mkdir()
    (tmp_path / "steps" / "rank-1.jsonl").write_text('{"step": 1, "flops": 1e999}\n\0[]{')
    (tmp_path / "steps" / "rank-2.jsonl").write_text("nonsense\n" * 9)
    assert accounting("--steps", "1", "--wall", "2", trace)[0]["flops_per_s"] == 1.5e12


def test_a_trace_that_is_not_the_runs_takes_nothing_of_its_report(traced, tmp_path):
    trace = traced(GEMM, fields={}, edit=True)
    reported(tmp_path, 0, flops=3e12)
    assert accounting("--steps", "1", trace)[0] is None
