"""A run that has left the page is told of as it was seen last, in a report too."""

import html
import subprocess
import sys

from pfid.wire.control import GetSnapshot

FAST_S, SLOW_S, EACH = 1.0, 20.0, 64
HIT = (
    "W0101 00:00:00.000000 12 torch/_dynamo/convert_frame.py:906] [0/8] "
    "torch._dynamo hit config.recompile_limit (8)\n"
)
LINGERS = '[page]\nlisten = ["127.0.0.1:0"]\nended_run_linger_s = 0\n'
RUN = "train-0001"


def steps(first, seconds):
    return "".join(
        f"iter {i}: loss 2.0, time {seconds * 1_000}ms, mfu 1.00%\n"
        for i in range(first, first + EACH)
    )


def is_read(run):
    """Whether every step was seen, and the line that a verdict rests on."""
    return run["run"]["steps_total"] == 2 * EACH and "recompile_limit" in run["evidence"]


def judges(run):
    return {verdict["check"] for verdict in run["verdicts"]}


def report(box, *options):
    done = subprocess.run(
        (sys.executable, "-P", "-m", "pfid", "report", RUN, *options),
        env=box.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def holds_all(page, run, *, evidence=True):
    """Every verdict that applies stands there with its figures, and the lines it rests on."""
    assert run["evidence"]["recompile_limit"] == [HIT.strip()]
    assert (html.escape(HIT.strip()) in page) is evidence
    for verdict in run["verdicts"]:
        if verdict["outcome"] != "not_applicable":
            words = (verdict["check"], *verdict["figures"])
            figures = (f"{n} {f['value']:.4g}" for n, f in verdict["figures"].items())
            over = (verdict["reason"], html.escape(verdict["summary"]), *figures)
            for what in (*words, *(over if run["run"]["end"] else ())):  # else they go on
                assert what in page, what


def test_verdicts_evidence_and_step_times_outlast_the_page(idle_box):
    box = idle_box
    box.config.write_text(LINGERS)
    box.start()
    log = box.folder / "train.log"
    log.write_text(steps(0, FAST_S))
    child = box.child("sh", "-c", "read x; exit 3", stdin=-1)
    box.register(child.pid, RUN, [log])
    with log.open("a") as more:
        more.write(HIT + steps(EACH, SLOW_S))
    box.until("all of it is read", lambda: is_read(box.run(RUN)), 60)
    before = box.run(RUN)
    holds_all(report(box), before)

    child.communicate(b"go\n")
    box.until("it has left", lambda: not box.ask(GetSnapshot()).snapshot["runs"], 60)
    after = box.run(RUN)
    assert judges(after) == judges(before) > {"recompile_limit", "step_time_regime"}
    assert after["evidence"] == before["evidence"]
    for figure in ("steps_total", "last_index", "summary", "histogram", "recent_step_s"):
        assert after["run"][figure] == before["run"][figure], figure
    assert box.verdicts(RUN)["run_gone"] == ("fail", "exited_nonzero")
    holds_all(report(box), after)
    holds_all(report(box, "--no-evidence"), after, evidence=False)
