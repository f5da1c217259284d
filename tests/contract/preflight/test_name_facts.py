"""Is a living run of the name seen, by its captured process, and a dead one not?"""

import signal
import subprocess
import sys
import time

import pytest

from pfid.bootstrap.launch import user_records
from pfid.bootstrap.preflight.launched import name_facts

SPEC = 'name = "held"\n'


def test_a_name_nobody_used_is_free_and_no_name_is_none(repository):
    assert name_facts(repository.project(SPEC)).living == ()
    assert name_facts(repository.project()) is None


@pytest.mark.full
def test_a_living_run_of_the_name_is_seen_until_it_ends(repository):
    command = ["-m", "pfid", "run", "--name", "held", "--", "sleep", "60"]
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=repository.folder,
        env=repository.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as launcher:
        try:
            found = until(repository, lambda facts: facts.living)
            assert [run.startswith("held-") for run in found.living] == [True]
            other = repository.project('name = "another"\n')
            assert name_facts(other).living == ()
        finally:
            launcher.send_signal(signal.SIGTERM)
    assert until(repository, lambda facts: not facts.living).problem == ""


@pytest.mark.full
def test_a_launcher_that_is_about_to_launch_again_holds_the_name(repository):
    """Between two attempts no process of the run lives."""
    command = ["--name", "held", "--restart", "1", "--", "sh", "-c", "sleep 0.2; exit 3"]
    with subprocess.Popen(
        [sys.executable, "-m", "pfid", "run", *command],
        cwd=repository.folder,
        env=repository.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as launcher:
        records = user_records(repository.environ)
        deadline_s = time.monotonic() + 30
        while not (waiting := [r for r in records.latest("held")[0] if r.waiting]):
            assert time.monotonic() < deadline_s
            time.sleep(0.005)
        found = name_facts(repository.project(SPEC))
        launcher.send_signal(signal.SIGKILL)
    assert found.living
    assert waiting
    assert until(repository, lambda facts: not facts.living).living == ()


def until(repository, wanted):
    deadline_s = time.monotonic() + 30
    while True:
        facts = name_facts(repository.project(SPEC))
        if wanted(facts) or time.monotonic() > deadline_s:
            return facts
        time.sleep(0.1)
