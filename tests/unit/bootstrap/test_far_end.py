"""What the page says, read back by check, entity and reason."""

import pytest

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end, read_json, read_page
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind, Verdict
from pfid.formats.exposition import ExpositionError
from pfid.host.registry import Where, discover
from pfid.policy.control_drive import Shown
from pfid.policy.hysteresis import Settling, settle
from pfid.spec.check import Hysteresis, Stage

RUN = Entity(EntityKind.RUN, "r-1")
GPU = Entity(EntityKind.GPU, "GPU-1")
CHECK = discover(Where(stages=(Stage.WATCH,), entry_points=False)).named("run_gone").check


def page(*lines):
    return "\n".join([*lines, ""])


def test_failing_unknown_and_reasons_are_read_for_exactly_this_entity():
    text = page(
        'pfid_check_failing{check="c",run="r-1"} 1',
        'pfid_check_unknown{check="c",run="r-1"} 0',
        'pfid_check_reason_info{check="c",reason="why",run="r-1"} 1',
        'pfid_check_failing{check="c",run="r-2"} 0',
        'pfid_check_unknown{check="c",run="r-2"} 1',
        'pfid_check_reason_info{check="c",reason="blind",run="r-2"} 1',
        'pfid_check_failing{check="c"} 0',
        'pfid_check_unknown{check="c"} 0',
    )
    assert read_page(text, "c", RUN) == Shown(outcome=Outcome.FAIL, reasons=("why",))
    other = Entity(EntityKind.RUN, "r-2")
    assert read_page(text, "c", other) == Shown(outcome=Outcome.UNKNOWN, reasons=("blind",))
    assert read_page(text, "c", BOX) == Shown(outcome=Outcome.PASS)
    assert read_page(text, "c", GPU) is None
    assert read_page(text, "d", RUN) is None


def test_half_a_verdict_is_none():
    assert read_page(page('pfid_check_failing{check="c"} 0'), "c", BOX) is None


def test_a_page_a_scraper_would_refuse_says_nothing():
    with pytest.raises(ExpositionError):
        read_page("<html>", "c", BOX)


def settled(outcome, reason="r", entity=RUN):
    verdict = Verdict(outcome=outcome, reason=ReasonCode(reason), summary="s", entity=entity)
    return settle(Settling(), verdict, Hysteresis(), 1.0, 1_788_000_000.0)


@pytest.mark.parametrize("entity", [RUN, GPU, BOX, Entity(EntityKind.GATE, "some_check")])
@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN])
def test_every_kind_of_entity_reaches_the_real_page(entity, outcome):
    end = far_end(Page(synthetic=True).render)
    shown = end(CHECK, settled(outcome, entity=entity), entity, 1_788_000_000.0)
    assert shown.outcome is outcome
    assert shown.reasons == (() if outcome is Outcome.PASS else ("r",))


def test_not_applicable_is_not_on_the_page():
    end = far_end(Page(synthetic=True).render)
    assert end(CHECK, settled(Outcome.NOT_APPLICABLE), RUN, 1_788_000_000.0) is None


def test_a_change_that_was_not_announced_does_not_count():
    end = far_end(Page(synthetic=True).render)
    again = settle(
        settled(Outcome.FAIL), settled(Outcome.FAIL).settled, Hysteresis(), 2.0, 1_788_000_001.0
    )
    with pytest.raises(Exception, match="no event was made"):
        end(CHECK, again, RUN, 1_788_000_001.0)


def test_the_json_of_other_stages_is_read_alike():
    body = (
        b'{"verdicts":[{"check":"c","entity":{"kind":"run","id":"r-1"},"outcome":"fail",'
        b'"reason":"why"},{"check":"n","entity":{"kind":"run","id":"r-1"},'
        b'"outcome":"not_applicable","reason":"x"}]}'
    )
    assert read_json(body, "c", RUN) == Shown(outcome=Outcome.FAIL, reasons=("why",))
    assert read_json(body, "n", RUN) is None
    assert read_json(body, "c", BOX) is None
