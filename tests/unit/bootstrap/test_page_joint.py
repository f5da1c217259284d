"""The page between loop and readers: rendered when read, healthy while the loop goes round."""

import threading
import urllib.request

import pytest

from pfid.adapters.http_server import PageServer
from pfid.adapters.page import Page
from pfid.bootstrap import page_joint as joined
from pfid.bootstrap.page_joint import (
    HEALTHY_WITHIN_S,
    JITTER_S,
    RENDER_AT_LEAST_S,
    SOON_S,
    UNREAD_S,
    PageJoint,
)
from pfid.config.address import Address
from pfid.domain.snapshot import DaemonHealth, Snapshot


def scraped(server):
    """Somebody reads the page."""
    with urllib.request.urlopen(server.url) as answer:
        return answer.read()


@pytest.fixture
def server():
    serving = PageServer([Address("127.0.0.1", 0)])
    serving.start()
    yield serving
    serving.stop()


@pytest.fixture
def joint(server):
    made = PageJoint(server=server, page=Page())
    yield made
    made.close()


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


def test_nothing_is_rendered_for_nobody_in_the_next_moment(joint):
    joint.serve(snapshot, urgent=False)
    joint.serve(lambda: pytest.fail("rendered for nobody"), urgent=False)


def test_whoever_looks_first_after_a_long_time_does_not_see_the_start(joint, monkeypatch):
    joint.serve(snapshot, urgent=False)
    later_s = joint.rendered_s + UNREAD_S
    monkeypatch.setattr(joined.time, "monotonic", lambda: later_s)
    asked = []
    joint.serve(lambda: (asked.append(later_s), snapshot())[1], urgent=False)
    assert asked == [later_s]


def served_after(joint, seconds, monkeypatch):
    """Whether a page is made so long after the last one."""
    later_s = joint.rendered_s + seconds
    asked = []
    with monkeypatch.context() as clock:
        clock.setattr(joined.time, "monotonic", lambda: later_s)
        joint.serve(lambda: (asked.append(1), snapshot())[1], urgent=False)
    joint._maker.submit(lambda: None).result()
    return bool(asked)


class Scrapes:
    """A server that was read at those moments."""

    def __init__(self, server):
        self._server, self.scrapes = server, 0
        self.last_scrape_s = self.scrape_gap_s = None

    def at(self, moment_s):
        if self.last_scrape_s is not None:
            self.scrape_gap_s = moment_s - self.last_scrape_s
        self.scrapes, self.last_scrape_s = self.scrapes + 1, moment_s

    def __getattr__(self, name):
        return getattr(self._server, name)


@pytest.mark.parametrize(
    ("every_s", "anew"), [(1.0, True), (3.0, True), (5.0, False), (15.0, False)]
)
def test_a_scrape_has_a_new_page_made_only_for_who_comes_again_before_one_is_due(
    server, monkeypatch, every_s, anew
):
    seen = Scrapes(server)
    joint = PageJoint(server=seen, page=Page())
    joint.serve(snapshot, urgent=False)
    began_s = joint.rendered_s
    seen.at(began_s - every_s)
    served_after(joint, 0.5, monkeypatch)
    seen.at(began_s)
    assert served_after(joint, 0.5, monkeypatch) is anew
    assert served_after(joint, RENDER_AT_LEAST_S + 0.5, monkeypatch), "it is due for everybody"
    joint.close()


@pytest.mark.parametrize(
    ("every_s", "ago_s", "wanted_s"),
    [(1.0, 0.5, SOON_S), (1.0, 60.0, RENDER_AT_LEAST_S), (5.0, 0.5, RENDER_AT_LEAST_S)],
)
def test_it_wants_to_be_called_soon_only_while_somebody_comes_often(
    server, every_s, ago_s, wanted_s
):
    seen = Scrapes(server)
    joint = PageJoint(server=seen, page=Page())
    assert joint.serve(snapshot, urgent=False) == RENDER_AT_LEAST_S
    seen.at(joint.rendered_s - ago_s - every_s)
    seen.at(joint.rendered_s - ago_s)
    assert joint.serve(snapshot, urgent=False) == wanted_s
    joint.close()


def test_news_that_came_while_a_page_was_made_is_asked_for_soon(server):
    page = SlowPage()
    joint = PageJoint(server=server, page=page)
    joint.serve(snapshot, urgent=False)
    page.go.clear()
    scraped(server)
    assert joint.serve(snapshot, urgent=True) == RENDER_AT_LEAST_S, "the news are on this one"
    assert joint.serve(snapshot, urgent=True) == SOON_S, "these are not"
    page.go.set()
    joint.close()


class SlowPage(Page):
    """Rendering takes until it is let go; what it is asked for is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.begun, self.made = threading.Event(), threading.Event(), 0
        self.go.set()

    def render(self, snapshot):
        self.begun.set()
        assert self.go.wait(30)
        self.made += 1
        return super().render(snapshot)


def test_a_page_that_takes_long_holds_nobody_up_and_is_made_once(server):
    page = SlowPage()
    joint = PageJoint(server=server, page=page)
    joint.serve(snapshot, urgent=False)
    assert page.made == 1
    page.go.clear()
    page.begun.clear()
    scraped(server)
    joint.serve(snapshot, urgent=True)
    assert page.begun.wait(30)
    joint.serve(lambda: pytest.fail("a second one beside it"), urgent=True)
    assert page.made == 1
    page.go.set()
    joint.close()
    assert page.made == 2


def test_what_goes_wrong_is_told_to_the_loop_and_the_next_page_is_made(joint, monkeypatch):
    joint.serve(snapshot, urgent=False)
    scraped(joint.server)
    with monkeypatch.context() as broken:
        broken.setattr(joint.page, "render", lambda _: 1 / 0)
        joint.serve(snapshot, urgent=True)
        joint._maker.submit(lambda: None).result()
    with pytest.raises(ZeroDivisionError):
        joint.serve(snapshot, urgent=False)
    scraped(joint.server)
    joint.serve(snapshot, urgent=False)
    joint.close()


@pytest.mark.parametrize(
    ("cost_s", "after_s"), [(0.001, 0.0), (0.02, SOON_S), (0.04, 2.0), (1.0, RENDER_AT_LEAST_S)]
)
def test_what_a_page_costs_decides_how_often_it_is_made_for_whoever_scrapes_all_the_time(
    server, monkeypatch, cost_s, after_s
):
    seen = Scrapes(server)
    joint = PageJoint(server=seen, page=Page())
    joint.serve(snapshot, urgent=False)
    joint._cost_s = cost_s
    for moment_s in (-0.02, 0.0):
        seen.at(joint.rendered_s + moment_s)
    if after_s:
        assert not served_after(joint, after_s - JITTER_S - 0.1, monkeypatch)
    assert served_after(joint, after_s, monkeypatch)
    joint.close()


def test_it_says_how_long_it_is_until_the_next_page_may_be_made(server, monkeypatch):
    seen = Scrapes(server)
    joint = PageJoint(server=seen, page=Page())
    joint.serve(snapshot, urgent=False)
    joint._cost_s = 0.05
    for moment_s in (-0.02, 0.0):
        seen.at(joint.rendered_s + moment_s)
    now_s = joint.rendered_s + 0.5
    monkeypatch.setattr(joined.time, "monotonic", lambda: now_s)
    assert joint.serve(lambda: pytest.fail("too soon"), urgent=True) == pytest.approx(2.0)
    joint.close()


def test_what_a_page_cost_is_known_once_it_was_made(joint):
    joint.serve(snapshot, urgent=False)
    assert joint._cost_s > 0
