"""A fit kept for a name is what the first run of that name is held against, from its first step."""

import json
import sys

import pytest

from pfid.adapters.process_identity import machine_id
from pfid.adapters.step_fits import FOLDER, keep_fit, load_fit
from pfid.config.paths import user_state_dir
from pfid.domain.step_fit import StepFit

FIT = StepFit(
    a_s_per_token=1e-4,
    b_s_per_token2=1e-8,
    narrowest=64,
    widest=4_096,
    expected_s=0.011,
    measured_at_s=1_790_000_000.0,
)
SLOW = (
    "import time\n"
    "from pfid.trainer import StepReporter\n"
    "reporter = StepReporter()\n"
    "for i in range(400):\n"
    "    with reporter.step(tokens=200, width=100):\n"
    "        time.sleep(0.2)\n"
)
"""Twenty times what the fit says of width 100, and so from its first step on."""


@pytest.fixture
def state(user):
    return user_state_dir(user.environ, machine_id())


def test_a_launch_hands_over_the_fit_of_its_name_and_of_no_other(user, watcher, state, eventually):
    keep_fit(state, "train", FIT)
    watcher.start()
    eventually(watcher.socket.exists, "the socket")
    user.run("--", "true")
    user.run("--name", "other", "--log", "other.log", "--", "true")
    mine, other = watcher.told("register")
    assert mine["request"]["fit"]["a_s_per_token"] == FIT.a_s_per_token
    assert mine["request"]["fit"]["expected_s"] == FIT.expected_s
    assert other["request"].get("fit") is None


def test_an_attach_hands_it_over_as_a_launch_does(user, watcher, state, eventually):
    keep_fit(state, "train", FIT)
    watcher.start()
    eventually(watcher.socket.exists, "the socket")
    for name in ("train", "other"):
        process = user.spawn("sleep", "60")
        done = user.pfid("attach", str(process.pid), "--name", name)
        assert done.returncode == 0, done.stderr
    mine, other = watcher.told("register")
    assert mine["request"]["fit"]["b_s_per_token2"] == FIT.b_s_per_token2
    assert other["request"].get("fit") is None


@pytest.mark.parametrize("text", ["", "{", '{"name": "train", "fit": {"a_s_per_token": "x"}}'])
def test_a_fit_that_cannot_be_read_stops_no_launch(user, state, text):
    path = keep_fit(state, "train", FIT)
    path.write_text(text)
    assert (path.parent.name, user.run("--", "true").returncode) == (FOLDER, 0)


def test_a_file_of_another_name_is_not_this_names_fit(state):
    path = keep_fit(state, "train", FIT)
    assert load_fit(state, "train") == FIT
    path.write_text(path.read_text().replace('"train"', '"other"'))
    assert load_fit(state, "train") is None


@pytest.mark.full
def test_a_run_slow_from_its_first_step_is_caught_by_the_fit_of_its_name(user, state, eventually):
    keep_fit(state, "train", FIT)
    quicker = user.work / "pfid.toml"
    quicker.write_text("[checks.step_time_regime]\nlimits = {held_s = 3.0}\n")
    user.environ["PFID_CONFIG"] = str(quicker)
    user.start_run("--", sys.executable, "-c", SLOW)

    def seen():
        said = user.pfid("show", "train", "--json").stdout
        shown = json.loads(said) if said else {"verdicts": []}
        verdict = [v for v in shown["verdicts"] if v["check"] == "step_time_regime"]
        return verdict and verdict[0]["outcome"] == "fail" and (verdict[0], shown["run"])

    verdict, run = eventually(seen, "a step time that left the fit", within_s=110.0)
    assert run["baseline"]["source"] == "scaling_fit"
    assert verdict["reason"] == "shifted"
    assert "scaling fit" in verdict["summary"]
