"""What a run's engine leaves to the next run of the name, of which nothing else outlives it."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

STEPS = 64
PROGRAM = """
import subprocess, sys, time
from pathlib import Path
{begin}
milliseconds = Path("milliseconds").read_text()
for i in range({steps} + 1):
    print(f"iter {{i}}: loss 2.0, time {{milliseconds}}ms, mfu 1.00%", flush=True)
while not Path("over").exists():
    time.sleep(0.02)
"""
"""The same command each time; how long its steps take stands in a file."""
ORPHAN = "Path('orphan').write_text(str(subprocess.Popen(['sleep', '100']).pid))"
FAST_MS, SLOW_MS = 1_000.0, 20_000.0


@pytest.fixture
def program(user):
    """Write the program; returns how to start it as a run, with steps of so many milliseconds."""

    def write(begin=""):
        (user.work / "train.py").write_text(PROGRAM.format(begin=begin, steps=STEPS))

        def start(milliseconds):
            (user.work / "over").unlink(missing_ok=True)
            (user.work / "milliseconds").write_text(str(milliseconds))
            return user.start_run("--", sys.executable, "train.py")

        return start

    return write


@pytest.fixture
def settled(user, eventually):
    """Wait until the newest run's step times are judged; returns the verdict and the run."""

    def ask(outcome, runs):
        def look():
            records = user.records()
            if len(records) < runs:
                return None
            said = user.pfid("show", records[-1]["run_id"], "--json").stdout
            shown = json.loads(said) if said else {"verdicts": []}
            for verdict in shown["verdicts"]:
                if (verdict["check"], verdict["outcome"]) == ("step_time_regime", outcome):
                    return verdict, shown["run"]
            return None

        return eventually(look, f"{outcome} of run {runs}")

    return ask


def ended(user, launcher):
    (user.work / "over").touch()
    assert launcher.wait(20) == 0


def left_of(user):
    """What stands in the history, line by line."""
    files = user.home.glob(".local/state/pfid/*/history/*.jsonl")
    return [json.loads(line) for f in files for line in f.read_text().splitlines() if line]


def slow_from_its_first_step(verdict, run):
    assert verdict["reason"] == "shifted"
    assert "earlier runs" in verdict["summary"]
    assert run["baseline"]["source"] == "earlier_runs"
    assert run["baseline"]["median"] == pytest.approx(FAST_MS / 1_000)
    assert run["baseline"]["n"] == STEPS


def test_a_run_slow_from_its_first_step_fails_against_the_run_before(user, program, settled):
    """A process that outlives the first run, and with it holds up its engine, hides nothing."""
    start = program(begin=ORPHAN)
    first = start(FAST_MS)
    settled("pass", runs=1)
    ended(user, first)
    start(SLOW_MS)
    slow_from_its_first_step(*settled("fail", runs=2))
    record = user.records()[0]
    shown = json.loads(user.pfid("show", record["run_id"], "--json").stdout)
    assert shown["run"]["resources"]["processes"], "its engine holds on to what outlives it"
    os.kill(int((user.work / "orphan").read_text()), signal.SIGKILL)


def test_a_run_over_before_its_engine_is_up_is_read_from_its_own_log(user, program, settled):
    """The next run of the name has put its own in that place by then."""
    start = program()
    ended(user, start(FAST_MS))
    start(SLOW_MS)
    settled("fail", runs=2)
    first = next(line["left"] for line in left_of(user))
    assert first["baseline"]["median_s"] == FAST_MS / 1_000


def test_what_kills_the_run_and_its_engine_at_once_takes_no_baseline_along(
    user, program, settled, eventually
):
    start = program()
    launcher = start(FAST_MS)
    settled("pass", runs=1)
    [record] = user.records()
    eventually(lambda: any(line["left"]["passed"] for line in left_of(user)), "the history")
    [engine] = [int(p.name) for p in Path("/proc").iterdir() if _is_engine(p, record["run_id"])]
    launcher.kill()
    os.kill(engine, signal.SIGKILL)
    os.kill(record["process"]["pid"], signal.SIGKILL)
    start(SLOW_MS)
    slow_from_its_first_step(*settled("fail", runs=2))


def _is_engine(entry, run_id):
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"embedded" in words and any(w.endswith(run_id.encode()) for w in words)


def test_a_run_that_fell_back_on_its_way_leaves_what_it_could_do_before(user, program, settled):
    """Its baseline outlives it: the next one falls back in its first step."""
    start = program()
    launcher = start(FAST_MS)
    settled("pass", runs=1)
    with (user.work / "train.log").open("a") as log:
        for i in range(STEPS + 1, 2 * STEPS):
            log.write(f"iter {i}: loss 2.0, time {SLOW_MS}ms, mfu 1.00%\n")
    settled("fail", runs=1)
    ended(user, launcher)
    start(SLOW_MS)
    verdict, run = settled("fail", runs=2)
    assert run["baseline"]["source"] == "earlier_runs"
    assert run["baseline"]["median"] == pytest.approx(FAST_MS / 1_000)
    assert verdict["reason"] == "shifted"
