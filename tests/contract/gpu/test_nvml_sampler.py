"""What the real pynvml says over the stand-in is what the sampler reports, field by field."""

import pytest
from nvml_shim import (
    A100_NCCL_HANG,
    GB10,
    H200,
    H200_IDLE,
    H200_MIG,
    L40S_IDLE,
    LOST,
    NO_PERMISSION,
    PLAYBOOK_300,
    PLAYBOOK_600,
    RTX_3090_CAPPED,
    SENTINELS,
    UNKNOWN,
    V100_HUNG,
    uuid,
)

from pfid.domain.gpu import AbsentReason, PowerSource

FIRST = uuid(0)


def test_a_whole_card_is_read(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 4242, 100_000_000_000)
    watching = sampler()
    assert watching.opened().driver == "580.95.05"
    sample = watching.sample(lambda s: s.tensor_activity is not None)
    facts = watching.facts[FIRST]
    assert (facts.name, facts.pci_bus_id, facts.capability) == (
        "NVIDIA H200",
        "0000:0a:00.0",
        (9, 0),
    )
    assert (facts.memory_total_bytes, facts.mig) == (150_754_820_096, False)
    assert sample.absent == {}
    assert (sample.utilization, sample.power_limit_w, sample.temperature_c) == (1.0, 700.0, 58.0)
    assert sample.power_w == pytest.approx(627.4, rel=0.2)
    assert sample.power_source is PowerSource.ENERGY
    assert sample.sm_clock_hz == 1755e6
    assert (sample.sm_activity, sample.tensor_activity, sample.dram_activity) == pytest.approx(
        (0.97, 0.81, 0.385)
    )
    assert (sample.throttle, sample.ecc_uncorrected) == (frozenset(), 0)
    assert [(p.pid, p.memory_bytes) for p in sample.processes] == [(4242, 100_000_000_000)]


def test_an_idle_card_is_idle_not_absent(nvml, sampler):
    nvml.play(H200_IDLE)
    sample = sampler().sample(lambda s: s.tensor_activity is not None)
    assert (sample.utilization, sample.tensor_activity) == (0.0, 0.0)
    assert sample.throttle == {"gpu_idle"}
    assert sample.power_w == pytest.approx(77.7, rel=0.2)
    assert sample.processes == ()


@pytest.mark.parametrize(
    ("card", "limit_w"),
    [
        (L40S_IDLE, 350.0),
        (RTX_3090_CAPPED, 200.0),
        (V100_HUNG, 250.0),
        (A100_NCCL_HANG, 400.0),
        (PLAYBOOK_300, 300.0),
        (PLAYBOOK_600, 600.0),
    ],
    ids=lambda v: v["name"] if isinstance(v, dict) else "",
)
def test_real_captures_keep_the_limit_of_this_very_card(nvml, sampler, card, limit_w):
    nvml.play(card)
    watching = sampler()
    sample = watching.sample(lambda s: s.power_w is not None)
    assert (sample.utilization, sample.power_limit_w) == (1.0, limit_w)
    usual_w = card.get("default_limit", 1e3 * limit_w) / 1e3
    assert watching.facts[FIRST].power_limit_default_w == usual_w
    assert sample.tensor_activity is None
    assert sample.absent["tensor_activity"] is AbsentReason.NOT_SUPPORTED


def test_under_mig_what_the_card_does_not_say_is_absent_and_its_slices_are_named(nvml, sampler):
    nvml.play(H200_MIG)
    nvml.extra = [
        "gpu 0 mig_device 0 uuid MIG-11111111-2222-3333-4444-555555555555",
        "gpu 0 mig_device 0 name NVIDIA H200 MIG 3g.71gb",
        "gpu 0 mig_device 0 gpu_instance 2",
        "gpu 0 mig_device 0 compute_instance 0",
        "gpu 0 mig_device 0 memory_total 75000000000",
    ]
    nvml.write()
    watching = sampler()
    sample = watching.sample(lambda s: s.power_source is PowerSource.ENERGY)
    assert sample.power_w == pytest.approx(295, rel=0.2)
    missing = {"utilization", "processes", "sm_activity", "tensor_activity", "dram_activity"}
    assert set(sample.absent) == missing
    (instance,) = watching.facts[FIRST].instances
    assert (instance.gpu_instance, instance.name) == (2, "NVIDIA H200 MIG 3g.71gb")
    assert watching.facts[FIRST].mig is True


def test_a_card_that_shares_memory_with_its_host_has_none_of_its_own(nvml, sampler):
    nvml.play(GB10)
    watching = sampler()
    sample = watching.sample()
    assert sample.memory_used_bytes is None
    assert sample.absent["memory_used_bytes"] is AbsentReason.NOT_SUPPORTED
    assert watching.facts[FIRST].memory_total_bytes is None
    assert (sample.power_w, sample.power_source) == (38.0, PowerSource.AVERAGE)


def test_placeholders_and_absurd_values_are_dropped_by_reason(nvml, sampler):
    nvml.play(SENTINELS)
    sample = sampler().sample(lambda s: s.absent.get("dram_activity") is AbsentReason.OUT_OF_RANGE)
    blank, unsupported = AbsentReason.BLANK, AbsentReason.NOT_SUPPORTED
    assert sample.absent == {
        "utilization": blank,
        "power_w": unsupported,
        "power_limit_w": unsupported,
        "energy_j": unsupported,
        "sm_clock_hz": blank,
        "throttle": blank,
        "temperature_c": blank,
        "ecc_uncorrected": blank,
        "memory_used_bytes": blank,
        "sm_activity": AbsentReason.BLANK,
        "tensor_activity": blank,
        "dram_activity": AbsentReason.OUT_OF_RANGE,
    }
    assert (sample.power_w, sample.utilization) == (None, None)


def test_one_bad_field_never_loses_the_sample(nvml, sampler):
    nvml.play({**H200, "temperature": UNKNOWN, "ecc": NO_PERMISSION})
    sample = sampler().sample(lambda s: s.tensor_activity is not None)
    assert sample.absent == {
        "temperature_c": AbsentReason.BLANK,
        "ecc_uncorrected": AbsentReason.NO_PERMISSION,
    }
    assert sample.utilization == 1.0


@pytest.mark.parametrize(
    ("change", "source"),
    [
        ({"energy": "error 3", "instant": 600_000}, PowerSource.INSTANT),
        ({"energy": "error 3", "instant": "error 3", "average": 590_000}, PowerSource.AVERAGE),
        ({"energy": 123_456_789, "instant": 600_000}, PowerSource.INSTANT),
    ],
    ids=["no counter", "nothing but the mean", "a counter that stands still"],
)
def test_power_says_how_it_was_had(nvml, sampler, change, source):
    nvml.play({**H200, **change})
    watching = sampler()
    for _ in range(3):
        sample = watching.sample()
        assert sample.power_source is source
    assert sample.power_w == (590.0 if source is PowerSource.AVERAGE else 600.0)


def test_a_scrambled_process_list_tells_nothing(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 4242, 10)
    nvml.run_on(0, 3_000_000_000, 10)
    sample = sampler().sample()
    assert sample.processes is None
    assert sample.absent["processes"] is AbsentReason.OUT_OF_RANGE


def test_a_process_whose_memory_is_not_told_is_listed_without_it(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 4242)
    (process,) = sampler().sample().processes
    assert (process.pid, process.memory_bytes) == (4242, None)


def test_a_name_that_is_no_text_cannot_hurt_a_terminal(nvml, sampler):
    nvml.play({**H200, "name": "garbage"})
    watching = sampler()
    watching.sample()
    assert "\x1b" not in watching.facts[FIRST].name


def test_values_change_while_it_runs(nvml, sampler):
    nvml.play(H200)
    watching = sampler()
    watching.sample(lambda s: s.utilization == 1.0)
    nvml.change(0, utilization=3)
    assert watching.sample(lambda s: s.utilization == 0.03).utilization == 0.03


def test_one_lost_gpu_leaves_the_others_alone_and_is_asked_no_further(nvml, sampler):
    nvml.play(H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 2)
    nvml.change(0, state=LOST)
    read = watching.read(lambda r: r.lost)
    assert read.lost == (FIRST,)
    lost, fine = read.samples
    assert set(lost.absent.values()) == {AbsentReason.LOST}
    assert fine.utilization == 1.0
    nvml.forget_calls()
    reads = [watching.read(lambda r: r.lost) for _ in range(8)]
    assert [len(r.samples) for r in reads] == [2] * 8
    asked = [name for _, name, index in nvml.calls() if index == 0]
    assert set(asked) <= {"nvmlDeviceGetUtilizationRates"}
    assert len(asked) < len(reads), "it is asked again after a while, not in each turn"
    nvml.change(0, state=0)
    watching.sample(lambda s: s.uuid == FIRST and s.utilization == 1.0)


def test_where_every_gpu_is_lost_without_an_error_one_call_a_turn_is_left(nvml, sampler):
    nvml.play(H200, H200)
    watching = sampler()
    watching.read(lambda r: len(r.samples) == 2)
    for index in range(2):
        nvml.change(index, state=LOST)

    def calls_of_a_turn():
        nvml.forget_calls()
        turns = [watching.read(lambda r: len(r.lost) == 2) for _ in range(3)]
        return {name for _, name, _ in nvml.calls()}, len(nvml.calls()) / len(turns)

    told = (calls_of_a_turn() for _ in range(60))
    assert any(names == {"nvmlDeviceGetCount_v2"} and many < 2 for names, many in told)


def test_a_gpu_that_left_the_list_is_gone_from_the_facts(nvml, sampler):
    """Where a library counts anew each time; a driver counts those of its start."""
    nvml.play(H200, H200, count_lives=1)
    watching = sampler()
    assert len(watching.read(lambda r: r.facts).facts) == 2
    nvml.play(H200)
    assert [f.uuid for f in watching.read(lambda r: r.facts).facts] == [FIRST]


def test_an_xid_is_told_once_with_the_card_it_is_about(nvml, sampler):
    nvml.play(H200, H200)
    watching = sampler()
    watching.sample()
    nvml.xid(1, 31)
    (event,) = watching.read(lambda r: r.xids).xids
    assert (event.uuid, event.code, event.pid) == (uuid(1), 31, None)
    assert not any(watching.read().xids for _ in range(3))


def test_only_calls_that_nvml_documents_and_no_lock_are_made(nvml, sampler):
    nvml.play(H200)
    nvml.run_on(0, 4242, 1)
    watching = sampler()
    watching.sample(lambda s: s.tensor_activity is not None)
    watching.close()
    names = [name for _, name, _ in nvml.calls()]
    assert not [n for n in names if "Streaming" in n or "Set" in n.removeprefix("nvmlEventSet")]
    assert names[-1] == "nvmlShutdown"
