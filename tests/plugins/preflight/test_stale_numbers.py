"""Does a superseded figure still stand?"""

import pytest
from pfid_plugins.preflight.stale_numbers import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import FiguresFacts


def said(facts):
    return judge(observe(project_world(figures=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (FiguresFacts(claims=1), "none_left"),
        (FiguresFacts(), "nothing_superseded"),
        (FiguresFacts(places=("a:1: 4.3 h",), unread=("b",)), "superseded_stands"),
        (FiguresFacts(claims=1, unread=("b",)), "files_unread"),
        (FiguresFacts(claims=1, allowed=9, further=1), "places_unlisted"),
        (FiguresFacts(problem="claims_unreadable"), "claims_unreadable"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason


def test_every_place_is_named_up_to_a_bound():
    verdict = said(FiguresFacts(places=tuple(f"f:{i}: 1" for i in range(100))))
    assert len(verdict.evidence) == 40
    assert verdict.figures["places"].value == 100
