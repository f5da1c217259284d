"""What drivers were seen or are documented to do, where one might believe otherwise."""

import ctypes
import os
import re
import time
from pathlib import Path

import pynvml
import pytest
from nvml_shim import (
    A100_NCCL_HANG,
    H200,
    H200_IDLE,
    L40S_IDLE,
    LOST,
    NO_PERMISSION,
    NOT_SUPPORTED,
    UNKNOWN,
    uuid,
)
from nvml_shim import library as shim_library

from pfid.adapters.gpu_bus import BusWatch, gpus_on_bus
from pfid.adapters.gpu_gate import GpuGate
from pfid.domain.gpu import XIDS, AbsentReason, PowerSource

FIRST = uuid(0)
DEPRECATED = "error 26"
UNKNOWN_FUNCTION = "error 13"
TIMES_OUT = "error 10"
GIB = 1024**3
STRUCTURES = (
    "nvmlPciInfo_t",
    "c_nvmlUtilization_t",
    "c_nvmlFieldValue_t",
    "c_nvmlMemory_t",
    "c_nvmlMemory_v2_t",
    "c_nvmlProcessInfo_v3_t",
    "c_nvmlTemperature_v1_t",
    "c_nvmlGpmSupport_t",
    "c_nvmlGpmMetric_t",
    "c_nvmlEventData_t",
)
"""In the order of ``shim_sizes`` in the stand-in."""
CODES = {
    "OK": "NVML_SUCCESS",
    "UNINIT": "NVML_ERROR_UNINITIALIZED",
    "INVALID": "NVML_ERROR_INVALID_ARGUMENT",
    "NOSUP": "NVML_ERROR_NOT_SUPPORTED",
    "SIZE": "NVML_ERROR_INSUFFICIENT_SIZE",
    "TIMEOUT": "NVML_ERROR_TIMEOUT",
    "LOST": "NVML_ERROR_GPU_IS_LOST",
    "VERSION": "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
}


def test_the_stand_in_has_the_structures_of_nvidias_own_bindings():
    sizes = (ctypes.c_uint * len(STRUCTURES)).in_dll(ctypes.CDLL(shim_library()), "shim_sizes")
    assert {n: ctypes.sizeof(getattr(pynvml, n)) for n in STRUCTURES} == dict(
        zip(STRUCTURES, sizes, strict=True)
    )


def test_the_stand_in_has_no_function_and_no_code_of_its_own():
    source = (Path(__file__).parents[2] / "nvml_shim/shim.c").read_text()
    exported = set(re.findall(r"^API .*?\b(nvml\w+)\(", source, re.MULTILINE))
    assert len(exported) > 40
    bindings = Path(pynvml.__file__).read_text()
    assert {name for name in exported if f'"{name}"' not in bindings} <= {"nvmlInit_v2"}
    listed = re.search(r"enum \{ (OK = .*?) \};", source)[1]
    codes = dict(pair.split(" = ") for pair in listed.split(", "))
    assert {name: int(code) for name, code in codes.items()} == {
        name: getattr(pynvml, full) for name, full in CODES.items()
    }


def test_a_client_of_mps_is_on_the_card_though_it_is_in_no_other_list(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 100, GIB)
    nvml.run_on(0, 200, 2 * GIB, kind="mps")
    nvml.run_on(0, 100, GIB, kind="mps")
    sample = sampler().sample()
    assert [(p.pid, p.memory_bytes, p.graphics) for p in sample.processes] == [
        (100, GIB, False),
        (200, 2 * GIB, False),
    ]


LISTS = ("compute_list", "mps_list", "graphics_list")
ERRORS = {
    NO_PERMISSION: AbsentReason.NO_PERMISSION,
    UNKNOWN: AbsentReason.BLANK,
    TIMES_OUT: AbsentReason.TIMEOUT,
}


def test_a_list_that_cannot_be_read_leaves_nobody_out_unsaid(nvml, sampler):
    """An MPS client on 40 GiB would be nobody, its memory orphaned and the next run refused."""
    cases = [(listing, error) for listing in LISTS for error in ERRORS]
    nvml.play(*({**H200, listing: error} for listing, error in cases))
    for index in range(len(cases)):
        nvml.run_on(index, 200 + index, 40 * GIB, kind="mps")
    samples = sampler().read(lambda r: len(r.samples) == len(cases)).samples
    assert [s.processes for s in samples] == [None] * len(cases)
    assert [s.absent["processes"] for s in samples] == [ERRORS[error] for _, error in cases]


def test_a_list_that_a_card_does_not_have_is_no_gap(nvml, sampler):
    nvml.play(*({**H200, listing: NOT_SUPPORTED} for listing in LISTS[1:]))
    for index in range(2):
        nvml.run_on(index, 100, GIB)
    samples = sampler().read(lambda r: len(r.samples) == 2).samples
    assert [[p.pid for p in s.processes] for s in samples] == [[100], [100]]


def test_no_memory_at_all_is_what_a_driver_says_of_a_process_it_cannot_look_at(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 324, 0)
    (process,) = sampler().sample().processes
    assert (process.pid, process.memory_bytes) == (324, None)


@pytest.mark.parametrize("gone", [DEPRECATED, UNKNOWN_FUNCTION])
def test_a_temperature_that_has_moved_to_its_new_name_is_found_there(nvml, sampler, gone):
    nvml.play({**H200, "old_temperature": gone})
    assert sampler().sample().temperature_c == 58.0


@pytest.mark.parametrize(("kind", "known"), [(1, True), (2, True), (3, True), (0, False)])
def test_a_field_may_hold_its_whole_number_in_any_width(nvml, sampler, kind, known):
    nvml.play({**H200, "energy": "error 3", "instant": 600_000, "instant_type": kind})
    sample = sampler().sample()
    expected = PowerSource.INSTANT if known else PowerSource.AVERAGE
    assert sample.power_source is expected


@pytest.mark.full
def test_an_energy_counter_of_the_whole_module_is_not_this_cards(nvml, sampler):
    nvml.play({**H200_IDLE, "module": 120_000})
    watching = sampler()
    seen = [watching.sample() for _ in range(4)]
    assert {s.power_source for s in seen} == {PowerSource.INSTANT}
    settled = watching.sample(lambda s: s.energy_j is None)
    assert settled.absent["energy_j"] is AbsentReason.NOT_SUPPORTED
    assert settled.power_w == pytest.approx(77.7)


def test_one_reading_of_another_moment_does_not_void_the_energy_counter(nvml, sampler):
    nvml.play({**H200_IDLE, "average": "30000@0 77700@0.5"})
    watching = sampler()
    watching.sample(lambda s: s.power_source is PowerSource.ENERGY)
    assert watching.sample().power_w == pytest.approx(77.7, rel=0.2)


def test_a_card_that_is_slow_to_read_does_not_falsify_the_power_of_the_next(nvml, sampler):
    """The energy counter of the next is read later than this turn began, by as much."""
    nvml.play(H200, H200)
    watching = sampler()
    settled = [watching.sample(lambda s: s.uuid == uuid(1)) for _ in range(6)][-1]
    assert settled.power_source is PowerSource.ENERGY
    nvml.change(0, temperature="slow 400 58")  # read every few turns
    seen = [watching.sample(lambda s: s.uuid == uuid(1)) for _ in range(12)]
    assert any(s.window_s > 0.4 for s in seen), "the fault was not delivered"
    assert {s.power_source for s in seen} == {PowerSource.ENERGY}
    assert [s.power_w for s in seen] == [pytest.approx(627.4, rel=0.4)] * len(seen)


@pytest.mark.parametrize("change", [{"energy": "error 3"}, {}])
def test_three_times_the_limit_is_no_power(nvml, sampler, change):
    nvml.play({**H200, "power": 4_000_000, **change})
    watching = sampler()
    for _ in range(3):
        sample = watching.sample()
        assert (sample.power_w, sample.power_source) == (None, None)
    assert sample.absent["power_w"] is AbsentReason.OUT_OF_RANGE


def test_counters_a_little_over_the_whole_are_the_whole(nvml, sampler):
    nvml.play({**H200, "sm": 100.4, "tensor": 81.0, "dram": 106.0})
    sample = sampler().sample(lambda s: s.tensor_activity is not None)
    assert sample.sm_activity == 1.0
    assert sample.absent["dram_activity"] is AbsentReason.OUT_OF_RANGE


def test_counters_that_a_container_may_not_read_are_absent_for_that_reason(nvml, sampler):
    nvml.play({**H200, "tensor": NO_PERMISSION})
    sample = sampler().sample(lambda s: s.sm_activity is not None)
    assert sample.absent == {"tensor_activity": AbsentReason.NO_PERMISSION}


def test_a_driver_counts_the_gpus_of_its_start_so_the_bus_has_it_started_anew(
    nvml, sampler, tmp_path
):
    devices = tmp_path / "devices"

    def plug_in(name):
        (devices / name).mkdir(parents=True)
        (devices / name / "vendor").write_text("0x10de\n")
        (devices / name / "class").write_text("0x030200\n")

    plug_in("0000:0a:00.0")
    nvml.play(H200)
    bus = BusWatch(lambda: gpus_on_bus(devices), every_s=0.2)
    gate = GpuGate(monotonic_s=time.monotonic, bus=bus)
    watching = sampler(gate=gate)
    watching.read(lambda r: r.facts)
    nvml.play(H200, H200)
    for _ in range(5):
        assert len(watching.read().samples) == 1
    plug_in("0000:0b:00.0")
    assert len(watching.read(lambda r: r.facts).facts) == 2
    assert watching.worker.counters.starts == 1


@pytest.mark.full
def test_a_lost_card_does_not_make_pfid_deaf_for_the_others(nvml, sampler):
    """Once a card is lost, waiting for events fails at once, whatever the other cards say."""
    nvml.play(H200, H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 3)
    nvml.change(0, state=LOST)
    facts = watching.read(lambda r: r.facts and XIDS in r.facts[0].absent).facts
    assert [f.absent.get(XIDS) for f in facts] == [AbsentReason.LOST, None, None]
    nvml.xid(2, 31)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code) == (uuid(2), 31)
    nvml.change(0, state=0)
    watching.read(lambda r: r.facts and XIDS not in r.facts[0].absent)
    nvml.xid(0, 43)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code) == (FIRST, 43)


@pytest.mark.parametrize(
    ("card", "why"),
    [
        ({**A100_NCCL_HANG, "events": 0}, AbsentReason.NOT_SUPPORTED),
        ({**L40S_IDLE, "register": "error 3"}, AbsentReason.NOT_SUPPORTED),
        ({**H200, "events": NO_PERMISSION}, AbsentReason.NO_PERMISSION),
    ],
)
def test_a_card_that_tells_no_errors_says_so(nvml, sampler, card, why):
    nvml.play(card, H200)
    watching = sampler()
    watching.sample()
    assert watching.facts[FIRST].absent[XIDS] is why
    assert XIDS not in watching.facts[uuid(1)].absent


def test_two_samplers_on_one_box_both_read_and_are_both_told(nvml, sampler):
    nvml.play(H200)
    first, second = sampler(), sampler()
    assert first.sample().utilization == second.sample().utilization == 1.0
    nvml.xid(0, 43)
    for watching in (first, second):
        assert watching.read(lambda r: r.xids).xids[0].code == 43


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.full
def test_a_sampler_that_is_stopped_is_replaced(nvml, sampler):
    nvml.play(H200)
    watching = sampler()
    watching.sample()
    pid = watching.worker.owner._process.pid
    os.kill(pid, 19)
    gone = watching.run_out(lambda: state_of(pid) == "T")
    assert gone.problem.value == "hung"
    watching.sample()
    assert watching.worker.owner._process.pid != pid
