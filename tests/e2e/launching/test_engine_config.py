"""No run begins under a configuration that its own engine would refuse: it would go unwatched."""

import json
import os

import pytest


@pytest.fixture
def bad(user):
    """The user's own configuration, with a key that cannot be."""
    file = user.home / ".config" / "pfid" / "pfid.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[page]\nlisten = 5\n")
    return file


def test_a_bad_key_refuses_the_launch_and_names_file_and_key(user, bad):
    done = user.run("--", "touch", "ran")
    assert done.returncode == 125
    assert f"{bad}: page.listen:" in done.stderr.replace("\n", "")
    assert not (user.work / "ran").exists()
    assert user.records() == []


def test_so_does_a_file_that_is_named_and_not_there(user):
    done = user.run("--json", "--", "touch", "ran", PFID_CONFIG="nosuch")
    assert done.returncode == json.loads(done.stdout)["exit_status"] == 125
    assert "nosuch: cannot be read" in done.stderr
    assert not (user.work / "ran").exists()


def test_so_does_a_check_that_nobody_has(user, bad):
    bad.write_text("[checks.run_gon]\nenabled = false\n")
    done = user.run("--", "touch", "ran")
    assert done.returncode == 125
    assert "checks.run_gon: no such check; did you mean 'run_gone'?" in done.stderr


def test_a_good_one_is_none_of_its_business(user, bad):
    bad.write_text("[checks.run_gone]\nenabled = true\n")
    assert user.run("--", "touch", "ran").returncode == 0
    assert (user.work / "ran").exists()


def test_attach_refuses_likewise(user, bad):
    done = user.pfid("attach", str(os.getpid()))
    assert done.returncode == 2
    assert f"{bad}: page.listen:" in done.stderr.replace("\n", "")
    assert user.records() == []


STATE_IN_THE_WAY = (
    'mkdir -p "$PFID_RUN_DIR/engine/pfid.sqlite"; '
    'until [ "$(grep -c cannot "$PFID_RUN_DIR/engine/engine.log")" -ge 2 ]; do sleep 0.1; done'
)
"""Ends once an engine could not start and the next one neither: the first is gone by then."""


@pytest.mark.full
def test_an_engine_that_ends_all_the_same_is_told_at_the_end_of_a_short_run(user):
    done = user.run("--", "sh", "-c", STATE_IN_THE_WAY)
    [record] = user.records()
    log = user.run_dir(record) / "engine" / "engine.log"
    assert "pfid daemon cannot start" in log.read_text()
    said = " ".join(done.stderr.split())
    assert f"nobody watches {record['run_id']}: its engine ended" in said
    seen = user.pfid("status")
    assert seen.returncode == 3
    assert f"{record['run_id']} ended (exit status 0)" in " ".join(seen.stderr.split())
