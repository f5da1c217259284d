"""The README's commands run as they are written, one after the other, where a reader would be."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pfid.adapters.drill_record import keep_drill
from pfid.adapters.process_identity import machine_id
from pfid.config.paths import user_state_dir

README = Path(__file__).parents[2] / "README.md"
ELSEWHERE = {
    "python3 -m venv": "tests/e2e/test_first_line.py",
    "tests/run": "tests/unit/test_run_script.py",
    "pfid selftest --live": "tests/e2e/test_selftest_live.py",
    "pfid selftest --alerts": "tests/contract/monitoring/test_selftest_alerts.py",
}
"""Lines that take a minute, or an environment of their own, and the tests that run them."""
TRAIN = 'for i in range(30):\n    print(f"iter {i}: loss 2.5, time 500.00ms", flush=True)\n'
STEP = """\
import time

def step_factory(width, batch):
    return lambda: time.sleep(1e-5 * width * batch)
"""


def blocks():
    """Commands of each block that a shell runs, comments left out, by its first command."""
    found = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    commands = [[line.partition("  #")[0].strip() for line in text.splitlines()] for text in found]
    return {block[0]: block for block in commands}


def elsewhere(command):
    return next((file for begin, file in ELSEWHERE.items() if command.startswith(begin)), None)


def answers(n, right, run=0):
    rows = (
        {
            "id": f"q{i}",
            "response": f"run {run}, the {i}th answer " * 9,
            "accuracy": float(i % 10 < right),
        }
        for i in range(n)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def reader(place):
    """A folder with a training in it, ``pfid`` and ``python`` on the PATH, and nothing else."""
    programs = place.folder / "bin"
    programs.mkdir()
    script = f"#!{sys.executable} -P\nfrom pfid.cli.entry import main\nmain()\n"
    (programs / "pfid").write_text(script)  # as pip writes it
    (programs / "pfid").chmod(0o755)
    for name in ("python", "python3", "PY"):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (programs / name).chmod(0o755)
    place.environ |= {"PATH": f"{programs}:{place.environ['PATH']}"}
    del place.environ["PFID_SOCKET"]
    work = place.folder / "mymodel"
    work.mkdir()
    files = {
        "train.py": TRAIN,
        "mine.py": STEP,
        "mymodel.toml": "",
        ".gitignore": "*.log\n__pycache__\n",
        "lengths.jsonl": "".join(f'{{"length": {10 + 37 * i % 900}}}\n' for i in range(300)),
        "results.jsonl": answers(60, 6),
        "base.jsonl": answers(60, 5),
        **{f"run{n}.jsonl": answers(60, 5 + n % 2, n) for n in (1, 2, 3)},
    }
    for name, text in files.items():
        (work / name).write_text(text)

    def run(command):
        said = command.replace("/etc/prometheus/", f"{work}/")
        return subprocess.run(
            ["/bin/sh", "-c", said],
            cwd=work,
            env=place.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    run.place = place
    run.work = work
    return run


def test_every_block_is_run_here_or_by_the_test_that_is_named():
    for file in set(ELSEWHERE.values()):
        assert (README.parent / file).is_file()
    here = {first for first in blocks() if elsewhere(first) is None}
    assert here == {*RUN_HERE, LAUNCH, JUDGE}


RUN_HERE = {
    "pfid run --name mymodel -- python train.py --config mymodel.toml": {0},
    "pfid run --instrument --name mymodel -- python train.py": {0},
    "pfid probe scaling mine:step_factory --python PY --widths 512,1024,2048,4096 --batch 2 --json "
    "> fit.json": {0, 3},
    "pfid monitoring scrape-config > pfid-scrape.yml": {0},
}
"""Blocks by their first command, with the statuses that its commands may end in."""
LAUNCH = "pfid preflight --init"
JUDGE = "pfid judge --init results.jsonl --baseline base.jsonl"


@pytest.mark.parametrize("first", RUN_HERE)
def test_a_block_runs_as_written(reader, first):
    for command in blocks()[first]:
        if elsewhere(command) is None:
            done = reader(command)
            assert done.returncode in RUN_HERE[first], (command, done.stdout, done.stderr)
            assert "Traceback" not in done.stderr


def test_a_project_goes_from_its_first_spec_to_its_launch(reader):
    """A reader commits; and the drills of the second line are as if they had been made."""

    def commit():
        done = reader("git add -A && git -c user.name=n -c user.email=e@example.org commit -qm x")
        assert done.returncode == 0, done.stderr

    assert reader("git init -q").returncode == 0
    commit()
    init, live, judge, launch = blocks()[LAUNCH]
    assert reader(init).returncode == 0
    commit()
    assert elsewhere(live)
    state = user_state_dir({"XDG_STATE_HOME": str(reader.place.state)}, machine_id())
    keep_drill(state, at_s=time.time(), through_daemon=False, results={"run_gone": True})
    judged = reader(judge)
    assert judged.returncode == 0, judged.stdout
    assert judged.stdout.splitlines()[-1] == "next: pfid run --preflight -- COMMAND"
    launched = reader(launch)
    assert launched.returncode == 0, launched.stderr
    assert "preflight: ready" in launched.stderr


def test_three_runs_are_judged_by_the_spec_that_was_written_for_one(reader):
    init, both_arms, three_runs = blocks()[JUDGE]
    assert reader(init).returncode == 0
    judged = reader(both_arms)
    assert judged.returncode in {0, 1, 3}, judged.stderr
    assert (reader.work / "report.html").is_file()
    done = reader(f"{three_runs} --json")
    (counted,) = [
        v for v in json.loads(done.stdout)["verdicts"] if v["check"] == "records_complete"
    ]
    assert (counted["reason"], counted["figures"]["candidate_records"]["value"]) == (
        "records_complete",
        180,
    )
