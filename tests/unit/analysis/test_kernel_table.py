"""The kernel table: exact figures, by step and by class, and what does not add up is said."""

from array import array
from random import Random

import numpy as np
import pytest

from pfid.analysis import kernel_table
from pfid.analysis.kernel_closure import WallSource, close
from pfid.analysis.kernel_decomposition import by_class, by_generation, hidden_communication
from pfid.analysis.kernel_diff import amounts, changes
from pfid.analysis.kernel_durations import VALUE_ERROR, DurationCounts
from pfid.analysis.kernel_launches import (
    Attention,
    Expectation,
    Experts,
    count_launches,
    meet,
)
from pfid.analysis.kernel_steps import by_step, outside
from pfid.analysis.kernel_table import KernelTable
from pfid.domain.kernel import DeviceCategory, KernelClass, KernelIdentity, KernelKey
from pfid.domain.outcome import Outcome
from pfid.domain.trace_rows import DeviceRows, StepWindow, TraceNames, Track

KINDS = {
    "attn": KernelIdentity(
        kind=KernelClass.ATTENTION, family="mem_efficient", generation=80, newer_known=False
    ),
    "flex": KernelIdentity(kind=KernelClass.ATTENTION, family="flex_template"),
    "gemm": KernelIdentity(kind=KernelClass.GEMM, family="cublas", generation=80, newer_known=True),
    "grouped": KernelIdentity(kind=KernelClass.GEMM, family="grouped_gemm", generation=90),
    "soft": KernelIdentity(kind=KernelClass.OTHER, family="softmax"),
    "nccl": KernelIdentity(kind=KernelClass.COMMUNICATION, family="collective"),
    "copy": KernelIdentity(kind=KernelClass.MEMORY, family="memcpy"),
}
STEPS = {1: StepWindow(1, 0, 100), 2: StepWindow(2, 100, 200)}


def table(*rows, steps=None, blocks=1):
    """Rows are (kernel, start, duration[, stream[, device]])."""
    names = TraceNames()
    names.kernels += [KernelKey(DeviceCategory.KERNEL, name) for name in KINDS]
    whole = KernelTable(names, lambda key: KINDS[key.name])
    for part in range(blocks):
        block = DeviceRows()
        for kernel, start, duration, *place in rows[part::blocks]:
            stream, device = [*place, *("7", "0")[len(place) :]]
            track = Track(device, stream)
            if track not in names.tracks:
                names.tracks.append(track)
            block.start_ns.append(start)
            block.duration_ns.append(duration)
            block.kernel.append(list(KINDS).index(kernel))
            block.track.append(names.tracks.index(track))
        whole.add(block, steps or {})
    whole.finish(steps or {})
    return whole


def test_each_kernel_has_its_calls_total_least_middle_and_most():
    (row,) = table(*(("gemm", n * 10, d) for n, d in enumerate([5, 1, 9, 2]))).used
    assert (row.calls, row.total_ns, row.min_ns, row.max_ns) == (4, 17, 1, 9)
    assert row.durations.percentile(50) == 2


def test_figures_equal_a_brute_force_reference_past_ten_names_and_many_folds(monkeypatch):
    monkeypatch.setattr(kernel_table, "FOLD_ROWS", 64)
    rng = Random(3)
    rows = [
        (rng.choice(list(KINDS)), rng.randrange(10**6), rng.randrange(500)) for _ in range(1000)
    ]
    found = table(*rows, blocks=20)
    for tally in found.used:
        mine = sorted(d for kernel, _, d in rows if kernel == tally.key.name)
        assert (tally.calls, tally.total_ns) == (len(mine), sum(mine))
        assert (tally.min_ns, tally.max_ns) == (mine[0], mine[-1])
        assert tally.durations.percentile(50) == mine[(len(mine) + 1) // 2 - 1]
    covered = np.zeros(10**6 + 500, dtype=bool)
    for _, start, duration in rows:
        covered[start : start + duration] = True
    assert found.busy["0"].length == covered.sum()


def test_streams_side_by_side_sum_to_more_than_the_device_was_busy():
    found = table(("gemm", 0, 100), ("nccl", 40, 100, "20"))
    assert sum(row.total_ns for row in found.used) == 200
    assert found.busy["0"].length == 140


def test_two_devices_are_busy_each_for_itself():
    found = table(("gemm", 0, 100), ("gemm", 0, 100, "7", "1"))
    closure = close(found, (), 100)
    assert (closure.devices, closure.sum_share, closure.union_share) == (2, 1.0, 1.0)


def test_closure_takes_the_wall_clock_given_then_steps_then_the_span():
    found = table(("gemm", 10, 30), ("gemm", 110, 30), steps=STEPS)
    given, steps, span = close(found, (), 300), close(found, STEPS.values()), close(found, ())
    assert (given.source, given.union_share) == (WallSource.GIVEN, 0.2)
    assert (steps.source, steps.wall_ns, steps.union_share) == (WallSource.STEPS, 200, 0.3)
    assert (span.source, span.wall_ns) == (WallSource.SPAN, 130)
    assert steps.low
    assert not steps.over


def test_closure_just_above_and_below_its_limits():
    assert not close(table(("gemm", 0, 60)), (), 100).low
    assert close(table(("gemm", 0, 59)), (), 100).low
    assert not close(table(("gemm", 0, 100)), (), 100).over
    assert close(table(("gemm", 0, 100), ("gemm", 0, 1, "9")), (), 100).over


def test_no_rows_no_closure():
    assert close(table(), STEPS.values()) is None


def test_rows_written_twice_are_named():
    found = table(("gemm", 0, 50), ("gemm", 0, 50), ("soft", 60, 5), ("gemm", 0, 50, "9"))
    assert found.twins == 1
    assert found.twin_example == "gemm"


def test_rows_that_begin_together_are_twins_only_where_they_agree_in_all():
    chance = Random(3)
    names, streams = ("gemm", "soft"), ("7", "20")
    rows = [
        (
            chance.choice(names),
            chance.randrange(40),
            1 + chance.randrange(3),
            chance.choice(streams),
        )
        for _ in range(300)
    ]
    assert table(*rows).twins == len(rows) - len(set(rows))
    assert table(*((name, n, 5) for n in range(50) for name in names)).twins == 0


def test_by_step_a_row_belongs_where_it_begins():
    rows = [("gemm", 10, 20), ("gemm", 95, 10), ("nccl", 150, 20), ("gemm", 250, 7)]
    found = table(*rows, steps=STEPS)
    first, second = by_step(found, STEPS.values())
    assert (first.calls, first.sum_ns, first.union_ns) == (2, 30, 25)
    assert second.classes_ns == {KernelClass.COMMUNICATION: 20}
    assert second.union_ns == 25
    assert outside(found) == (1, 7)


def ahead(monkeypatch, calls, *, fold, more=()):
    """Four rows of 80 ns launched at 10, 20, 110 and 120, in two steps, on a device that lags."""
    monkeypatch.setattr(kernel_table, "FOLD_ROWS", fold)
    names = TraceNames(kernels=[KernelKey(DeviceCategory.KERNEL, "gemm")], tracks=[Track("0", "7")])
    found = KernelTable(names, lambda key: KINDS[key.name])
    made = {1: 10, 2: 20, 3: 110, 4: 120}
    told, later = (
        DeviceRows(call=array("q", some), call_ns=array("q", [made[one] for one in some]))
        for some in (calls, more)
    )
    rows = [
        DeviceRows(
            start_ns=array("q", [10 + 80 * n]),
            duration_ns=array("q", [80]),
            kernel=array("I", [0]),
            track=array("I", [0]),
            launch=array("q", [n + 1]),
        )
        for n in range(4)
    ]
    for block in (told, *rows, later):
        found.add(block, STEPS)
    found.finish(STEPS)
    return found


@pytest.mark.parametrize("fold", [1, 10**6])
def test_a_row_belongs_to_the_step_that_launched_it_however_late_it_runs(monkeypatch, fold):
    found = ahead(monkeypatch, [3, 1, 4, 2], fold=fold)
    first, second = by_step(found, STEPS.values())
    assert (first.calls, first.sum_ns, second.calls, second.sum_ns) == (2, 160, 2, 160)
    assert (first.union_ns, second.union_ns) == (90, 100)
    assert outside(found) == (0, 0)
    expected = Expectation(pattern="x", matches=lambda _: True, calls=2, per_step=True)
    assert meet(expected, found, (1, 2)).outcome is Outcome.PASS
    closure = close(found, STEPS.values())
    assert (closure.sum_share, closure.union_share) == (240 / 200, 190 / 200)


def test_a_call_may_stand_behind_its_row_in_the_file(monkeypatch):
    found = ahead(monkeypatch, [1, 2, 3], fold=1, more=[4])
    assert [one.calls for one in by_step(found, STEPS.values())] == [2, 2]
    assert not found.unplaced


def test_rows_behind_the_last_step_whose_calls_are_missing_leave_steps_unknown():
    steps = {1: StepWindow(1, 0, 90), 2: StepWindow(2, 90, 150)}
    found = table(
        ("gemm", 10, 60), ("gemm", 70, 60), ("soft", 130, 5), ("gemm", 190, 9), steps=steps
    )
    assert found.unplaced == {list(KINDS).index("gemm"): 1}
    one = Expectation(pattern="x", matches=lambda name: name == "gemm", calls=1, per_step=True)
    assert meet(one, found, (1, 2)).outcome is Outcome.UNKNOWN
    assert "behind the last step" in meet(one, found, (1, 2)).why
    other = Expectation(pattern="x", matches=lambda name: name == "soft", calls=1, per_step=True)
    assert meet(other, found, (1, 2)).outcome is Outcome.FAIL
    before = table(("gemm", -9, 5), ("gemm", 10, 60), steps=steps)
    assert not before.unplaced


def test_steps_told_after_rows_were_folded_are_not_guessed(monkeypatch):
    monkeypatch.setattr(kernel_table, "FOLD_ROWS", 1)
    names = TraceNames(kernels=[KernelKey(DeviceCategory.KERNEL, "gemm")], tracks=[Track("0", "7")])
    found = KernelTable(names, lambda key: KINDS[key.name])
    row = DeviceRows(
        start_ns=array("q", [1]),
        duration_ns=array("q", [1]),
        kernel=array("I", [0]),
        track=array("I", [0]),
    )
    found.add(row, {})
    found.add(row, STEPS)
    found.finish(STEPS)
    assert found.steps_late
    assert by_step(found, STEPS.values()) == ()
    expected = Expectation(pattern="x", matches=lambda _: True, calls=1, per_step=True)
    assert meet(expected, found, (1, 2)).outcome is Outcome.UNKNOWN


def test_classes_share_the_sum_and_communication_tells_what_is_hidden():
    found = table(("gemm", 0, 100), ("nccl", 50, 100, "20"), ("copy", 120, 30, "21"))
    classes = by_class(found)
    assert classes[KernelClass.GEMM].share == pytest.approx(100 / 230)
    hidden = hidden_communication(found)
    assert (hidden.union_ns, hidden.beside_compute_ns, hidden.exposed_ns) == (100, 50, 50)
    assert hidden_communication(table(("gemm", 0, 1))) is None


def test_generations_have_their_share_and_do_not_claim_to_know():
    shares = by_generation(table(("attn", 0, 60), ("gemm", 60, 20), ("soft", 80, 20)).used)
    assert [(one.generation, one.share) for one in shares] == [(80, 0.8), (None, 0.2)]
    assert shares[0].families == ("cublas", "mem_efficient")
    assert shares[0].newer_known is True


@pytest.mark.parametrize(
    ("kernels", "operators", "experts", "attention"),
    [
        (["grouped", "attn"], {}, Experts.GROUPED, Attention.FUSED),
        (["gemm", "flex"], {}, Experts.ORDINARY, Attention.FLEX),
        (["gemm", "soft"], {}, Experts.ORDINARY, Attention.UNFUSED),
        (
            ["grouped"],
            {"transformers::grouped_mm_fallback": 4},
            Experts.FALLBACK,
            Attention.NONE,
        ),
        (["nccl"], {}, Experts.NONE, Attention.NONE),
    ],
)
def test_launches_tell_which_way_it_went(kernels, operators, experts, attention):
    found = table(*((name, n, 1) for n, name in enumerate(kernels)))
    launches = count_launches(found, operators, 0)
    assert (launches.experts, launches.attention) == (experts, attention)


@pytest.mark.parametrize(
    ("calls", "per_step", "outcome"),
    [
        (2, True, Outcome.PASS),
        (3, True, Outcome.FAIL),
        (1, True, Outcome.FAIL),
        (4, False, Outcome.PASS),
        (2, False, Outcome.FAIL),
    ],
)
def test_expected_launches_are_counted_in_each_step_or_in_all(calls, per_step, outcome):
    rows = [("gemm", at, 1) for at in (1, 2, 101, 102)]
    found = table(*rows, ("soft", 5, 1), steps=STEPS)
    expected = Expectation(
        pattern="gemm", matches=lambda name: name == "gemm", calls=calls, per_step=per_step
    )
    assert meet(expected, found, (1, 2)).outcome is outcome


def test_a_step_without_the_launch_fails_and_a_trace_without_steps_is_unknown():
    expected = Expectation(pattern="gemm", matches=lambda _: True, calls=1, per_step=True)
    assert meet(expected, table(("gemm", 1, 1), steps=STEPS), (1, 2)).counts == (1, 0)
    assert meet(expected, table(("gemm", 1, 1)), ()).outcome is Outcome.UNKNOWN


def test_a_diff_is_per_step_and_leaves_out_what_no_step_holds():
    before = table(("gemm", 1, 10), ("gemm", 101, 10), ("gemm", 500, 99), steps=STEPS)
    after = table(("gemm", 1, 4), ("attn", 10, 2), steps={1: StepWindow(1, 0, 100)})
    first, second = amounts(before, 2)[0], amounts(after, 1)[0]
    gemm, attn = changes(first, second)
    assert (gemm.before.calls, gemm.before.total_ns, gemm.delta_ns) == (1, 10, -6)
    assert (attn.before, attn.delta_ns) == (None, 2)


def test_a_coarse_middle_lies_below_the_true_one_by_less_than_its_bound():
    rng = Random(5)
    values = np.array([int(rng.lognormvariate(12, 2)) for _ in range(5000)])
    counts = DurationCounts()
    counts.add(values[:2500])
    counts.coarsen()
    counts.add(values[2500:])
    for percent in (1, 50, 99):
        true = int(np.sort(values)[int(np.ceil(5000 * percent / 100)) - 1])
        assert true * (1 - VALUE_ERROR) <= counts.percentile(percent) <= true
    assert len(counts) < len(np.unique(values))


def test_too_many_distinct_durations_are_made_coarse_kernel_by_kernel(monkeypatch):
    monkeypatch.setattr(kernel_table, "EXACT_DURATIONS", 1_000)
    rows = [("gemm", n, 10_000_000 + n * 13) for n in range(1500)] + [("soft", 0, 3)]
    gemm, soft = table(*rows).used
    assert gemm.durations.coarse
    assert not soft.durations.coarse
    assert (gemm.min_ns, gemm.max_ns) == (10_000_000, 10_000_000 + 1499 * 13)


def test_rows_of_no_length_are_no_evidence_of_a_double_count():
    assert table(("gemm", 5, 0), ("gemm", 5, 0)).twins == 0
