"""``pfid rotate`` gives other launchers the rules of ``pfid run``."""

import json
import re


def test_a_log_with_text_steps_aside(user):
    (user.work / "train.log").write_text("Traceback\n")
    done = user.pfid("rotate", "train.log", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert re.fullmatch(r".*/train\.\d{8}T\d{6}Z\.log", told["rotated_to"])
    assert not (user.work / "train.log").exists()
    [kept] = user.rotated()
    assert kept.read_text() == "Traceback\n"


def test_nothing_to_rotate_is_fine(user):
    assert json.loads(user.pfid("rotate", "train.log", "--json").stdout)["rotated_to"] is None
    (user.work / "train.log").touch()
    assert user.pfid("rotate", "train.log").returncode == 0
    assert (user.work / "train.log").exists()


def test_a_living_runs_log_is_not_rotated_under_it(user, eventually):
    launcher = user.start_run("--", "sh", "-c", "echo up; exec sleep 60")
    eventually(lambda: "up" in user.text(), "output")
    by_name = user.pfid("rotate", "train.log")
    by_path = user.pfid("rotate", "train.log", "--name", "other")
    assert (by_name.returncode, by_path.returncode) == (1, 1)
    assert "already running" in by_name.stderr
    assert "is the log of" in by_path.stderr
    assert user.rotated() == []
    launcher.terminate()
    launcher.wait(30)


def test_what_is_no_log_is_refused(user):
    (user.work / "real.log").write_text("text\n")
    (user.work / "link.log").symlink_to("real.log")
    (user.work / "folder.log").mkdir()
    for name in ("link.log", "folder.log", "none/train.log"):
        assert user.pfid("rotate", name).returncode == 1
    assert user.text("real.log") == "text\n"
