"""The page between loop and readers: rendered when read, healthy while the loop goes round."""

import pytest

from pfid.adapters.http_server import PageServer
from pfid.adapters.page import Page
from pfid.bootstrap import daemon as joined
from pfid.bootstrap.daemon import HEALTHY_WITHIN_S, PageJoint
from pfid.domain.snapshot import DaemonHealth, Snapshot


@pytest.fixture
def joint():
    server = PageServer([])
    yield PageJoint(server=server, page=Page())
    server.stop()


def snapshot():
    return Snapshot(
        at_s=1.0, health=DaemonHealth(started_at_s=0.0, ready=True, last_iteration_s=1.0)
    )


def test_a_loop_that_was_just_round_is_healthy(joint):
    joint.serve(snapshot, urgent=False)
    assert joint.healthy()


def test_a_loop_that_does_not_come_round_is_not_healthy(joint, monkeypatch):
    joint.serve(snapshot, urgent=False)
    later_s = joint.served_s + HEALTHY_WITHIN_S
    monkeypatch.setattr(joined.time, "monotonic", lambda: later_s)
    assert not joint.healthy()


def test_a_loop_that_never_came_round_is_not_healthy(joint):
    assert not joint.healthy()


def test_nothing_is_rendered_for_nobody(joint):
    joint.serve(snapshot, urgent=False)
    joint.serve(lambda: pytest.fail("rendered for nobody"), urgent=False)
