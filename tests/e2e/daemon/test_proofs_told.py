"""What alert rules came to from the shell is kept by the daemon, with the proof it belongs to."""

import subprocess
import sys
import urllib.request

import pytest

from pfid.formats.exposition import samples
from pfid.wire.control import AlertsLeg, Done, RunSelftest

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
