"""GPUs on the page: what was read stands there, what was not is absent and counted."""

import dataclasses

import pytest

from pfid.adapters.page import render
from pfid.domain.gpu import AbsentReason, GpuFacts, GpuSample, MigInstance, PowerSource
from pfid.domain.gpu_view import AbsentCount, GpusView, GpuView, HolderView, WorkKind, XidCount

UUID = "GPU-5eed0000-0000-0000-0000-000000000000"
FACTS = GpuFacts(
    uuid=UUID, index=0, name="NVIDIA H200", pci_bus_id="0000:0a:00.0", memory_total_bytes=150
)
SAMPLE = GpuSample(
    uuid=UUID,
    at_s=1.0,
    utilization=1.0,
    power_w=627.4,
    power_source=PowerSource.ENERGY,
    power_limit_w=700.0,
    throttle=frozenset({"sw_power_cap"}),
    memory_used_bytes=120,
    tensor_activity=None,
    absent={"tensor_activity": AbsentReason.NOT_SUPPORTED},
)
GPU = GpuView(facts=FACTS, present=True, last=SAMPLE)


def shown(box, families, *gpus, **more):
    view = GpusView(**{"up": True, "expected": 1, "visible": 1, "gpus": gpus, **more})
    return families(render(dataclasses.replace(box.snapshot(runs=[box.run()]), gpus=view)))


def test_a_card_is_shown_by_uuid_and_named_once(box, families, label):
    found = shown(box, families, GPU, driver="580.95.05", library="13.580")
    info = label(gpu="0", name="NVIDIA H200", pci_bus_id="0000:0a:00.0", uuid=UUID)
    assert found["pfid_gpu_info"] == {info: 1}
    assert found["pfid_gpu_utilization_ratio"] == {label(uuid=UUID): 1.0}
    assert found["pfid_gpu_power_watts"] == {label(uuid=UUID): 627.4}
    assert found["pfid_gpu_power_source_info"] == {label(source="energy", uuid=UUID): 1}
    assert found["pfid_gpu_memory_total_bytes"] == {label(uuid=UUID): 150}
    versions = label(driver_version="580.95.05", nvml_version="13.580")
    assert found["pfid_nvml_info"] == {versions: 1}
    assert found["pfid_nvml_up"] == {label(): 1}


def test_what_could_not_be_read_is_absent_and_counted_never_0(box, families, label):
    absent = (AbsentCount(field="tensor_activity", reason="not_supported", count=7),)
    found = shown(box, families, GPU, absent=absent)
    assert "pfid_gpu_tensor_active_ratio" not in found
    assert "pfid_gpu_temperature_celsius" not in found
    counted = label(field="tensor_activity", reason="not_supported")
    assert found["pfid_gpu_absent_values_total"] == {counted: 7}


def test_every_kind_of_work_is_there_and_one_of_them_is_so(box, families, label):
    found = shown(box, families, dataclasses.replace(GPU, kind=WorkKind.LOW_POWER))
    kinds = found["pfid_gpu_work_kind"]
    assert set(kinds) == {label(kind=k.value, uuid=UUID) for k in WorkKind}
    assert [k for k, value in kinds.items() if value] == [label(kind="low_power", uuid=UUID)]


def test_every_throttle_reason_is_there_as_soon_as_one_can_be_read(box, families, label):
    found = shown(box, families, GPU)["pfid_gpu_throttle_active"]
    assert len(found) == 9
    assert found[label(reason="sw_power_cap", uuid=UUID)] == 1
    assert sum(found.values()) == 1
    unread = dataclasses.replace(GPU, last=dataclasses.replace(SAMPLE, throttle=None))
    assert "pfid_gpu_throttle_active" not in shown(box, families, unread)


def test_a_gpu_that_is_gone_shows_that_and_nothing_it_once_was(box, families, label):
    gone = GpuView(facts=FACTS, present=False, last=None, holders=None)
    found = shown(box, families, gone, visible=0)
    assert found["pfid_gpu_up"] == {label(uuid=UUID): 0}
    assert found["pfid_gpus_visible"] == {label(): 0}
    assert found["pfid_gpus_expected"] == {label(): 1}
    assert "pfid_gpu_power_watts" not in found
    assert "pfid_gpu_memory_total_bytes" not in found


def test_without_a_driver_the_number_it_answers_for_is_not_known(box, families, label):
    found = shown(box, families, up=False, problem="no_library", expected=None, visible=0)
    assert found["pfid_nvml_up"] == {label(): 0}
    assert "pfid_gpus_visible" not in found
    assert "pfid_gpus_expected" not in found


def test_where_nobody_looks_nothing_is_said(box, families):
    assert not [n for n in families(render(box.snapshot())) if "gpu" in n or "nvml" in n]


def holder(pid, used, run_id=None, *, visible=True):
    return HolderView(pid=pid, memory_bytes=used, visible=visible, run_id=run_id)


def test_memory_is_summed_by_run_and_only_where_all_of_it_is_known(box, families, label):
    holders = (holder(1, 10, "train-0001"), holder(2, 5, "train-0001"), holder(3, 7))
    found = shown(box, families, dataclasses.replace(GPU, holders=holders))
    assert found["pfid_run_gpu_memory_bytes"] == {label(run="train-0001", uuid=UUID): 15}
    assert found["pfid_gpu_processes"] == {label(uuid=UUID): 3}
    unknown = (*holders, holder(4, None, "train-0001"))
    found = shown(box, families, dataclasses.replace(GPU, holders=unknown))
    assert "pfid_run_gpu_memory_bytes" not in found


def test_memory_held_by_no_process_anyone_can_see_is_counted(box, families, label):
    holders = (holder(1, 10, visible=False), holder(2, 10, visible=None), holder(3, 10))
    found = shown(box, families, dataclasses.replace(GPU, holders=holders))
    assert found["pfid_gpu_processes_not_visible"] == {label(uuid=UUID): 1}


def test_xids_that_matter_are_there_from_the_start_and_the_rest_is_bounded(box, families, label):
    many = tuple(XidCount(code=code, count=2, last_s=5.0) for code in (31, 79, *range(500, 530)))
    found = shown(box, families, dataclasses.replace(GPU, xids=many))
    counts = found["pfid_gpu_xid_errors_total"]
    assert counts[label(uuid=UUID, xid="79")] == 2
    assert counts[label(uuid=UUID, xid="48")] == 0
    assert counts[label(uuid=UUID, xid="31")] == 2
    assert counts[label(uuid=UUID, xid="other")] == 2 * (len(many) - 1 - 12)
    assert len(counts) == 21
    assert found["pfid_gpu_xid_last_timestamp_seconds"][label(uuid=UUID, xid="79")] == 5.0


def test_for_how_long_nobody_listened_is_counted_from_the_start(box, families, label):
    assert shown(box, families, GPU)["pfid_gpu_xid_unheard_seconds_total"] == {label(uuid=UUID): 0}
    unheard = dataclasses.replace(GPU, unheard_s=42.5)
    found = shown(box, families, unheard)
    assert found["pfid_gpu_xid_unheard_seconds_total"] == {label(uuid=UUID): 42.5}


@pytest.mark.parametrize("text", ['x"\n', "\x1b[2J"])
def test_text_of_a_driver_cannot_break_a_line(box, families, text):
    facts = dataclasses.replace(FACTS, name=text)
    found = shown(box, families, dataclasses.replace(GPU, facts=facts), driver=text)
    assert len(found["pfid_gpu_info"]) == 1


def test_each_slice_of_a_divided_card_is_named_and_a_whole_one_has_none(box, families, label):
    slices = tuple(
        MigInstance(uuid=f"MIG-{i}", gpu_instance=i, compute_instance=0, name="1g.18gb")
        for i in range(2)
    )
    divided = dataclasses.replace(GPU, facts=dataclasses.replace(FACTS, instances=slices))
    found = shown(box, families, divided)
    assert found["pfid_gpu_mig_instance_info"] == {
        label(instance=f"MIG-{i}", profile="1g.18gb", uuid=UUID): 1 for i in range(2)
    }
    gone = dataclasses.replace(divided, present=False, last=None)
    for none in (gone, GPU):
        assert not shown(box, families, none).get("pfid_gpu_mig_instance_info")
