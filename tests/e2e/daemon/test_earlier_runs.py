"""What one run leaves in the daemon to the next of its name, its work and its owner."""

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
    assert box.run("first")["run"]["resources"]["processes"], "the orphan is held on to"


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
