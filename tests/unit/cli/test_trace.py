"""``pfid trace``: figures, what must be said beside them, and exit codes."""

import gc
import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.cli import trace_reading
from pfid.cli.entry import main
from pfid.cli.trace import command
from pfid.formats.kernel_names.identity import identify

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
FMHA = "fmha_cutlassF_bf16_aligned_32x128_gmem_sm80"
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GROUPED = "void cutlass::device_kernel<enable_3x_kernel_for_sm9x<GroupProblemShape<S>>>(P)"
BLACKWELL = {"id": 0, "name": "NVIDIA RTX PRO 6000", "computeMajor": 12, "computeMinor": 0}


def run(*arguments, text=None):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], input=text)


def report(*arguments, code=0):
    result = run("read", "--json", *arguments)
    assert result.exit_code == code, result.output
    body = json.loads(result.stdout)
    assert body["schema"] == 1
    return body, {note["code"]: note["text"] for note in body.get("notes", ())}


def row(name, ts, dur, stream=7, cat="kernel", pid=0):
    event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": stream}
    return event | {"ts": ts, "dur": dur, "args": {}}


def steps(*starts, length=100):
    return [
        row(f"ProfilerStep#{n}", start, length, 1, "user_annotation", 99)
        for n, start in enumerate(starts)
    ]


@pytest.fixture
def trace(tmp_path):
    def write(*events, name="t.json", devices=(BLACKWELL,), **facts):
        path = tmp_path / name
        document = {"deviceProperties": list(devices), **facts, "traceEvents": list(events)}
        raw = json.dumps(document).encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


def test_the_report_has_what_the_design_promises(trace):
    body, _ = report(trace(*steps(0), row(FMHA, 0, 60), row(GEMM, 60, 30), name="t.json.gz"))
    assert body["device"] == {"name": "NVIDIA RTX PRO 6000", "capability": "12.0", "count": 1}
    assert (body["sum_us"], body["union_us"], body["wall_us"]) == (90, 90, 100)
    assert (body["closure"], body["wall_source"]) == (0.9, "steps")
    assert body["classes"]["attention"]["share"] == pytest.approx(2 / 3)
    attention = body["kernels"][0]
    assert attention == {
        "name": FMHA,
        "calls": 1,
        "total_us": 60,
        "min_us": 60,
        "p50_us": 60,
        "p50_error": 0.0,
        "max_us": 60,
        "share": pytest.approx(2 / 3),
        "class": "attention",
        "family": "mem_efficient",
        "generation": "sm80",
        "generation_from": "name",
        "newer_known": False,
        "tier": "gmem",
        "dtype": "bf16",
    }


def test_older_kernels_are_a_fact_with_a_share_and_no_blame(trace):
    _, notes = report(trace(row(FMHA, 0, 60), row(NCCL, 60, 40)))
    assert notes["older_generation"] == (
        "sm80 kernels on sm_120: 60.0% of device time (mem_efficient); no newer one exists for this"
        " family in torch 2.14.1"
    )
    assert "60.0%" in notes["slow_tier"]


def test_the_right_generation_is_not_worth_a_word(trace):
    same = {**BLACKWELL, "computeMajor": 8, "computeMinor": 6}
    _, notes = report(trace(row(FMHA, 0, 60), devices=[same]))
    assert "older_generation" not in notes


def test_the_capability_can_be_given(trace):
    path = trace(row(GEMM, 0, 60), devices=[])
    assert "capability_unknown" in report(path)[1]
    body, notes = report("--capability", "12.0", path)
    assert body["device"]["capability"] == "12.0"
    assert "newer ones exist" in notes["older_generation"]


CK = "void ck_tile::kentry<256, ck_tile::FmhaFwdKernel<x>>"


@pytest.mark.parametrize("kernel", ["_attn_fwd", "_flash_attn_fwd_kernel", CK])
def test_one_kernel_by_its_name_makes_no_nvidia_card_one_of_amd(trace, kernel):
    rows = row(FMHA, 0, 60), row(kernel, 60, 40)
    body, notes = report(trace(*rows))
    assert body["device"]["capability"] == "12.0"
    assert "sm80 kernels on sm_120: 60.0%" in notes["older_generation"]
    unnamed = trace(*rows, devices=[])
    assert ("generation_not_applicable" in report(unnamed)[1]) is (kernel == CK)
    body, notes = report("--capability", "12.0", unnamed)
    assert body["device"]["capability"] == "12.0"
    assert "sm80 kernels on sm_120: 60.0%" in notes["older_generation"]


def test_a_card_that_is_named_as_amds_has_no_capability_whatever_is_given(trace):
    card = {"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}
    _, notes = report("--capability", "9.4", trace(row(CK, 0, 60), devices=[card]))
    assert "generation_not_applicable" in notes


@pytest.mark.parametrize("kernel", ["_attn_fwd", CK])
def test_a_table_takes_the_capability_that_is_given_whatever_its_names(tmp_path, kernel):
    log = averages(tmp_path / "log", (FMHA, "9.000s", "30"), (kernel, "1.000s", "3"), total="19s")
    assert ("generation_not_applicable" in report(log)[1]) is (kernel == CK)
    body, notes = report("--capability", "12.0", log)
    assert body["device"]["capability"] == "12.0"
    assert "sm80 kernels on sm_120" in notes["older_generation"]


def test_closure_is_flagged_above_its_whole_and_below_its_limit(trace):
    path = trace(row(GEMM, 0, 100), row(FMHA, 0, 90, 20))
    assert "sum_over_wall" in report("--wall", "100e-6", path)[1]
    assert "streams_overlap" in report("--wall", "100e-6", path)[1]
    body, notes = report("--wall", "0.0002", path)
    assert body["closure"] == 0.5
    assert "low_closure" in notes


def test_rows_written_twice_are_a_double_count_with_evidence(trace):
    _, notes = report(trace(row(GEMM, 0, 100), row(GEMM, 0, 100)))
    assert GEMM in notes["double_count"]
    assert "1 rows repeat" in notes["double_count"]


def test_communication_beside_computation_is_told(trace):
    body, notes = report(trace(row(GEMM, 0, 50), row(NCCL, 25, 100, 20)))
    assert body["communication"] == {
        "union_us": 100,
        "beside_compute_us": 25,
        "exposed_us": 75,
    }
    assert "largest_is_communication" in notes


def test_a_trace_without_provenance_says_nothing_about_a_flag(trace):
    body, notes = report(trace(row(GROUPED, 0, 9)))
    assert body["launches"]["experts"] == "grouped"
    assert body["launches"]["provenance"] is None
    assert "nothing about a flag" in notes["no_provenance"]


def test_the_fallback_is_told_whatever_the_config_says(trace):
    fallback = row("transformers::grouped_mm_fallback", 0, 9, cat="cpu_op")
    body, notes = report(trace(row(GEMM, 0, 9), fallback))
    assert body["launches"]["experts"] == "fallback_loop"
    assert "grouped_mm_fallback" in notes


@pytest.mark.parametrize(
    ("expect", "code", "outcome"),
    [
        ("GroupProblemShape=2 per step", 0, "pass"),
        ("GroupProblemShape=4", 0, "pass"),
        ("GroupProblemShape=1 per step", 1, "fail"),
        ("no_such_kernel=0 per step", 0, "pass"),
        ("no_such_kernel=1", 1, "fail"),
        ("gemm|Group=2 per step", 0, "pass"),
    ],
)
def test_expected_launches_decide_the_exit(trace, expect, code, outcome):
    rows = [row(GROUPED, at, 5) for at in (0, 10, 100, 110)]
    body, _ = report("--expect", expect, trace(*steps(0, 100), *rows), code=code)
    assert [one["outcome"] for one in body["expectations"]] == [outcome]


def launched_ahead():
    """Two launches a step of 100 us, each of a kernel of 60 us: the device lags behind the host."""
    found = steps(0, 100)
    for n, made in enumerate((10, 20, 110, 120)):
        call = row("cudaLaunchKernel", made, 2, cat="cuda_runtime")
        kernel = row(FMHA, 30 + 60 * n, 60)
        found += [dict(one, args={"correlation": 7 + n}) for one in (call, kernel)]
    return found


def test_launches_are_counted_in_the_step_that_made_them(trace):
    body, notes = report(trace(*launched_ahead()), "--expect", "fmha=2 per step")
    (met,) = body["expectations"]
    assert not {"steps_unsure", "outside_steps"} & set(notes)
    assert (met["outcome"], met["counts"]) == ("pass", [2, 2])


def test_a_host_that_runs_ahead_changes_no_figure_of_a_step(trace):
    ahead = trace(*launched_ahead(), name="ahead.json")
    in_time = [row(FMHA, n, 60) for n in (0, 30, 100, 130)]
    found = json.loads(run("diff", "--json", trace(*steps(0, 100), *in_time), ahead).stdout)
    assert found["per_step"]
    assert found["kernels"][0]["calls"] == [2, 2]
    assert found["kernels"][0]["delta_us"] == 0


def of_two_ranks(host):
    """Two ranks in one file: each counts steps and correlations from the same numbers on."""
    late = [dict(one, ts=one["ts"] + 1_035) for one in launched_ahead()]
    device = [dict(one, pid=1) if one["cat"] == "kernel" else one for one in late]
    return launched_ahead() + [dict(one, pid=host) if one["pid"] == 99 else one for one in device]


@pytest.mark.parametrize(("host", "evidence"), [(98, "2 processes"), (99, "4 correlations")])
def test_ranks_in_one_file_are_not_attributed_to_each_others_steps(trace, host, evidence):
    path = trace(*of_two_ranks(host))
    body, notes = report(path, "--expect", "fmha=4 per step", "--expect", "fmha=8", code=3)
    assert [one["outcome"] for one in body["expectations"]] == ["unknown", "pass"]
    assert "several processes" in body["expectations"][0]["why"]
    assert evidence in notes["ranks_merged"]
    assert not body["steps"]
    assert not {"steps_unsure", "outside_steps"} & set(notes)
    found = json.loads(run("diff", "--json", path, path).stdout)
    assert not found["per_step"]
    assert {note["code"] for note in found["notes"]} == {"ranks_merged"}


def test_processes_are_told_apart_where_no_correlation_repeats(trace):
    body, notes = report(
        trace(*steps(0), *(dict(one, pid=98) for one in steps(50)), row(FMHA, 9, 5))
    )
    assert "2 processes" in notes["ranks_merged"]
    assert "correlations" not in notes["ranks_merged"]
    assert not body["steps"]


def test_steps_that_cannot_be_told_apart_are_not_compared_and_it_is_said(trace):
    blind = [one for one in launched_ahead() if one["cat"] != "cuda_runtime"]
    ahead = trace(*blind, name="ahead.json")
    found = json.loads(run("diff", "--json", trace(*launched_ahead()), ahead).stdout)
    assert not found["per_step"]
    assert [note["code"] for note in found["notes"]] == ["steps_unsure"]
    assert found["kernels"][0]["calls"] == [4, 4]
    said, notes = report(ahead, "--expect", "fmha=2 per step", code=3)
    assert said["expectations"][0]["outcome"] == "unknown"
    assert "steps_unsure" in notes


def test_an_expectation_per_step_without_steps_cannot_be_judged(trace):
    body, _ = report("--expect", "gemm=1 per step", trace(row(GEMM, 0, 5)), code=3)
    assert body["expectations"][0]["outcome"] == "unknown"


@pytest.mark.parametrize("bad", ["gemm", "gemm=x", "(=1", "=1"])
def test_an_expectation_that_is_none_is_a_usage_error(trace, bad):
    assert run("--expect", bad, trace(row(GEMM, 0, 5))).exit_code == 2


def test_a_bad_capability_is_a_usage_error(trace):
    assert run("--capability", "sm80", trace(row(GEMM, 0, 5))).exit_code == 2


def test_by_step_prints_every_step(trace):
    result = run("--by", "step", trace(*steps(0, 100), row(GEMM, 5, 60), row(FMHA, 105, 20)))
    assert result.exit_code == 0
    assert "by step" in result.stdout
    assert [line.split()[0] for line in result.stdout.split("by step")[1].splitlines()[2:4]] == [
        "0",
        "1",
    ]


def test_several_ranks_are_several_reports(trace):
    files = [trace(row(GEMM, 0, n), name=f"{n}.json", distributedInfo={"rank": n}) for n in (3, 5)]
    body, _ = report(*files)
    assert [(one["rank"], one["sum_us"]) for one in body["traces"]] == [(3, 3), (5, 5)]
    beside = run(*files).stdout.split("all files")[1]
    assert [line.split()[:3] for line in beside.splitlines()[2:4]] == [
        ["3", "1", "0.003"],
        ["5", "1", "0.005"],
    ]


def test_flops_that_only_the_table_has_are_said_to_be_there(trace):
    assert "flops_not_in_trace" in report(trace(row(GEMM, 0, 5), with_flops=1))[1]


def test_a_missing_file_does_not_hide_the_others(trace, tmp_path):
    result = run("--json", tmp_path / "none.json", trace(row(GEMM, 0, 5)))
    assert result.exit_code == 3
    assert len(json.loads(result.stdout)["traces"]) == 1
    assert "none.json" in result.stderr


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "is empty"),
        (b" \r\n", "is empty"),
        (b"step 1\n", "neither JSON"),
        (b'{"a": 1}', "without a list of events"),
        (b"{", "without a list of events"),
        (gzip.compress(b"")[:10], "ends in its middle"),
        (gzip.compress(b"x" * 99)[:12], "ends in its middle"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 40, "gzip data is damaged"),
    ],
)
def test_what_is_no_trace_is_named_and_why(tmp_path, raw, why):
    path = tmp_path / "x.json"
    path.write_bytes(raw)
    result = run(path)
    assert result.exit_code == 3
    assert why in result.stderr.split("x.json: ")[1]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"ph": "B", "cat": "PERF", "name": "a", "pid": 1, "tid": 1, "ts": 829}],
        [{"ph": "X", "name": "fusion.3", "pid": 1, "tid": 2, "ts": 1, "dur": 5}],
    ],
)
def test_a_trace_of_another_tool_is_not_said_to_be_of_a_cpu(tmp_path, events):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"traceEvents": events}))
    _, notes = report(path, code=3)
    assert list(notes) == ["not_torch"]


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", "0"])
def test_seconds_that_are_no_number_are_a_usage_error(trace, number):
    assert run("--wall", number, trace(row(GEMM, 0, 5))).exit_code == 2


def test_a_gzip_file_that_ends_in_its_middle_gives_what_it_holds(trace):
    path = trace(*(row(f"{GEMM}_{n * n}", n * 10, 5) for n in range(4000)), name="t.json.gz")
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    body, notes = report(path, code=3)
    assert 500 < body["rows"] < 4000
    assert body["reading"]["cut"]
    assert "ends in its middle" in notes["cut"]


def harmed(trace, harm):
    """Ten launches, of which five cannot be read, in steps of two."""
    rows = [row(GROUPED, n * 50, 5) for n in range(10)]
    if harm == "behind":
        both = [trace(*steps(0, 100, 200), *part) for part in (rows[:5], rows[5:])]
        path = both[0].with_name("both.json")
        first = trace(*steps(0, 100, 200), *rows[:5]).read_bytes()
        path.write_bytes(first + both[1].read_bytes())
        return path
    path = trace(*steps(0, 100, 200, 300, 400), *rows)
    text = path.read_text()
    half = text.index('{"ph": "X", "cat": "kernel"')
    for _ in range(5):
        half = text.index('{"ph": "X", "cat": "kernel"', half + 1)
    if harm == "cut":
        path.write_text(text[:half])
    else:
        old, new = {"damaged": ('"ts":', '"ts"'), "rejected": ('"dur": 5', '"dur": null')}[harm]
        path.write_text(text[:half] + text[half:].replace(old, new))
    return path


@pytest.mark.parametrize("harm", ["cut", "damaged", "rejected", "behind"])
def test_a_comparison_says_which_trace_was_not_read_whole(trace, harm):
    part = harmed(trace, harm)
    whole = trace(*steps(0), row(GROUPED, 0, 5), name="whole.json")
    done = run("diff", "--json", whole, part)
    notes = json.loads(done.stdout)["notes"]
    assert done.exit_code == 3
    code = "cut" if harm == "cut" else "not_read_whole"
    (said,) = [one["text"] for one in notes if one["code"] == code]
    assert said.startswith(f"{part} was not read whole, so that what is gone")


@pytest.mark.parametrize("harm", ["cut", "damaged", "rejected", "behind"])
@pytest.mark.parametrize(
    ("expect", "outcome"),
    [
        ("GroupProblemShape=4", "fail"),
        ("GroupProblemShape=5", "unknown"),
        ("GroupProblemShape=10", "unknown"),
        ("GroupProblemShape=2 per step", "unknown"),
        ("GroupProblemShape=0 per step", "unknown"),
        ("nothing=0", "unknown"),
    ],
)
def test_a_trace_read_in_part_tells_launches_that_are_too_many_and_nothing_else(
    trace, harm, expect, outcome
):
    path = harmed(trace, harm)
    body, _ = report("--expect", expect, path, code=1 if outcome == "fail" else 3)
    (met,) = body["expectations"]
    assert body["rows"] == 5
    assert met["outcome"] == outcome
    assert f"at least {0 if 'nothing' in expect else 5} launches in all" in met["why"]
    assert ("not all was read" in met["why"]) is (outcome == "unknown")


def test_a_damaged_record_and_a_row_without_time_are_named_with_file_place_and_reason(trace):
    path = trace(*(row(f"{GEMM}_{n}", n * 10, 5) for n in range(9)), row("lame\x1b[31m", 90, -3))
    raw = path.read_bytes().replace(b'"ts": 40,', b'"ts" 40,')
    path.write_bytes(raw)
    body, notes = report(path, code=3)
    place = raw.index(b'{"ph": "X", "cat": "kernel", "name": "%s_4"' % GEMM.encode())
    assert body["rows"] == 8
    assert body["reading"]["damage"][0]["byte"] == place
    assert f"at byte {place:,}: no JSON: Expecting ':' delimiter" in notes["damaged"]
    assert body["reading"]["rejects"] == [{"name": "lame\x1b[31m", "why": "dur is -3, below 0"}]
    said = run(path).stdout
    assert str(path) in said
    assert "\x1b" not in said
    assert "dur is -3, below 0" in " ".join(said.split())


@pytest.mark.parametrize("zipped", [False, True])
def test_another_trace_behind_the_first_is_not_left_out_unsaid(trace, tmp_path, zipped):
    """As ``cat rank0.json rank1.json`` makes one."""
    raw = [trace(row(GEMM, 0, n)).read_bytes() for n in (3, 5)]
    path = tmp_path / "all.json"
    path.write_bytes(b"\n".join(raw) + b"\n" if not zipped else b"".join(map(gzip.compress, raw)))
    body, notes = report(path, code=3)
    assert body["sum_us"] == 3
    assert f"{len(raw[1]):,} characters were not read" in notes["more_behind"]
    path.write_bytes(raw[0] + b"\n\0\0 \n")
    assert "more_behind" not in report(path)[1]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"dur": 5,', b'"dur" 5,', "no JSON: Expecting ':' delimiter"),
        (b'{"last": 1}', b"[" * 5_000 + b"]" * 5_000, "it is nested too deeply"),
        (b'"dur": 5,', b'"dur": ' + b"9" * 5_000 + b",", "no JSON: Exceeds the limit"),
    ],
)
def test_a_last_record_that_is_wrong_is_named_and_is_no_end_in_the_middle(trace, old, new, why):
    path = trace(row(GEMM, 0, 3), row(GEMM, 3, 5) | {"args": {"last": 1}})
    path.write_bytes(path.read_bytes().replace(old, new))
    body, notes = report(path, code=3)
    assert body["rows"] == 1
    assert not body["reading"]["cut"]
    assert why in notes["damaged"]


def test_device_rows_without_usable_times_are_not_those_of_another_tool(trace):
    _, notes = report(trace(row(GEMM, 0, -3)), code=3)
    assert "no device row has times" in notes["no_device_rows"]
    assert "not_torch" not in notes


def test_damaged_gzip_data_gives_what_was_read_before(trace):
    path = trace(*(row(f"{GEMM}_{n * n}", n * 10, 5) for n in range(20_000)), name="t.json.gz")
    raw = bytearray(path.read_bytes())
    raw[-2000:-1900] = b"\x00" * 100
    path.write_bytes(raw)
    _, notes = report(path, code=3)
    assert "damaged" in notes["cut"] or "ends in its middle" in notes["cut"]


def test_members_of_one_gzip_file_are_one_trace(trace):
    path = trace(*(row(GEMM, n * 10, 5) for n in range(100)))
    raw = path.read_bytes()
    path.write_bytes(gzip.compress(raw[:3000]) + gzip.compress(raw[3000:]))
    assert report(path)[0]["rows"] == 100


def test_the_collector_rests_while_rows_are_read_and_only_then(trace, monkeypatch):
    seen = []

    def identified(key):
        seen.append(gc.isenabled())
        if key.name == "broken":
            raise ZeroDivisionError
        return identify(key)

    monkeypatch.setattr(trace_reading, "identify", identified)
    report(trace(row(GEMM, 0, 5)))
    with pytest.raises(ZeroDivisionError):
        trace_reading.read_file(str(trace(row("broken", 0, 5))))
    assert seen == [False, False]
    assert gc.isenabled()


def test_stdin_is_read_through_gzip_too(trace):
    raw = trace(row(GEMM, 0, 5), name="t.json.gz").read_bytes()
    result = run("--json", "-", text=raw)
    assert json.loads(result.stdout)["rows"] == 1


def test_text_of_a_trace_cannot_speak_to_a_terminal(trace):
    result = run(trace(row("evil\x1b[2Jgemm", 0, 5)))
    assert "\x1b" not in result.stdout


def test_a_table_of_averages_is_read_and_its_double_count_named(tmp_path):
    rule = "  ".join(["-" * 60, *["-" * 12] * 5])
    columns = ("Name", "Self CPU", "CPU total", "Self CUDA", "Self CUDA %", "# of Calls")
    rows = [
        columns,
        ("aten::_efficient_attention_forward", "1.000ms", "1.000ms", "60.000ms", "50%", "30"),
        (FMHA, "0.000us", "0.000us", "60.000ms", "50%", "30"),
        ("void at::native::elementwise_ker...", "0.000us", "0.000us", "20.000ms", "10%", "9"),
    ]
    lines = ["  ".join(cell.rjust(len(cell)) for cell in one) for one in rows]
    path = tmp_path / "table.txt"
    path.write_text("\n".join([rule, lines[0], rule, *lines[1:], rule]))
    body, _ = report("--wall", "0.1", path)
    assert "takes --model or --parameters" in body["accounting_unknown"]
    cost = ("--parameters", "1000", "--tokens", "50", "--steps", "2")
    body, notes = report("--wall", "0.1", *cost, path)
    assert body["accounting"]["flops_per_s"] == pytest.approx(6 * 1_000 * 50 / 0.05)
    assert (body["sum_us"], body["sum_share"], body["union_us"]) == (80_000, 0.8, None)
    assert f"aten::_efficient_attention_forward = {FMHA}" in notes["double_count"]
    assert "25.0%" in notes["names_cut"]
    assert body["kernels"][0]["min_us"] is None
    assert "capability_unknown" in notes
    (old, unknown) = report("--capability", "12.0", path)[0]["generations"]
    assert (old["generation"], old["sum_us"], unknown["generation"]) == ("sm80", 60_000, None)
    notes = report("--capability", "12.0", path)[1]
    assert "sm80 kernels on sm_120: 75.0% of device time" in notes["older_generation"]
    assert "75.0% of device time" in notes["slow_tier"]
    assert "older_generation" not in report("--capability", "8.0", path)[1]


CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 128, "vocab_size": 1_000, "tie_word_embeddings": False,
}  # fmt: skip
PARAMETERS = 3 * (4 * 64 * 64 + 3 * 64 * 128) + 64 * 1_000


def averages(path, *rows, total="9.000s"):
    """A key_averages table as a row limit leaves it: no row of the host, two of kernels."""
    head = ("Name", "Self CPU", "CPU total", "Self CUDA", "CUDA total", "# of Calls")
    kernels = (("fmha_sm80", "6.000s", "30"), ("gemm", "3.000s", "60"))
    cells = [
        (name, "0.000us", "0.000us", time, time, calls) for name, time, calls in rows + kernels
    ]
    rule = "  ".join("-" * 14 for _ in head)
    text = [rule, "  ".join(head), rule, *("  ".join(one) for one in cells), rule]
    path.write_text("\n".join([*text, f"Self CUDA time total: {total}"]))
    return path


def test_a_log_with_several_tables_has_a_report_of_each(tmp_path):
    log = averages(tmp_path / "log")
    log.write_text(f"step 10\n{log.read_text()}\nstep 20\n{log.read_text()}\n")
    reports = report(log)[0]["traces"]
    assert [one["file"] for one in reports] == [
        f"{log}, table 1 of 2 (line 2)",
        f"{log}, table 2 of 2 (line 10)",
    ]
    assert [one["sum_us"] for one in reports] == [9e6, 9e6]
    assert run(log).stdout.count("averages_only") == 2


def test_a_text_that_goes_on_behind_what_is_read_says_so(tmp_path, monkeypatch):
    log = averages(tmp_path / "log")
    log.write_text(log.read_text() + "\nloss 1.0" * 100_000)
    assert "clipped" not in report(log)[1]
    monkeypatch.setattr(trace_reading, "TEXT_MAX_BYTES", 1_000)
    assert "tables behind that are not shown" in report(log, code=3)[1]["clipped"]


def test_annotations_that_a_table_cannot_tell_apart_are_no_clean_answer(tmp_path):
    known = averages(tmp_path / "known", ("ProfilerStep*", "10.000s", "1"))
    body, notes = report(known)
    assert body["sum_us"] == 9_000_000
    assert "footer_exceeded" not in notes
    _, notes = report(averages(tmp_path / "own", ("my forward", "10.000s", "1")), code=3)
    assert "211.1%" in notes["footer_exceeded"]
    _, notes = report(averages(tmp_path / "few", total="20.000s"))
    assert "45.0%" in notes["footer_differs"]


@pytest.mark.parametrize(
    ("expect", "rows", "total", "outcome"),
    [
        ("fmha=29", (), "9.000s", "fail"),
        ("fmha=30", (), "9.000s", "unknown"),
        ("fmha=31", (), "9.000s", "unknown"),
        ("fmha=0", (), "20.000s", "fail"),
        ("fmha=29 per step", (), "9.000s", "unknown"),
        ("forward=0", (("my forward", "10.000s", "1"),), "9.000s", "unknown"),
        ("fmha=0", (), "unknown", "unknown"),
    ],
)
def test_a_table_tells_launches_that_are_too_many_and_never_that_they_are_all(
    tmp_path, expect, rows, total, outcome
):
    table = averages(tmp_path / "log", *rows, total=total)
    body, _ = report("--expect", expect, table, code=1 if outcome == "fail" else 3)
    (met,) = body["expectations"]
    assert met["outcome"] == outcome
    assert ("at least 30 launches in all" if outcome == "fail" else "give the trace") in met["why"]


def test_a_table_that_ends_in_its_middle_is_no_clean_answer(tmp_path):
    log = averages(tmp_path / "log")
    log.write_text("\n".join(log.read_text().splitlines()[:-3]))
    body, notes = report(log, code=3)
    assert body["sum_us"] == 6_000_000
    assert "no closing rule" in notes["cut"]


def test_a_row_of_a_table_that_cannot_be_read_is_no_clean_answer(tmp_path):
    body, notes = report(averages(tmp_path / "bad", ("gemm two", "3.0x0s", "60")), code=3)
    assert body["sum_us"] == 9_000_000
    assert notes["rows_unread"].endswith("line 4: Self CUDA is '3.0x0s'")


def test_what_a_step_achieved_by_its_parameters_stands_beside_the_kernels(trace, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    file = trace(*steps(0, 100), row(FMHA, 0, 60), row(GEMM, 100, 90))
    named = ("--model", tmp_path, "--tokens", "4096", "--width", "512")
    body, _ = report(*named, file)
    said = body["accounting"]
    assert (said["parameters"], said["trained"]) == (PARAMETERS, PARAMETERS)
    assert (said["tokens_per_step"], said["seconds_per_step"]) == (4_096, 1e-4)
    assert said["flops_per_s"] == pytest.approx(6 * PARAMETERS * 4_096 / 1e-4)
    assert said["attention_flops_per_s"] == pytest.approx(12 * 3 * 64 * 512 * 4_096 / 1e-4)
    assert body["accounting_unknown"] is None
    shown = " ".join(run(*named, file).stdout.split())
    assert "by 6ND" in shown
    assert "TFLOP/s (6ND of" in shown


def test_parameters_can_be_given_as_figures_and_a_wall_clock_and_steps_too(trace):
    given = ("--parameters", "1000", "--trained", "100", "--tokens", "10")
    width = ("--attention-layers", "2", "--attention-width", "8", "--width", "4")
    file = trace(row(GEMM, 0, 50))
    body, _ = report(*given, *width, "--wall", "0.5", "--steps", "2", file)
    assert body["accounting"]["flops_per_step"] == 10 * (4 * 900 + 6 * 100)
    assert body["accounting"]["attention_flops_per_step"] == 12 * 2 * 8 * 4 * 10
    assert body["accounting"]["seconds_per_step"] == 0.25
    body, _ = report(*given, "--steps", "2", file)
    assert body["accounting"]["seconds_per_step"] == 25e-6
    assert body["accounting"]["attention_flops_per_s"] is None


@pytest.mark.parametrize(
    ("given", "events", "why"),
    [
        ((), [row(GEMM, 0, 5)], "--tokens of a step, or a run that reported them (--run)"),
        (("--parameters", "9"), [row(GEMM, 0, 5)], "how many tokens a step has is not told"),
        (("--parameters", "9", "--tokens", "2"), [row(GEMM, 0, 5)], "--steps N says how many"),
    ],
)
def test_a_figure_that_is_not_known_says_what_it_takes(trace, given, events, why):
    file = trace(*events)
    body, _ = report(*given, file)
    assert body["accounting"] is None
    assert why in body["accounting_unknown"]
    assert "by 6ND not known" in " ".join(run(*given, file).stdout.split())


def test_a_trace_without_device_rows_achieved_nothing_that_could_be_told(trace):
    file = trace(row("aten::mm", 0, 5, cat="cpu_op"))
    body, _ = report("--parameters", "9", "--tokens", "2", "--steps", "1", file, code=3)
    assert (body["accounting"], body["accounting_unknown"]) == (
        None,
        "the trace has no device rows",
    )


@pytest.mark.parametrize(
    ("given", "status", "why"),
    [
        (("--model", "/nonexistent"), 3, "/nonexistent"),
        (("--model", ".", "--parameters", "5"), 2, "name one or the other"),
        (("--attention-layers", "5"), 2, "belong together"),
        (("--trained", "5"), 2, "takes --model or --parameters"),
        (("--parameters", "5", "--trained", "6"), 2, "is more than --parameters"),
        (("--parameters", "nan"), 2, "no finite number"),
        (("--parameters", "0"), 2, "not in the range"),
    ],
)
def test_a_model_that_cannot_be_counted_is_refused_before_anything_is_read(
    tmp_path, given, status, why
):
    done = CliRunner().invoke(main, ["trace", *given, str(tmp_path / "absent.json")])
    assert why in done.output
    assert "absent.json" not in done.output
    assert done.exit_code == status


def test_a_diff_shows_what_changed_in_a_step(trace):
    one = trace(*steps(0, 100), row(FMHA, 0, 60), row(FMHA, 100, 60), name="a.json")
    two = trace(*steps(0), row(GEMM, 0, 20), name="b.json")
    result = run("diff", "--json", one, two)
    assert result.exit_code == 0
    body = json.loads(result.stdout)
    assert (body["per_step"], body["sum_us"]) == (True, [60, 20])
    assert [(k["name"], k["delta_us"], k["change"]) for k in body["kernels"]] == [
        (FMHA, -60, "gone"),
        (GEMM, 20, "new"),
    ]
    assert FMHA in run("diff", one, two).stdout


def test_a_diff_with_a_trace_without_device_rows_could_not_look(trace):
    empty = trace(row("aten::add", 0, 5, cat="cpu_op"), name="a.json")
    assert run("diff", empty, trace(row(GEMM, 0, 5))).exit_code == 3


def case(name, file="trace.json.gz"):
    return CASES / name / file


@pytest.mark.field_cases
def test_field_case_device_rows_of_an_a100():
    body, notes = report(case("trace-a100-device-rows"))
    only = body["kernels_only"]
    assert (only["calls"], only["sum_us"], only["span_us"]) == (79, 10_692, 12_840_244)
    assert round(only["sum_us"] / only["span_us"], 4) == 0.0008
    assert body["union_us"] == 66_141
    assert round(body["closure"], 3) == 0.005
    assert body["device"]["capability"] == "8.0"
    assert "cannot explain the wall clock" in notes["low_closure"]
    assert "older_generation" not in notes
    assert "without tensor cores" in notes["f32_cores"]


@pytest.mark.field_cases
@pytest.mark.parametrize(
    ("file", "code"), [("cupti_range.json.gz", "no_device_rows"), ("cpu_only.json.gz", "cpu_only")]
)
def test_field_case_no_device_rows_no_table(file, code):
    body, notes = report(case("trace-without-kernel-rows", file), code=3)
    assert (body["kernels"], body["sum_us"], body["closure"]) == ([], None, None)
    assert list(notes) == [code]


@pytest.mark.field_cases
def test_field_case_an_amd_card_has_no_generation():
    body, notes = report(case("trace-amd-no-generation"))
    only = body["kernels_only"]
    assert (only["calls"], round(only["sum_us"], 3)) == (14, 110.881)
    assert round(only["span_us"]) == 8594
    assert body["device"]["capability"] is None
    assert {kernel["generation"] for kernel in body["kernels"]} == {None}
    assert "generation_not_applicable" in notes
    assert "older_generation" not in notes


@pytest.mark.field_cases
def test_field_case_overlapping_streams():
    body, notes = report(case("overlapping-streams-sum-exceeds-wall"))
    assert (body["kernels_only"]["calls"], body["kernels_only"]["sum_us"]) == (1154, 606_519)
    assert round(body["union_us"] / 1000, 1) == 547.7
    assert round(body["classes"]["communication"]["share"], 2) == 0.65
    assert "streams_overlap" in notes
    assert "largest_is_communication" in notes


def test_no_file_is_a_usage_error():
    assert run().exit_code == 2
    assert CliRunner().invoke(command, ["read"]).exit_code == 2


def test_help_names_both_commands():
    assert "diff" in run("--help").stdout
