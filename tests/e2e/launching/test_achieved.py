"""Tokens and FLOPs that a program reports, from its call to what a person and Prometheus see."""

import json
import re
import sys
import urllib.request

import pytest

pytestmark = pytest.mark.full
LOOP = (
    "import time\n"
    "from pfid.trainer import Accounting, StepReporter\n"
    "reporter = StepReporter(accounting=Accounting(1e9, checkpointed=True,\n"
    "    peak_flops_per_s=1e15))\n"
    "for i in range(100):\n"
    "    with reporter.step(tokens=1000, width=100) as step:\n"
    "        time.sleep(0.1); step.real_tokens = 750\n"
)


def run_of(user):
    said = user.pfid("show", "train", "--json").stdout
    return json.loads(said)["run"] if said else None


def test_rates_are_shown_and_exported_while_it_runs_and_kept_when_it_has_ended(user, eventually):
    launcher = user.start_run("--", sys.executable, "-c", LOOP)

    def rate():
        run = run_of(user)
        return run and run["achieved"]

    done = eventually(rate, "a rate")
    assert 5_000 < done["tokens_per_s"] < 10_000
    assert done["real_tokens_per_s"] == pytest.approx(0.75 * done["tokens_per_s"])
    assert done["flops_per_s"] == pytest.approx(6e9 * done["tokens_per_s"])
    assert done["recompute_flops_per_s"] == pytest.approx(2e9 * done["tokens_per_s"])
    assert done["model_flops_utilization"] == pytest.approx(done["flops_per_s"] / 1e15)
    assert done["accounting"].startswith("6ND of 1e+09 trained, dense parameters")

    shown = user.pfid("show", "train").stdout
    assert re.search(r"real tokens +[\d,]+ a second, 75\.0% of all", shown)
    assert re.search(r"achieved +[\d.]+ TFLOP/s \(6ND", shown)
    assert re.search(r"MFU +[\d.]+% of the peak", shown)

    url = next(
        found.group()
        for line in launcher.stderr
        if (found := re.search(r"http://127\.0\.0\.1:\d+/metrics", line))
    )

    def exported():
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        return "pfid_run_tokens_per_second{" in text and text

    page = eventually(exported, "the rates on the page")
    for name in ("tokens", "real_tokens", "achieved_flops", "recompute_flops"):
        assert re.search(rf"^pfid_run_{name}_per_second{{.*}} \d", page, re.MULTILINE)
    assert "pfid_run_model_flops_utilization_ratio{" in page
    with urllib.request.urlopen(url.removesuffix("metrics"), timeout=10) as answer:
        assert "MFU" in answer.read().decode()

    assert launcher.wait(60) == 0

    def whole():
        run = run_of(user)
        return run and run["end"] and run["achieved"] and run["achieved"]["whole_run"] and run

    ended = eventually(whole, "the whole run's figures")
    assert ended["achieved"]["steps"] == 100
    assert ended["step_seconds"]["clock"] == "reported"
    report = user.pfid("report", "train").stdout
    assert "the whole run" in report
    assert "6ND of 1e+09" in report
    assert "Seconds of every step after the first" in report
