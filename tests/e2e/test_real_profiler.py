"""What torch's own profiler writes today is read: the file the quick way, and the printed table.

Without a GPU a real profile has no device rows; to see the quick way take torch's own style, the
host's operators of the same file are called kernels, and json finds the same.
"""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.torch]

PROFILE = """
import sys
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile, schedule

layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
with profile(
    activities=[ProfilerActivity.CPU],
    record_shapes=True,
    schedule=schedule(wait=0, warmup=1, active=150),
    on_trace_ready=lambda done: done.export_chrome_trace(sys.argv[1]),
) as taken:
    for _ in range(151):
        optimizer.zero_grad()
        layer(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        taken.step()
with profile(activities=[ProfilerActivity.CPU], with_flops=True) as taken:
    for _ in range(40):
        layer(torch.randn(8, 64)).sum().backward()
with open(sys.argv[2], "w") as file:
    file.write(taken.key_averages().table(max_name_column_width=40))
query = torch.randn(1, 2, 16, 8)
with profile(activities=[ProfilerActivity.CPU]) as taken:
    (query @ query.transpose(-1, -2)).softmax(-1) @ query
    with sdpa_kernel(SDPBackend.MATH):
        scaled_dot_product_attention(query, query, query, is_causal=True)
taken.export_chrome_trace(sys.argv[3])
"""


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    files = folder / "trace.json", folder / "table.txt", folder / "attention.json"
    subprocess.run([sys.executable, "-c", PROFILE, *files], check=True, capture_output=True)
    return files


def pfid(*arguments):
    command = [sys.executable, "-m", "pfid", "trace", "--json", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)


def codes(body):
    return [note["code"] for note in body["notes"]]


def test_a_profile_of_the_cpu_alone_gives_no_table(profiled):
    status, body = pfid(profiled[0])
    assert status == 3
    assert codes(body) == ["cpu_only"]
    assert body["kernels"] == []
    assert not body["reading"]["cut"]


def test_the_host_tells_attention_written_out_from_sdpas_unfused_way(profiled):
    """SDPA calls a safe softmax, and that the plain one: of two plain calls one is written out."""
    assert pfid(profiled[2])[1]["launches"]["operators"] == {
        "aten::_softmax": 2,
        "aten::_safe_softmax": 1,
        "aten::_scaled_dot_product_attention_math": 1,
    }


def test_torchs_own_style_goes_the_quick_way_and_gives_what_json_finds(profiled, tmp_path):
    text = profiled[0].read_text().replace('"cat": "cpu_op"', '"cat": "kernel"')
    path = tmp_path / "kernels.json"
    path.write_text(text)
    rows = [one for one in json.loads(text)["traceEvents"] if one.get("cat") == "kernel"]
    status, body = pfid(path)
    assert status == 0
    assert body["reading"]["way"] == "fast"
    assert body["rows"] == len(rows) > 1_000
    assert body["sum_us"] == pytest.approx(sum(one["dur"] for one in rows), abs=1e-3)
    assert [step["step"] for step in body["steps"]] == list(range(1, 151))


def test_the_printed_table_has_flops_and_says_that_it_is_of_the_cpu(profiled):
    status, body = pfid("--wall", "1", profiled[1])
    assert status == 3
    assert codes(body) == ["no_device_rows"]
    assert body["flops"]["total"] == pytest.approx(40 * 2 * 8 * 64 * 64 * 2, rel=0.01)
    assert body["flops"]["per_second"] == body["flops"]["total"]
