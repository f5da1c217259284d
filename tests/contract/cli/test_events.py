"""``pfid events``: what changed, once or as it comes."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pfid.domain.outcome import Outcome


@pytest.fixture
def following(home):
    """Follow in a process of its own; lines as they come."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "pfid", "events", "--follow", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, PYTHONUNBUFFERED="1"),
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_one_object_holds_the_events_oldest_first(daemon, make, pfid_json):
    daemon.events = [make.transition(Outcome.PASS), make.transition(Outcome.FAIL)]
    code, printed = pfid_json("events")
    assert code == 0
    assert [e["outcome"] for e in printed["events"]] == ["pass", "fail"]
    assert printed["events"][0]["source"] == "daemon"
    assert printed["last_ids"] == {"daemon": 2}


def test_the_newest_are_shown(daemon, make, pfid_json):
    daemon.events = [make.transition() for _ in range(5)]
    printed = pfid_json("events", "--limit", "2")[1]
    assert [e["id"] for e in printed["events"]] == [4, 5]


def test_more_events_than_one_answer_holds_are_all_seen(daemon, make, pfid_json, monkeypatch):
    monkeypatch.setattr("pfid.bootstrap.event_sources.PAGE", 2)
    daemon.events = [make.transition() for _ in range(5)]
    assert pfid_json("events")[1]["last_ids"] == {"daemon": 5}


def test_only_one_runs_events(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(runs=[make.run("a"), make.run("b")])
    daemon.events = [make.transition(about="a"), make.transition(about="b")]
    printed = pfid_json("events", "--run", "b")[1]
    assert [e["entity"]["id"] for e in printed["events"]] == ["b"]


def test_a_run_nobody_knows_is_refused(daemon, pfid):
    assert pfid("events", "--run", "zzz")[0] == 2


def test_with_nobody_to_ask_it_exits_3(no_daemon, pfid):
    assert pfid("events")[0] == 3


def test_a_source_that_refuses_is_said_and_nothing_looks_complete(daemon, pfid, make):
    daemon.snapshot = make.snapshot(runs=[make.run()])
    daemon.refuse_events = True
    code, _, err = pfid("events")
    assert code == 3
    assert "daemon could not be heard: refused (cannot_write)" in err


def test_people_get_a_table(daemon, make, pfid):
    daemon.events = [make.transition()]
    out = pfid("events")[1]
    assert out.split("\n")[0].split() == ["AT", "OUTCOME", "CHECK", "ABOUT", "REASON", "SUMMARY"]
    assert "killed by 9" in out


def test_engines_that_ended_are_merged_by_time(left_behind, make, pfid_json):
    left_behind(make.ended("b-1"), make.transition(about="b-1", at_s=20.0))
    left_behind(make.ended("a-1"), make.transition(about="a-1", at_s=30.0))
    printed = pfid_json("events")[1]
    assert [e["source"] for e in printed["events"]] == ["b-1", "a-1"]


def test_following_prints_what_was_and_what_comes_as_lines(daemon, make, following):
    daemon.events = [make.transition(Outcome.PASS)]
    process = following("--json")
    assert json.loads(process.stdout.readline())["outcome"] == "pass"
    assert daemon.waiting.wait(20), "nobody waits for the next event"
    daemon.announce(make.transition(Outcome.FAIL))
    line = json.loads(process.stdout.readline())
    assert (line["schema"], line["outcome"], line["id"]) == (1, "fail", 2)


def test_an_interrupt_ends_following_without_a_fuss(daemon, make, following):
    process = following()
    assert daemon.waiting.wait(20), "nobody waits for the next event"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert process.stderr.read() == ""


def test_following_ends_when_the_last_engine_has(left_behind, make, following):
    left_behind(make.ended("a-1"), make.transition(about="a-1"))
    process = following("--json")
    assert process.wait(20) == 0
    assert [json.loads(line)["id"] for line in process.stdout] == [1]
