"""Proofs of a running daemon: made beside its loop, and what was tried elsewhere kept with them."""

import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from pfid.formats.exposition import samples
from pfid.wire.control import AlertsLeg, Done, GetRun, Reload, RunReply, RunSelftest

README = Path(__file__).parents[3] / "plugins" / "README.md"
PLUGIN = "skips_steps"


def page(url):
    with urllib.request.urlopen(url) as answer:
        return samples(answer.read().decode())


def on_page(url, check="run_gone", leg="alerts"):
    """A leg of one check as its page shows it; None while it was not tried."""
    wanted = ("pfid_gate_proven", {"check": check, "leg": leg})
    found = [s.value for s in page(url) if (s.name, dict(s.labels)) == wanted]
    return found[0] if found else None


def selftest(box, *options):
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfid", "selftest", *options, "--alerts"),
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
    selftest(box, "--check", "run_gone")
    box.until("the leg is on the page", lambda: on_page(url) == 1)
    assert box.ask(RunSelftest(), timeout_s=60) == Done()
    box.until("it is still there", lambda: on_page(url) == 1)


@pytest.fixture
def plugin(box, tmp_path):
    """The check that plugins/README.md writes, where the box has its plugins."""
    example = re.search(r"```python\n(\"\"\"Fail when.*?)```", README.read_text(), re.DOTALL)[1]
    named = re.sub(r'name="\w+"', f'name="{PLUGIN}"', example, count=1)
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    file = folder / f"{PLUGIN}.py"
    file.write_text(named)
    file.chmod(0o644)
    box.config.write_text(box.config.read_text() + f'[plugins]\ndirectories = ["{folder}"]\n')
    assert box.ask(Reload(), timeout_s=60) == Done()
    return file


@pytest.mark.full
@pytest.mark.needs("promtool")
def test_a_plugins_alerts_are_proven_to_the_daemon_as_those_of_a_shipped_check_are(box, plugin):
    url = box.register(box.child().pid, "train-0001").metrics_url
    box.until("the plugin is proven", lambda: on_page(url, PLUGIN, "controls") == 1)
    assert on_page(url, PLUGIN) is None
    selftest(box)
    box.until("the leg is on the page", lambda: on_page(url, PLUGIN) == 1)
    whole = ("pfid_selftest_last_success_timestamp_seconds", {"leg": "alerts"})
    assert whole in [(s.name, dict(s.labels)) for s in page(url)], "every check's alerts hold"
    assert box.ask(RunSelftest(), timeout_s=60) == Done()
    box.until("it outlives another proof", lambda: on_page(url, PLUGIN) == 1)

    for again in ("train-0002", "train-0003"):
        box.kill(signal.SIGKILL)
        box.start()
        url = box.register(box.child().pid, again).metrics_url
        box.until(
            "it outlives the daemon", lambda url=url: on_page(url, PLUGIN, "controls") is not None
        )
        assert on_page(url, PLUGIN) == 1

    plugin.write_text(plugin.read_text() + "\n# another check now\n")
    assert box.ask(Reload(), timeout_s=60) == Done()
    box.until("it is void with the code", lambda: on_page(url, PLUGIN) is None)
    assert on_page(url, PLUGIN, "controls") == 1


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
