"""May a run start on these GPUs?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.domain.gpu_view import GpusView, GpuView
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import DaemonHealth, Snapshot, VerdictView
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.policy.gpu_guard import CHECK, VISIBLE, chosen_gpus, hides_nvidia, refusal
from pfid.spec.fakes_gpus import CONTROL_GPU

UUIDS = [f"GPU-{letter * 8}-0000" for letter in "abc"]
CARDS = tuple(
    GpuView(facts=dataclasses.replace(CONTROL_GPU, uuid=u, index=i), present=True, last=None)
    for i, u in enumerate(UUIDS)
)
GPUS = GpusView(up=True, gpus=CARDS)


def verdict(card=1, **changes):
    base = VerdictView(
        check=CheckName(CHECK),
        stage="watch",
        entity=Entity(EntityKind.GPU, UUIDS[card]),
        outcome=Outcome.FAIL,
        reason="held_by_zombie",
        summary="a defunct process still holds memory of this GPU; pid 10",
        since_s=0.0,
        last_run_s=0.0,
    )
    return dataclasses.replace(base, **changes)


def refused(visible, *verdicts, gpus=GPUS):
    health = DaemonHealth(started_at_s=0.0, ready=True, last_iteration_s=0.0)
    return refusal(Snapshot(at_s=0.0, health=health, verdicts=verdicts, gpus=gpus), chosen(visible))


def chosen(visible):
    return {} if visible is None else {VISIBLE: visible}


@pytest.mark.parametrize(
    ("visible", "blocked"),
    [
        (None, True),
        ("0,1,2", True),
        ("1", True),
        ("GPU-bbbbbbbb", True),
        (UUIDS[1], True),
        (" 0 , 1 ", True),
        ("0,2", False),
        ("0", False),
        (UUIDS[0], False),
        ("", False),
        ("-1", False),
        ("7,1", False),
        ("GPU-", False),
        ("MIG-1234,1", False),
    ],
)
def test_only_the_gpus_that_cuda_would_show_are_looked_at(visible, blocked):
    assert bool(refused(visible, verdict())) is blocked


def test_the_refusal_names_card_reason_and_way_out():
    said = refused(None, verdict())
    for part in ("GPU 1", "defunct process", "pid 10", "CUDA_VISIBLE_DEVICES"):
        assert part in said


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.PASS},
        {"outcome": Outcome.UNKNOWN},
        {"counts": False},
        {"synthetic": True},
        {"label": "unseen"},
        {"check": CheckName("gpu_xid")},
        {"entity": BOX},
    ],
)
def test_what_cannot_be_believed_refuses_nobody(changes):
    assert refused(None, verdict(**changes)) == ""


def test_nobody_who_cannot_look_refuses():
    assert refused(None, verdict(), gpus=None) == ""
    assert refused(None) == ""
    assert refused(None, verdict(), gpus=GpusView(up=False)) == ""


@given(text=st.text(max_size=40))
def test_whatever_the_variable_holds_a_gpu_is_chosen_once_at_most_by_a_name_of_its_own(text):
    found = chosen_gpus(GPUS, {VISIBLE: text})
    assert len(found) <= text.count(",") + 1
    assert all(card in CARDS for card in found)


AMD = tuple(
    dataclasses.replace(
        card,
        facts=dataclasses.replace(card.facts, uuid=f"{card.facts.uuid}-amd", vendor="amd"),
    )
    for card in CARDS
)
ODD = dataclasses.replace(
    CARDS[0], facts=dataclasses.replace(CARDS[0].facts, uuid="ODD-1", vendor="odd")
)


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({}, [0, 1, 2]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, [1, 2]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_another_vendors_cards_are_chosen_as_its_own_programs_choose_them(environ, shown):
    assert list(chosen_gpus(GpusView(up=False, gpus=AMD), environ)) == [AMD[i] for i in shown]


def test_each_vendors_numbers_are_its_own():
    both = GpusView(up=True, gpus=(*CARDS, *AMD))
    found = chosen_gpus(both, {"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"})
    assert list(found) == [CARDS[0], AMD[1]]


def test_where_nobody_knows_how_cards_are_chosen_each_may_be_used():
    found = chosen_gpus(GpusView(up=True, gpus=(*CARDS, ODD)), {"CUDA_VISIBLE_DEVICES": "2"})
    assert list(found) == [CARDS[2], ODD]


@pytest.mark.parametrize(
    ("environ", "hidden"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, True),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, True),
        ({"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "0"}, True),
        ({"HIP_VISIBLE_DEVICES": ""}, False),
        ({"CUDA_VISIBLE_DEVICES": "0"}, False),
        ({}, False),
    ],
)
def test_a_run_that_is_shown_no_card_of_nvidias_is_looked_at_for_none_of_them(environ, hidden):
    assert hides_nvidia(environ) is hidden
