"""Proofs of a running daemon: made beside its loop, and what was tried elsewhere kept with them."""

import subprocess
import sys
import threading
import urllib.request

import pytest

from pfid.formats.exposition import samples
from pfid.wire.control import AlertsLeg, Done, GetRun, RunReply, RunSelftest

LEG = {"check": "run_gone", "leg": "alerts"}


def on_page(url):
    """The leg of one check as its page shows it; None while it was not tried."""
    with urllib.request.urlopen(url) as answer:
        text = answer.read().decode()
    found = [
        s.value for s in samples(text) if (s.name, dict(s.labels)) == ("pfid_gate_proven", LEG)
    ]
    return found[0] if found else None


def selftest(box):
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfid", "selftest", "--check", "run_gone", "--alerts"),
            *("--config", str(box.config)),
        ],
        env=box.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
@pytest.mark.needs("promtool")
def test_alerts_that_were_proven_are_on_the_page_and_stay_through_another_proof(box):
    url = box.register(box.child().pid, "train-0001").metrics_url
    assert on_page(url) is None
    selftest(box)
    box.until("the leg is on the page", lambda: on_page(url) == 1)
    assert box.ask(RunSelftest(), timeout_s=60) == Done()
    box.until("it is still there", lambda: on_page(url) == 1)


def test_alerts_of_other_proofs_than_those_that_run_here_say_nothing(box):
    url = box.register(box.child().pid, "train-0001").metrics_url
    assert box.ask(AlertsLeg(results={"0" * 64: True})) == Done()
    assert box.ask(RunSelftest(), timeout_s=60) == Done()
    assert on_page(url) is None


def test_while_it_proves_the_daemon_answers_everybody(box):
    box.register(box.child().pid, "train-0001")
    replies = []
    proving = threading.Thread(
        target=lambda: replies.append(box.ask(RunSelftest(), timeout_s=60)), daemon=True
    )
    proving.start()
    answered = 0
    while proving.is_alive():
        assert isinstance(box.ask(GetRun(run_id="train-0001")), RunReply)
        answered += proving.is_alive()
    assert replies == [Done()]
    assert answered > 10, "a loop that proves itself would have answered one or two"
