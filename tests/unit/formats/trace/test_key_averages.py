"""A printed table gives its device rows once, with the evidence that the rest repeats them."""

import pytest

from pfid.domain.kernel import DeviceCategory
from pfid.formats.trace.key_averages import key_of, read_averages, read_tables, time_ns

COLUMNS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")
MORE = ("Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "# of Calls", "Total GFLOPs")
WIDTH = 64


def line(*cells):
    return "  ".join(cell.rjust(WIDTH if n == 0 else 14) for n, cell in enumerate(cells))


def row(name, cpu, cuda, calls, flops="--"):
    return line(name, "1%", cpu, "1%", cpu, cpu, cuda, "1%", cuda, cuda, str(calls), flops)


RULE = "  ".join("-" * (WIDTH if n == 0 else 14) for n in range(12))
TABLE = "\n".join(
    [
        RULE,
        line(*COLUMNS, *MORE),
        RULE,
        row("aten::_efficient_attention_backward", "2.000ms", "16144.600ms", 30, "120.000"),
        row("fmha_cutlassB_bf16_aligned_128x64_k65536_sm80", "0.000us", "16144.600ms", 30),
        row("aten::mm", "1.000ms", "2.774s", 90, "880.000"),
        row("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages...", "0.000us", "2.000s", 60),
        row("ProfilerStep*", "30.000s", "0.000us", 1),
        row("ProfilerStep*", "0.000us", "20.000s", 1),
        row("Memcpy HtoD (Pageable -> Device)", "0.000us", "12.000us", 3),
        RULE,
        "Self CPU time total: 30.000s",
        "Self CUDA time total: 18.145s",
    ]
)


def test_device_rows_are_kernels_and_copies_without_annotations():
    table = read_averages("some words before\n" + TABLE)
    assert [(one.calls, one.self_device_ns) for one in table.device] == [
        (30, 16_144_600_000),
        (60, 2_000_000_000),
        (3, 12_000),
    ]
    assert [one.name for one in table.annotations] == ["ProfilerStep*"]
    assert key_of(table.device[2]).category is DeviceCategory.MEMCPY
    assert not table.cut


def test_the_pairs_that_are_counted_twice_are_named():
    ((host, kernel),) = read_averages(TABLE).doubles()
    assert host.name == "aten::_efficient_attention_backward"
    assert kernel.name.startswith("fmha_cutlassB")


def test_the_whole_table_and_the_footer_are_told_apart():
    table = read_averages(TABLE)
    assert table.unfiltered_ns == 2 * 16_144_600_000 + 4_774_000_000 + 20_000_000_000 + 12_000
    assert table.footer_ns == 18_145_000_000


def test_flops_are_those_of_the_operators():
    assert read_averages(TABLE).flops == 1000e9


def test_a_table_that_is_cut_says_so():
    cut = TABLE[: TABLE.index("ProfilerStep*")]
    table = read_averages(cut)
    assert table.cut
    assert len(table.device) == 2


def test_a_table_of_the_cpu_has_no_device_column():
    cells = [*COLUMNS, "# of Calls"]
    rule = "  ".join("-" * 14 for _ in cells)
    host = "aten::add  1%  1.000us  1%  1.000us  1.000us  1"
    table = read_averages("\n".join([rule, "  ".join(cells), rule, host, rule]))
    assert not table.device_column
    assert table.device == ()
    assert len(table.host) == 1


def test_what_is_no_table_is_none():
    assert read_averages("step 1\n-----\n") is None


def test_times_carry_their_unit():
    assert [time_ns(text) for text in ("1.5us", "2.000ms", "3s", "--")] == [
        1_500,
        2_000_000,
        3_000_000_000,
        None,
    ]


def test_a_name_with_wide_gaps_in_it_is_still_one_name():
    table = read_averages(TABLE.replace("aten::mm", "two  words"))
    assert "two  words" in [one.name for one in table.host]


def limited(*more):
    """A table whose row limit has cut off the rows of the host."""
    kernels = [
        row("fmha_cutlassB_sm80", "0.000us", "6.000s", 30),
        row("gemm", "0.000us", "3.000s", 60),
    ]
    return "\n".join(
        [RULE, line(*COLUMNS, *MORE), RULE, *more, *kernels, RULE, "Self CUDA time total: 9.000s"]
    )


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep*",
        "ProfilerStep#12",
        "Optimizer.step#AdamW.step",
        "Optimizer.zero_grad#AdamW.zero_grad",
        "nccl:all_reduce",
        "Torch-Compiled Region: 0/0",
        "## Call CompiledFxGraph fx...",
    ],
)
def test_an_annotation_whose_host_row_is_cut_off_is_known_by_its_name(name):
    table = read_averages(limited(row(name, "0.000us", "10.000s", 1)))
    assert [one.name for one in table.annotations] == [name]
    assert [one.self_device_ns for one in table.device] == [6_000_000_000, 3_000_000_000]
    assert table.footer_share == 1
    assert not table.exceeds_footer


def test_an_annotation_of_the_users_own_shows_in_the_sum():
    table = read_averages(limited(row("my forward", "0.000us", "10.000s", 1)))
    assert table.exceeds_footer
    assert not read_averages(limited(row("small", "0.000us", "0.050s", 1))).exceeds_footer


@pytest.mark.parametrize("name", ["ncclDevKernel_AllReduce_Sum_bf16", "void Optimizer_step<4>()"])
def test_a_kernel_that_is_called_nearly_so_is_a_kernel(name):
    table = read_averages(limited(row(name, "0.000us", "1.000us", 1)))
    assert name in [one.name for one in table.device]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (row("gemm two", "0.000us", "3.0x0s", 60), "Self CUDA is '3.0x0s'"),
        (row("gemm two", "0.0.0us", "3.000s", 60), "Self CPU is '0.0.0us'"),
        (row("gemm two", "0.000us", "3.000s", "6o"), "# of Calls is '6o'"),
        ("gemm two  1%  0.000us", "3 cells of 12"),
    ],
)
def test_a_row_that_cannot_be_read_is_kept_with_its_line_and_reason(bad, why):
    table = read_averages("before\n" + limited(bad))
    assert [(one.line, one.why) for one in table.unread] == [(5, why)]
    assert len(table.device) == 2


def test_the_lines_of_a_stack_are_no_rows_and_a_row_without_one_is():
    cells = ["Name", "Self CPU", "Self CUDA", "# of Calls", "Source Location"]
    rule = "  ".join("-" * 14 for _ in cells)
    rows = [
        "one  0.000us  1.000s  2  a.py(3): f",
        "                           b.py(9): g",
        "",
        "two  0.000us  1.000s  2  ",
    ]
    table = read_averages("\n".join([rule, "  ".join(cells), rule, *rows, rule]))
    assert [one.name for one in table.device] == ["one", "two"]
    assert table.unread == ()


def test_every_table_of_a_text_is_read_with_its_own_total():
    second = TABLE.replace("16144.600ms", "11.000s").replace("18.145s", "13.000s")
    found = read_tables(f"step 1\n{TABLE}\nstep 2\n{second}\n")
    assert [one.line for one in found] == [2, 16]
    assert [one.footer_ns for one in found] == [18_145_000_000, 13_000_000_000]
    assert [one.device[0].self_device_ns for one in found] == [16_144_600_000, 11_000_000_000]
    assert not any(one.cut for one in found)


def test_a_table_without_its_end_takes_nothing_of_the_next():
    begun = TABLE[: TABLE.index("aten::mm")].rsplit("\n", 1)[0]
    found = read_tables(f"{begun}\n{TABLE}")
    assert [one.cut for one in found] == [True, False]
    assert [len(one.device) for one in found] == [1, 3]
    assert found[0].footer_ns is None
