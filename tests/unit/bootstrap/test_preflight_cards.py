"""Is a card free only if nobody is on it and its memory is given back?"""

from dataclasses import replace

import pytest

from pfid.bootstrap.preflight.cards import DRIVERS_OWN_BYTES, _card, _facts
from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.specimen import specimen_snapshot
from pfid.config.preflight.spec import Spec
from pfid.domain.gpu_view import HolderView

VIEW = specimen_snapshot().gpus
(GPU,) = VIEW.gpus
NOBODY = replace(GPU, holders=())


def holder(**changed):
    return HolderView(**{"pid": 1, "memory_bytes": 5, "visible": True, **changed})


def used(gpu, size):
    return replace(gpu, last=replace(gpu.last, memory_used_bytes=size))


@pytest.mark.parametrize(
    ("gpu", "holders", "orphaned"),
    [
        (used(NOBODY, DRIVERS_OWN_BYTES), 0, 0),
        (used(NOBODY, DRIVERS_OWN_BYTES + 1), 0, DRIVERS_OWN_BYTES + 1),
        (replace(GPU, holders=(holder(),)), 1, 0),
        (replace(GPU, holders=(holder(visible=False),)), 0, 5),
        (replace(GPU, holders=(holder(zombie=True, memory_bytes=None),)), 0, 1),
        (replace(GPU, holders=(holder(visible=None),)), None, 0),
        (replace(GPU, holders=None), None, 0),
        (replace(NOBODY, last=None), 0, 0),
    ],
)
def test_a_card_is_told(gpu, holders, orphaned):
    found = _card(gpu)
    assert (found.holders, found.orphaned_bytes) == (holders, orphaned)


def test_in_a_container_memory_in_use_may_be_another_containers():
    found = _card(used(NOBODY, DRIVERS_OWN_BYTES + 1), ours=False)
    assert (found.holders, found.orphaned_bytes) == (None, 0)
    assert _card(used(NOBODY, DRIVERS_OWN_BYTES), ours=False).holders == 0


def project(tmp_path, **environ):
    return Project(spec=Spec(), folder=tmp_path, state=tmp_path, environ=environ)


def test_only_cards_that_cuda_would_show_count(tmp_path):
    assert len(_facts(VIEW, 1, project(tmp_path)).cards) == 1
    assert _facts(VIEW, 1, project(tmp_path, CUDA_VISIBLE_DEVICES="")).cards == ()


@pytest.mark.parametrize(
    ("problem", "expected", "said"),
    [
        ("no_library", 0, ""),
        ("no_driver", None, ""),
        ("hung", 1, "cannot_look"),
        ("no_driver", 2, "cannot_look"),
    ],
)
def test_a_driver_that_does_not_answer_is_no_box_without_gpus(tmp_path, problem, expected, said):
    down = replace(VIEW, up=False, problem=problem, expected=expected, gpus=())
    assert _facts(down, 1, project(tmp_path)).problem == said
