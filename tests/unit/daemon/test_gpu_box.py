"""What the daemon makes of readings: who is gone, what is stale, what counts and what is kept."""

import dataclasses

import pytest

from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.gpu_views import gpus_view
from pfid.daemon.gpu_worlds import LiveGpus
from pfid.daemon.tracked_gpu import MAX_UNHEARD, MAX_XIDS, STORED_XIDS
from pfid.domain.gpu import (
    NVML,
    XIDS,
    AbsentReason,
    GpuFacts,
    GpuProcess,
    GpuSample,
    XidEvent,
)
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import WorkKind
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.spec.fakes_gpus import CONTROL_HOLDER
from pfid.spec.gpu_sampler import Heard
from pfid.spec.ports.gpus import SamplerProblem, Withheld
from pfid.wire.gpu import Opened, Read, Trouble
from pfid.wire.stored import GpuBody, pack, unpack

A = GpuFacts(uuid="GPU-a", index=0, name="a", pci_bus_id="0000:0a:00.0")
B = GpuFacts(uuid="GPU-b", index=1, name="b", pci_bus_id="0000:0b:00.0")


def sample(facts, **fields):
    known = {"utilization": 1.0, "power_w": 600.0, "power_limit_w": 700.0, **fields}
    return GpuSample(**{"uuid": facts.uuid, "at_s": 100.0, "window_s": 1.0, **known})


def read(*facts, at_s=100.0, **more):
    samples = more.pop("samples", tuple(sample(f, at_s=at_s) for f in facts))
    return Read(sampler=NVML, at_s=at_s, samples=samples, **more)


@pytest.fixture
def box():
    box = GpuBox()
    box.opened(Opened(sampler=NVML, driver="580"), 0.0)
    box.read(read(A, B, facts=(A, B)), 10.0, lambda _: None)
    return box


def presence(box):
    return {g.facts.uuid: g.present for g in box.ordered()}


def test_a_gpu_that_is_no_longer_listed_is_gone_and_may_come_back(box):
    box.read(read(A, facts=(A,), at_s=105.0), 15.0, lambda _: None)
    assert presence(box) == {"GPU-a": True, "GPU-b": False}
    assert box.gpus["GPU-b"].lost_at_s == 105.0
    assert box.count().missing == {"0000:0b:00.0"}
    box.read(read(A, B, facts=(A, B)), 16.0, lambda _: None)
    assert presence(box) == {"GPU-a": True, "GPU-b": True}
    assert box.gpus["GPU-b"].state.lost_at_s is None


def test_a_gpu_that_says_it_is_lost_is_gone_though_it_is_listed(box):
    box.read(read(A, B, lost=("GPU-b",)), 11.0, lambda _: None)
    assert presence(box) == {"GPU-a": True, "GPU-b": False}


def test_another_samplers_list_takes_nothing_away(box):
    other = dataclasses.replace(A, uuid="GPU-amd", vendor="amd")
    report = Read(sampler="rocm", at_s=100.0, samples=(sample(other),), facts=(other,))
    box.read(report, 10.0, lambda _: None)
    assert presence(box) == {"GPU-a": True, "GPU-b": True, "GPU-amd": True}


def test_figures_that_are_not_fresh_are_not_shown_as_if_they_were(box):
    assert [g.last is None for g in gpus_view(box, 14.9, {}).gpus] == [False, False]
    stale = gpus_view(box, 15.1, {})
    assert [g.last for g in stale.gpus] == [None, None]
    assert [g.kind for g in stale.gpus] == [WorkKind.UNKNOWN] * 2
    assert (stale.up, stale.problem) == (False, "hung")


def test_a_clock_that_was_set_back_stops_neither_the_kind_of_work_nor_the_small_plots(box):
    def shown(at_s, **fields):
        now = [sample(A, at_s=at_s + i, **fields) for i in range(120)]
        for each in now:
            box.read(read(samples=(each,), at_s=each.at_s), at_s, lambda _: None)
            view = gpus_view(box, at_s, {}).gpus[0]
        return view.kind, len(view.recent_power_w)

    busy, points = shown(100_000.0, throttle=frozenset(), tensor_activity=0.8, sm_activity=0.9)
    idle, more = shown(90_000.0, utilization=0.0, power_w=70.0, throttle=frozenset())
    assert (busy, idle) == (WorkKind.MATMUL, WorkKind.IDLE)
    assert more >= points + 20


def test_a_sampler_in_trouble_is_not_up_however_fresh_its_last_figures(box):
    trouble = Trouble(sampler=NVML, problem=SamplerProblem.FATAL_XID, leaving=True)
    box.trouble(trouble, 10.5)
    assert not box.up(NVML, 10.5)
    assert box.facts(10.5).problem is SamplerProblem.FATAL_XID
    box.read(read(A, B), 11.0, lambda _: None)
    assert box.up(NVML, 11.0)


def test_absent_values_are_counted_by_field_and_reason(box):
    absent = {"temperature_c": AbsentReason.BLANK}
    for at_s in (11.0, 12.0):
        box.read(read(samples=(sample(A, absent=absent),)), at_s, lambda _: None)
    assert box.absent == {("temperature_c", "blank"): 2}


def test_what_a_driver_does_not_say_of_a_card_itself_is_counted_likewise(box):
    absent = {"memory_total_bytes": AbsentReason.NOT_SUPPORTED}
    gb10 = dataclasses.replace(B, absent=absent)
    box.read(read(A, B, facts=(A, gb10)), 11.0, lambda _: None)
    assert box.absent == {("memory_total_bytes", "not_supported"): 1}


def test_in_a_container_a_card_says_that_its_pids_mean_others():
    for ours in (True, False):
        apart = GpuBox(pids_are_ours=ours)
        apart.read(read(A, facts=(A,)), 10.0, lambda _: None)
        assert apart.gpus["GPU-a"].state.foreign_pids is not ours


def test_a_gpu_nobody_listed_brings_no_sample(box):
    stranger = dataclasses.replace(A, uuid="GPU-unlisted")
    assert box.read(read(stranger), 11.0, lambda _: None) == []
    assert "GPU-unlisted" not in box.gpus


def test_errors_are_counted_by_code_with_the_run_they_belong_to(box):
    events = tuple(XidEvent(uuid="GPU-a", code=c, at_s=5.0, pid=7) for c in (31, 31, 79))
    box.read(read(A, B, xids=events), 11.0, lambda e: "run-1" if e.pid == 7 else None)
    assert box.gpus["GPU-a"].xid_counts == {31: 2, 79: 1}
    assert {x.run_id for x in box.gpus["GPU-a"].state.xids} == {"run-1"}


LOGGED = XidEvent(uuid=f"PCI-{A.pci_bus_id}", code=31, at_s=5.2, pid=7)
NAMED = XidEvent(uuid="GPU-a", code=31, at_s=5.0)


@pytest.mark.parametrize("turns", [(NAMED, LOGGED), (LOGGED, NAMED)])
def test_what_log_and_set_tell_one_after_the_other_counts_once_with_its_run(box, turns):
    for event in turns:
        box.read(read(A, B, xids=(event,)), 11.0, lambda e: "run-1" if e.pid == 7 else None)
    (told,) = box.gpus["GPU-a"].state.xids
    assert (told.event.uuid, told.event.pid, told.run_id) == ("GPU-a", 7, "run-1")
    assert box.gpus["GPU-a"].xid_counts == {31: 1}
    box.read(read(A, B, xids=turns), 11.0, lambda _: None)
    assert box.gpus["GPU-a"].xid_counts == {31: 2}, "another one is no double of that"


def xids(*codes):
    return tuple(XidEvent(uuid="GPU-a", code=c, at_s=5.0) for c in codes)


def test_a_driver_that_may_be_asked_again_has_no_fatal_error_behind_it(box):
    box.read(read(A, B, xids=xids(48, 79)), 11.0, lambda _: None)
    assert [g.facts.uuid for g in box.opened(Opened(sampler=NVML, driver="580"), 12.0)] == ["GPU-a"]
    gpu = box.gpus["GPU-a"]
    assert [x.event.code for x in gpu.state.xids] == [48], "what it survived stands for its day"
    assert gpu.xid_counts == {48: 1, 79: 1}, "counters never fall"
    assert box.opened(Opened(sampler=NVML, driver="580"), 13.0) == []


def test_another_vendors_driver_says_nothing_about_a_fatal_error(box):
    box.read(read(A, B, xids=xids(79)), 11.0, lambda _: None)
    assert box.opened(Opened(sampler="rocm", driver="6"), 12.0) == []
    assert [x.event.code for x in box.gpus["GPU-a"].state.xids] == [79]


def test_a_storm_of_one_error_does_not_hide_another(box):
    box.read(read(A, B, xids=xids(48, *[31] * 2 * MAX_XIDS)), 11.0, lambda _: None)
    kept = [x.event.code for x in box.gpus["GPU-a"].xids]
    assert (kept[0], len(kept)) == (48, MAX_XIDS)
    assert box.gpus["GPU-a"].xid_counts[31] == 2 * MAX_XIDS


def test_errors_outlive_the_daemon_a_few_of_each_kind(box):
    box.read(read(A, B, xids=xids(48, *[31] * 9, 79)), 11.0, lambda _: "run-1")
    kept = unpack(
        pack(GpuBody(facts=A, source=NVML, last_seen_s=50.0, xids=box.gpus["GPU-a"].stored_xids())),
        GpuBody,
    )
    later = GpuBox()
    later.restore(kept)
    gpu = later.gpus["GPU-a"]
    assert [x.event.code for x in gpu.state.xids] == [48, *[31] * STORED_XIDS, 79]
    assert {x.run_id for x in gpu.state.xids} == {"run-1"}
    assert (gpu.xid_counts[79], gpu.xid_last_s[79]) == (1, 5.0)


REFERENCE = GpuReference(
    uuid="GPU-a", tflops=700, power_w=640, power_limit_w=700, at_s=1.0, driver="580"
)


def test_a_reference_of_another_driver_waits_for_its_driver(box):
    box.refer(REFERENCE)
    assert box.gpus["GPU-a"].state.reference == REFERENCE
    box.opened(Opened(sampler=NVML, driver="590"), 20.0)
    assert box.gpus["GPU-a"].state.reference is None
    box.opened(Opened(sampler=NVML, driver="580"), 30.0)
    assert box.gpus["GPU-a"].state.reference == REFERENCE


def test_what_was_here_before_is_missed_until_the_driver_lists_it():
    box = GpuBox()
    box.restore(GpuBody(facts=A, source=NVML, last_seen_s=50.0, reference=REFERENCE))
    (gpu,) = box.ordered()
    assert (gpu.present, gpu.lost_at_s, gpu.reference) == (False, 50.0, None)
    box.opened(Opened(sampler=NVML, driver="580"), 0.0)
    box.read(read(A, facts=(A,)), 1.0, lambda _: None)
    assert (gpu.present, gpu.reference) == (True, REFERENCE)


def test_memory_nobody_accounts_for_is_told_only_where_all_is_known(box):
    gpu = box.gpus["GPU-a"]
    known = {"memory_used_bytes": 100, "memory_reserved_bytes": 5}
    gpu.holders = ()
    box.read(read(samples=(sample(A, **known),)), 11.0, lambda _: None)
    assert gpu.state.unheld_bytes == 100
    gpu.holders = (dataclasses.replace(CONTROL_HOLDER, memory_bytes=60),)
    gpu.changed()
    assert gpu.state.unheld_bytes == 40
    gpu.holders = (dataclasses.replace(CONTROL_HOLDER, memory_bytes=None),)
    gpu.changed()
    assert gpu.state.unheld_bytes is None
    box.read(read(samples=(sample(A, memory_used_bytes=100),)), 12.0, lambda _: None)
    assert gpu.state.unheld_bytes is None


def test_seen_from_a_container_memory_nobody_is_listed_for_may_be_anybodys():
    """Newer drivers leave the processes of other namespaces out of the list."""
    box = GpuBox(pids_are_ours=False)
    known = {"memory_used_bytes": 100, "memory_reserved_bytes": 5}
    box.read(read(facts=(A,), samples=(sample(A, **known),)), 10.0, lambda _: None)
    gpu = box.gpus["GPU-a"]
    gpu.holders = ()
    gpu.changed()
    assert gpu.state.unheld_bytes is None


def test_the_same_state_serves_until_something_changes(box):
    gpu = box.gpus["GPU-a"]
    assert gpu.state is gpu.state
    before = gpu.state
    box.read(read(A, B), 11.0, lambda _: None)
    assert gpu.state is not before


RUN = Entity(EntityKind.RUN, CONTROL_HOLDER.run_id)


def test_a_run_has_the_gpus_its_tree_is_on(box):
    for gpu in box.gpus.values():
        gpu.holders = ()
    assert LiveGpus(box, RUN, 10.0).mine() == ()
    box.gpus["GPU-b"].holders = (CONTROL_HOLDER,)
    assert [s.facts.uuid for s in LiveGpus(box, RUN, 10.0).mine()] == ["GPU-b"]
    box.gpus["GPU-b"].holders = (dataclasses.replace(CONTROL_HOLDER, run_ended=True),)
    assert LiveGpus(box, RUN, 10.0).mine() == ()


def test_who_is_where_cannot_be_told_without_a_list_or_with_foreign_numbers(box):
    box.gpus["GPU-a"].holders = ()
    assert box.gpus["GPU-b"].holders is None
    assert LiveGpus(box, RUN, 10.0).mine() is None
    box.gpus["GPU-b"].holders = ()
    box.pids_are_ours = False
    assert LiveGpus(box, RUN, 10.0).mine() is None


AMD = dataclasses.replace(A, uuid="GPU-amd", vendor="amd", pci_bus_id="0000:1a:00.0")


def amd_box(*, nvml=SamplerProblem.NO_LIBRARY, read_s=100.0, on_bus=frozenset()):
    """A card of another vendor, on which the run is; NVML beside it."""
    box = GpuBox(on_bus=on_bus)
    box.sampler(NVML, 0.0).problem = nvml
    box.opened(Opened(sampler="rocm", driver="6"), 0.0)
    report = Read(sampler="rocm", at_s=100.0, samples=(sample(AMD),), facts=(AMD,))
    box.read(report, read_s, lambda _: None)
    box.gpus["GPU-amd"].holders = (CONTROL_HOLDER,)
    return box


def how(box, subject, now_s=101.0):
    facts = LiveGpus(box, subject, now_s).sampler()
    return facts.problem, facts.since_success_s


@pytest.mark.parametrize("subject", [RUN, BOX, Entity(EntityKind.GPU, "GPU-amd")])
def test_another_vendors_cards_are_judged_by_the_sampler_that_brings_them(subject):
    fresh, old = amd_box(), amd_box(read_s=20.0)
    assert how(fresh, subject) == (SamplerProblem.NONE, 1.0), "and by no NVML that is not there"
    assert how(old, subject) == (SamplerProblem.NONE, 81.0)


def test_a_hung_driver_of_one_vendor_is_no_trouble_of_a_run_on_the_other(box):
    other = amd_box(nvml=SamplerProblem.HUNG)
    assert how(other, RUN) == (SamplerProblem.NONE, 1.0)
    assert how(other, BOX)[0] is SamplerProblem.HUNG
    box.gpus["GPU-a"].holders = (CONTROL_HOLDER,)
    box.troubled("rocm", SamplerProblem.HUNG, 11.0)
    assert how(box, RUN, 11.0) == (SamplerProblem.NONE, 1.0)


def test_a_card_on_the_bus_wants_its_library_beside_another_vendors():
    bus = frozenset({"0000:0a:00.0"})
    assert how(amd_box(on_bus=bus), BOX)[0] is SamplerProblem.NO_LIBRARY


def test_which_cards_of_the_bus_are_ours_is_asked_of_those_that_never_answered(box):
    asked = []

    def why(silent, total):
        asked.append((silent, total))
        return Withheld.CONTAINER

    box.why_withheld = why
    known = frozenset(g.facts.pci_bus_id for g in box.gpus.values())
    box.on_bus = known
    assert (box.count().withheld, asked) == (Withheld.NONE, [])
    box.on_bus = known | {"0000:7e:00.0", "0000:7f:00.0"}
    assert (box.count().withheld, asked) == (Withheld.CONTAINER, [(2, len(known) + 2)])
    assert (box.count().known, box.count().expected) == (None, len(known) + 2)
    box.gpus["GPU-b"].gone(50.0)
    assert box.count().known == len(known), "one that answered is missed all the same"


def test_of_two_vendors_the_one_in_trouble_speaks_for_a_run_on_both():
    box = amd_box(nvml=SamplerProblem.STARTING)
    box.opened(Opened(sampler=NVML, driver="580"), 0.0)
    box.read(read(A, facts=(A,)), 50.0, lambda _: None)
    box.gpus["GPU-a"].holders = (CONTROL_HOLDER,)
    assert how(box, RUN) == (SamplerProblem.NONE, 51.0)


def test_a_box_without_gpus_is_nvmls_to_speak_of():
    box = GpuBox()
    assert how(box, BOX)[0] is SamplerProblem.DISABLED
    box.sampler(NVML, 0.0).problem = SamplerProblem.NO_LIBRARY
    assert how(box, RUN)[0] is SamplerProblem.NO_LIBRARY


def test_a_gpu_and_the_box_are_about_themselves(box):
    gpu = Entity(EntityKind.GPU, "GPU-b")
    assert [s.facts.uuid for s in LiveGpus(box, gpu, 10.0).mine()] == ["GPU-b"]
    assert len(LiveGpus(box, BOX, 10.0).mine()) == 2
    assert LiveGpus(box, Entity(EntityKind.GPU, "GPU-x"), 10.0).mine() == ()


def test_small_plots_are_means_of_five_seconds_with_gaps(box):
    for second in range(1, 16):
        usage = None if 5 < second <= 10 else 0.5
        one = sample(A, at_s=100.0 + second, utilization=usage)
        box.read(read(samples=(one,)), 10.0 + second, lambda _: None)
    assert list(box.gpus["GPU-a"].utilization.means)[-2:] == [None, 0.5]


def test_processes_travel_as_the_driver_lists_them(box):
    processes = (GpuProcess(pid=1, memory_bytes=5),)
    told = box.read(read(samples=(sample(A, processes=processes),)), 11.0, lambda _: None)
    assert told[0].samples[-1].processes == processes


def test_who_holds_a_gpu_follows_its_list_of_holders_and_leaves_out_ended_runs(box):
    gpu = box.gpus["GPU-a"]
    assert gpu.held_by == frozenset()
    one = dataclasses.replace(CONTROL_HOLDER, run_id="one")
    gpu.holders = (one, dataclasses.replace(one, run_id="two", run_ended=True))
    assert gpu.held_by == {"one"}
    gpu.holders = (dataclasses.replace(one, run_id=None),)
    assert gpu.held_by == frozenset()
    gpu.holders = (one,)
    gpu.gone(101.0)
    assert gpu.held_by == frozenset()


def unheard(box, uuid="GPU-a"):
    return [(u.until_s, u.for_s) for u in box.gpus[uuid].state.unheard]


def test_a_time_in_which_nobody_listened_is_known_of_every_card_that_was_listened_to(box):
    box.read(read(A, B, at_s=140.0, unheard_s=30.0), 50.0, lambda _: None)
    assert unheard(box) == unheard(box, "GPU-b") == [(140.0, 30.0)]
    (a, _) = gpus_view(box, 50.0, {}).gpus
    assert a.unheard_s == 30.0
    assert box.gpus["GPU-a"].state.listened_s == 100.0


def test_a_card_that_was_held_back_was_not_listened_to_meanwhile(box):
    box.read(read(A, facts=(A,), at_s=140.0, unheard_s=30.0), 50.0, lambda _: None)
    box.read(read(A, B, facts=(A, B), at_s=700.0), 610.0, lambda _: None)
    assert unheard(box) == [(140.0, 30.0)]
    assert unheard(box, "GPU-b") == [(140.0, 30.0), (700.0, 560.0)]


def test_what_the_kernels_log_remembers_did_not_go_unheard(box):
    logged = Heard(monotonic_s=1.0, record=7)
    box.read(read(A, facts=(A,), at_s=140.0, heard=logged), 50.0, lambda _: None)
    box.read(read(A, B, facts=(A, B), at_s=700.0, heard=logged), 610.0, lambda _: None)
    assert unheard(box) == unheard(box, "GPU-b") == []


@pytest.mark.parametrize(
    ("at_s", "lost"),
    [(140.0, []), (300.0, [(700.0, 560.0)]), (700.0, [(700.0, 560.0)])],
)
def test_of_what_was_written_over_in_the_log_a_card_held_back_then_knows_nothing(box, at_s, lost):
    for now_s in (140.0, 300.0, 500.0, 700.0):  # at 140 s it was listened to up to then
        listed = (A, B) if now_s == 700.0 else (A,)
        heard = Heard(monotonic_s=1.0, record=7, torn=now_s == at_s)
        box.read(read(*listed, facts=listed, at_s=now_s, heard=heard), now_s, lambda _: None)
    assert (unheard(box), unheard(box, "GPU-b")) == ([], lost)
    box.read(read(A, facts=(A,), at_s=800.0, heard=logged_to(8)), 800.0, lambda _: None)
    box.read(read(A, B, facts=(A, B), at_s=900.0, heard=logged_to(9)), 900.0, lambda _: None)
    assert unheard(box, "GPU-b") == lost, "the next time is another"


def logged_to(record):
    return Heard(monotonic_s=1.0, record=record)


def test_a_card_whose_errors_were_not_told_for_a_while_was_not_listened_to_then(box):
    deaf = dataclasses.replace(A, absent={XIDS: AbsentReason.LOST})
    box.read(read(A, B, facts=(deaf, B), at_s=110.0), 20.0, lambda _: None)
    box.read(read(A, B, facts=(A, B), at_s=130.0), 40.0, lambda _: None)
    assert (unheard(box), unheard(box, "GPU-b")) == ([(130.0, 20.0)], [])


def test_before_it_was_first_listened_to_nothing_counts_as_unheard():
    box = GpuBox()
    box.read(read(A, facts=(A,), unheard_s=30.0), 10.0, lambda _: None)
    assert unheard(box) == []


def test_a_driver_that_was_loaded_anew_after_a_fatal_error_is_listened_to_anew(box):
    fatal = XidEvent(uuid="GPU-a", code=79, at_s=101.0)
    box.read(read(xids=(fatal,), at_s=101.0), 11.0, lambda _: None)
    box.opened(Opened(sampler=NVML, driver="580"), 3_600.0)
    box.read(read(A, B, facts=(A, B), at_s=3_700.0, unheard_s=3_500.0), 3_601.0, lambda _: None)
    assert unheard(box) == []
    assert box.gpus["GPU-a"].state.listened_s == 3_700.0


def test_of_many_times_the_shortest_are_forgotten_and_all_are_counted(box):
    for n in range(MAX_UNHEARD + 5):
        box.read(read(A, B, at_s=200.0 + n, unheard_s=1.0 + n), 50.0, lambda _: None)
    assert len(unheard(box)) == MAX_UNHEARD
    assert min(for_s for _, for_s in unheard(box)) == 6.0
    assert box.gpus["GPU-a"].unheard_s == sum(1.0 + n for n in range(MAX_UNHEARD + 5))


def test_an_error_of_the_kernels_log_is_found_by_its_place_and_counted_once(box):
    logged = XidEvent(uuid="PCI-0000:0b:00.0", code=48, at_s=100.0, pid=7)
    told = dataclasses.replace(logged, uuid="GPU-b", at_s=101.0, pid=None)
    other = dataclasses.replace(logged, uuid="PCI-0000:77:00.0")
    box.read(read(A, B, xids=(logged, told, other)), 11.0, lambda _: "r-1")
    (xid,) = box.gpus["GPU-b"].xids
    assert (xid.event.pid, xid.run_id) == (7, "r-1")
    again = dataclasses.replace(told, at_s=110.0)
    box.read(read(A, B, xids=(again, again)), 20.0, lambda _: None)
    assert box.gpus["GPU-b"].xid_counts == {48: 3}, "two of the same source are two"
