"""What one run leaves in the daemon to the next of its name, its work and its owner."""

import json
import subprocess
import sys

import pytest

STEPS = 64
FAST_S, SLOW_S = 1.0, 20.0
EXITS = ("sh", "-c", "read x; exit 0")
LEAVES_A_CHILD = ("sh", "-c", "sleep 100 & read x; exit 0")


@pytest.fixture
def launch(box):
    """Register a run of one work with a log of so many steps; returns its process."""

    def start(run_id, seconds, command=EXITS, fingerprint="work"):
        log = box.folder / f"{run_id}.log"
        lines = (
            f"iter {i}: loss 2.0, time {seconds * 1_000}ms, mfu 1.00%\n" for i in range(STEPS + 1)
        )
        log.write_text("".join(lines))
        child = box.child(*command, stdin=-1)
        box.register(child.pid, run_id, [log], name="train", fingerprint=fingerprint)
        return child

    return start


@pytest.fixture
def judged(box):
    """Wait for what is said of a run's step times; returns the verdict and the baseline."""

    def wait(run_id, outcome):
        def look():
            shown = box.run(run_id)
            found = [v for v in shown["verdicts"] if v["check"] == "step_time_regime"]
            return found and found[0]["outcome"] == outcome and (found[0], shown["run"]["baseline"])

        return box.until(f"{outcome} of {run_id}", look)

    return wait


def held_against_the_first(verdict, baseline):
    assert verdict["reason"] == "shifted"
    assert "earlier runs" in verdict["summary"]
    assert (baseline["source"], baseline["n"]) == ("earlier_runs", STEPS)
    assert baseline["median_s"] == pytest.approx(FAST_S)


def test_a_run_slow_from_its_first_step_fails_against_the_run_before(box, launch, judged):
    """A process that outlives the first run changes nothing; runs of other work do not count."""
    first = launch("first", FAST_S, LEAVES_A_CHILD)
    assert judged("first", "pass")[1]["source"] == "own_early_steps"
    first.communicate(b"go\n")
    launch("other", SLOW_S, fingerprint="other work")
    launch("second", SLOW_S)
    held_against_the_first(*judged("second", "fail"))
    assert judged("other", "pass")[1]["source"] == "own_early_steps"
    held = lambda: (box.run("first")["run"]["resources"] or {}).get("processes")  # noqa: E731
    assert box.until("a look at its processes", held), "the orphan is held on to"


def test_a_run_that_ended_while_no_daemon_watched_leaves_what_was_known_of_it(box, launch, judged):
    first = launch("first", FAST_S)
    judged("first", "pass")
    box.kill()
    first.communicate(b"go\n")
    box.start()
    launch("second", SLOW_S)  # nobody has said yet that the first is over
    held_against_the_first(*judged("second", "fail"))
    box.kill()  # and what the second is held against outlives the daemon as well
    box.start()
    held_against_the_first(*judged("second", "fail"))


@pytest.fixture
def trainer(box):
    """Start ``pfid run`` of one command; with the daemon or without, its steps so many seconds."""
    (box.folder / "train.py").write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        "ms = Path('ms').read_text()\n"
        f"for i in range({STEPS} + 1):\n"
        "    print(f'iter {i}: loss 2.0, time {ms}ms, mfu 1.00%', flush=True)\n"
        "while not Path('over').exists():\n"
        "    time.sleep(0.02)\n"
    )
    environ = box.environ | {"XDG_STATE_HOME": str(box.folder / "home")}
    nowhere = {"PFID_SOCKET": str(box.folder / "nowhere.sock")}
    launchers = []

    def pfid(*arguments, **more):
        command = [sys.executable, "-P", "-m", "pfid", *arguments]
        return more.pop("how")(command, cwd=box.folder, env=environ | nowhere, text=True, **more)

    class Started:
        def __init__(self, seconds, *, with_daemon):
            (box.folder / "over").unlink(missing_ok=True)
            (box.folder / "ms").write_text(str(seconds * 1_000))
            nowhere["PFID_SOCKET"] = str(box.socket if with_daemon else box.folder / "nowhere.sock")
            self.known = set(self.runs())
            arguments = ("run", "--name", "train", "--", sys.executable, "train.py")
            self.launcher = pfid(*arguments, how=subprocess.Popen, stderr=subprocess.DEVNULL)
            launchers.append(self.launcher)

        def runs(self):
            return [p.name for p in (box.folder / "home").glob("pfid/*/runs/*")]

        def judged(self, outcome):
            def look():
                new = set(self.runs()) - self.known
                said = new and pfid("show", *new, "--json", how=subprocess.run, stdout=-1).stdout
                shown = json.loads(said) if said else {"verdicts": []}
                found = [v for v in shown["verdicts"] if v["check"] == "step_time_regime"]
                right = bool(found) and found[0]["outcome"] == outcome
                return right and (found[0], shown["run"]["baseline"])

            return box.until(f"{outcome} of the newest", look, within_s=30.0)

        def end(self):
            (box.folder / "over").touch()
            assert self.launcher.wait(20) == 0

    yield Started
    (box.folder / "over").touch()
    for launcher in launchers:
        launcher.wait(20)


@pytest.mark.parametrize("with_daemon", [True, False], ids=["by an engine", "by the daemon"])
def test_who_watched_the_run_before_makes_no_difference(trainer, with_daemon):
    """What an engine saw the launcher tells the daemon, and keeps itself what a daemon saw."""
    first = trainer(FAST_S, with_daemon=not with_daemon)
    first.judged("pass")
    first.end()
    second = trainer(SLOW_S, with_daemon=with_daemon)
    verdict, baseline = second.judged("fail")
    assert verdict["reason"] == "shifted"
    assert (baseline["source"], baseline["median"]) == ("earlier_runs", FAST_S)
