"""The page of a real daemon: what a scraper gets, before and after things go wrong."""

import gzip
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pfid.adapters.page.selection import EXPORTED_RUNS_MAX
from pfid.formats.exposition import samples

BAD = """
page.exported_runs_max = 0
[checks.run_gon]
enabled = false
"""
BAD_CHECKS = """
[page]
listen = ["127.0.0.1:0"]
[checks.run_gon]
enabled = false
[checks.run_gone]
limits.nothing_like_it = 3
"""


def get(url, **headers):
    """Status and body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def value(url, name, **labels):
    """One sample of the page, None if it is not there."""
    text = get(url)[1].decode()
    found = [s.value for s in samples(text) if (s.name, dict(s.labels)) == (name, labels)]
    return found[0] if found else None


@pytest.fixture
def watched(box):
    """A daemon that watches one process: (page, process)."""
    process = box.child()
    reply = box.register(process.pid, "train-0001")
    return reply.metrics_url, process


def test_a_death_reaches_the_page_with_its_reason(box, watched):
    url, process = watched
    of = {"check": "run_gone", "run": "train-0001"}
    box.until("the run is on the page", lambda: value(url, "pfid_check_failing", **of) == 0)
    process.kill()
    box.until("the death is on the page", lambda: value(url, "pfid_check_failing", **of) == 1)
    reason = {**of, "reason": "killed_by_signal"}
    assert value(url, "pfid_check_reason_info", **reason) == 1
    assert value(url, "pfid_run_state", run="train-0001", state="killed") == 1


def test_the_page_is_whole_for_a_real_parser_and_gzip_is_the_same(watched):
    url, _ = watched
    plain, packed = get(url)[1], get(url, **{"Accept-Encoding": "gzip"})[1]
    names = {f.name for f in text_string_to_metric_families(plain.decode())}
    assert {"pfid_gates", "pfid_time_seconds", "process_cpu_seconds"} <= names
    unpacked = gzip.decompress(packed).decode()
    assert {f.name for f in text_string_to_metric_families(unpacked)} == names


@pytest.mark.full
@pytest.mark.needs("promtool")
def test_promtool_finds_nothing_to_say_about_a_living_page(watched):
    url, _ = watched
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=get(url)[1], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_on_a_page_that_is_full_a_death_is_shown_and_what_was_left_out_is_counted(box):
    """As many runs as there is room for by default, and two that came later."""
    url = box.register(box.child().pid, "train-0000").metrics_url
    runs = lambda: re.findall(r'\npfid_run_info\{.*?\brun="([^"]*)"', get(url)[1].decode())  # noqa: E731
    shown = lambda: len(runs())  # noqa: E731
    for number in range(1, EXPORTED_RUNS_MAX + 2):
        if number == EXPORTED_RUNS_MAX:  # whoever comes now came later, whatever a clock's tick is
            box.until("those before are shown", lambda: shown() == EXPORTED_RUNS_MAX, 60)
        last = box.child()
        box.register(last.pid, f"train-{number:04d}")
    running = lambda: value(url, "pfid_runs", state="running")  # noqa: E731
    starting = lambda: value(url, "pfid_runs", state="starting")  # noqa: E731
    box.until("all are counted", lambda: running() + starting() == EXPORTED_RUNS_MAX + 2, 60)
    assert sorted(runs()) == [f"train-{number:04d}" for number in range(EXPORTED_RUNS_MAX)]
    of_last = {"check": "run_gone", "run": f"train-{EXPORTED_RUNS_MAX + 1:04d}"}
    assert value(url, "pfid_check_failing", **of_last) is None
    assert value(url, "pfid_dropped_series_total", family="pfid_run_info") > 0

    last.kill()
    box.until("the death", lambda: value(url, "pfid_check_failing", **of_last) == 1, 60)
    assert shown() == EXPORTED_RUNS_MAX

    box.config.write_text(f"{box.config.read_text()}exported_runs_max = 100\n")
    box.daemon.send_signal(signal.SIGHUP)
    box.until("a reload makes room", lambda: shown() == EXPORTED_RUNS_MAX + 2, 60)


def test_a_log_reader_with_nothing_to_read_is_heard_all_the_same(box, watched):
    url, _ = watched

    def heard():
        return value(url, "pfid_sampler_last_success_timestamp_seconds", sampler="steps")

    first = box.until("the reader is heard", heard)
    box.until("it is heard again", lambda: heard() > first)


def test_a_daemon_that_goes_round_is_healthy_and_ready(watched):
    url, _ = watched
    base = url.removesuffix("/metrics")
    assert [get(f"{base}/-/{what}")[0] for what in ("healthy", "ready")] == [200, 200]
    assert get(f"{base}/nothing")[0] == 404


@pytest.mark.parametrize("text", [BAD, BAD_CHECKS], ids=["keys", "checks"])
def test_a_bad_configuration_is_refused_whole_and_the_page_says_so(box, watched, text):
    url, _ = watched
    good = box.config.read_text()
    box.config.write_text(text)
    box.daemon.send_signal(signal.SIGHUP)
    name = "pfid_config_last_reload_successful"
    box.until("the refusal is on the page", lambda: value(url, name) == 0)
    assert value(url, "pfid_gates", state="disabled") == 0
    box.config.write_text(good)
    box.daemon.send_signal(signal.SIGHUP)
    box.until("the good one is taken", lambda: value(url, name) == 1)


def test_a_daemon_does_not_start_on_a_check_that_nobody_has(idle_box):
    idle_box.config.write_text(BAD_CHECKS)
    done = subprocess.run(
        [sys.executable, "-m", "pfid", "daemon", "--config", str(idle_box.config)],
        env=idle_box.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "checks.run_gon: no such check; did you mean 'run_gone'?" in done.stderr
    assert "checks.run_gone.limits.nothing_like_it: no such limit" in done.stderr
