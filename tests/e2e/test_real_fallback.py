"""A real dynamo fallback is caught from outside, and its twin that recompiles once is left alone.

The limits are the defaults: nothing is lowered for the test's convenience.
"""

import re

import pytest

from pfid.domain.log_facts import Marker
from pfid.formats.log_stream import LogParser

pytestmark = [
    pytest.mark.full,
    pytest.mark.torch,
    pytest.mark.needs("g++"),
]

HEALTHY_STEPS = 400
HELD_S = 30 + 8.0
"""A shift is told once it has held for half a minute, by a look every five seconds."""
ITER = re.compile(r"^iter \d+: loss [\d.]+, time ([\d.]+)ms$", re.MULTILINE)


def step_ms(place) -> list[float]:
    return [float(ms) for ms in ITER.findall((place.folder / "chain.log").read_text())]


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def launch(place, training, change: str, *options: str) -> str:
    command = training("compiled_chain", "--change", change, "--steps", "1000000", *options)
    place.start("run", "--name", "chain", "--log", "chain.log", "--", *command)
    return place.until("a run", place.run_ids, 30)[-1]


def says(place, run_id: str, check: str, outcome: str):
    def look():
        verdict = place.verdict(run_id, check)
        return verdict if verdict.get("outcome") == outcome else None

    return look


def test_a_real_fallback_is_seen_in_the_step_times_and_named_as_its_consequence(place, training):
    options = ("--from-step", str(HEALTHY_STEPS))
    run_id = launch(place, training, "every", *options)
    place.until(
        "a healthy run before the fault",
        says(place, run_id, "step_time_regime", "pass"),
        90,
    )
    verdict = place.until(
        "FAIL of step_time_regime", says(place, run_id, "step_time_regime", "fail"), 120
    )
    before, after = step_ms(place)[1:HEALTHY_STEPS], step_ms(place)[HEALTHY_STEPS + 4 :]
    assert median(after) > 3 * median(before), "the fault was not delivered"
    assert (
        "torch._dynamo hit config.recompile_limit (2)" in (place.folder / "chain.log").read_text()
    ), "the fault was not delivered"
    assert verdict["reason"] == "shifted"
    hit = place.until("FAIL of recompile_limit", says(place, run_id, "recompile_limit", "fail"), 30)
    assert hit["reason"] == "hit_consequence_seen"
    assert place.verdict(run_id, "run_gone")["outcome"] == "pass"


def test_the_twin_that_recompiles_once_stays_healthy(place, training):
    run_id = launch(place, training, "once", "--from-step", str(HEALTHY_STEPS))
    place.until("a baseline", says(place, run_id, "step_time_regime", "pass"), 90)
    place.until(
        "steps after the change for longer than a shift is held before it is told",
        lambda: sum(step_ms(place)[HEALTHY_STEPS:]) > HELD_S * 1000,
        150,
    )
    changed = step_ms(place)[HEALTHY_STEPS]
    assert changed > 5 * median(step_ms(place)), "the one recompilation did not happen"
    assert place.verdict(run_id, "step_time_regime")["outcome"] == "pass"
    assert place.verdict(run_id, "recompile_limit")["outcome"] == "pass"
    failed = [
        event
        for event in place.json("events", "--run", run_id)["events"]
        if event["outcome"] == "fail"
    ]
    assert not failed


def shifted(place, run_id):
    """Whether it fails for the whole shift; on its way there it may be slow first."""
    verdict = place.verdict(run_id, "step_time_regime")
    return (verdict.get("outcome"), verdict.get("reason")) == ("fail", "shifted")


def test_a_real_fallback_that_a_bar_alone_shows_is_seen_and_named_as_its_consequence(
    place, training
):
    """No line tells a time: what there is are counters of a bar, redrawn ten times a second.

    tqdm draws over itself, and dynamo warns wherever the bar happens to stand.
    """
    log = place.folder / "chain.log"
    run_id = launch(
        place, training, "every", "--from-step", str(HEALTHY_STEPS), "--dialect", "tqdm"
    )
    place.until(
        "a healthy run before the fault", says(place, run_id, "step_time_regime", "pass"), 90
    )
    place.until("a shift", lambda: shifted(place, run_id), 150)
    text = log.read_bytes()
    assert b"torch._dynamo hit config.recompile_limit (2)" in text, "the fault was not delivered"
    assert b"\r" in text
    assert not ITER.search(text.decode()), "nothing but the bar, with the warning in its middle"
    parser = LogParser()
    parser.feed(text)
    (series,) = parser.series()
    assert (series.dialect, series.total) == ("tqdm", 1_000_000)
    assert series.last_index > HEALTHY_STEPS
    assert parser.facts().markers[Marker.RECOMPILE_LIMIT].count == 1
    hit = place.until("FAIL of recompile_limit", says(place, run_id, "recompile_limit", "fail"), 30)
    assert hit["reason"] == "hit_consequence_seen"
    assert place.verdict(run_id, "run_gone")["outcome"] == "pass"
