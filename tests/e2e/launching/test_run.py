"""``pfid run`` on real processes: what it starts, what it keeps, what it answers."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pfid.adapters.name_lock import name_lock
from pfid.adapters.process_identity import read_stat
from pfid.bootstrap.launch import user_records


def test_output_goes_to_the_log_after_a_first_line_that_names_the_run(user):
    done = user.run("--", "sh", "-c", "echo out; echo err >&2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    [record] = user.records()
    first, *rest = user.text().splitlines()
    assert re.fullmatch(
        rf"# pfid run {record['run_id']} started \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first
    )
    assert rest == ["out", "err"]


def test_name_and_log_by_default_are_the_scripts_and_are_printed(user):
    (user.work / "fit.py").write_text("print('here')\n")
    done = user.pfid("run", "--", sys.executable, "fit.py")
    assert done.returncode == 0
    assert f"name fit, log {user.work}/fit.log" in done.stderr
    assert user.text("fit.log").endswith("here\n")


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 1", 1), ("exit 77", 77), ("kill -9 $$", 137), ("kill -15 $$", 143)],
)
def test_the_exit_status_is_the_childs(user, script, code):
    assert user.run("--", "sh", "-c", script).returncode == code
    [record] = user.records()
    end = record["end"]
    assert (end["exit_code"] if code < 128 else 128 + end["signal"]) == code


def test_the_record_holds_the_captured_identity_while_the_child_runs(user, eventually, comm):
    launcher = user.start_run("--", "sleep", "30")
    [record] = eventually(user.records, "a record")
    eventually(lambda: comm(record["process"]["pid"]) == "sleep", "the child")
    stat = Path(f"/proc/{record['process']['pid']}/stat").read_text().rpartition(")")[2].split()
    assert int(stat[19]) == record["process"]["start_ticks"]
    assert (
        record["process"]["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    )
    assert record["launcher"]["pid"] == launcher.pid
    assert record["end"] is None
    assert record["name"] == "train"
    assert record["argv"] == ["sleep", "30"]
    assert oct(user.run_dir(record).stat().st_mode & 0o777) == "0o700"
    launcher.terminate()
    assert launcher.wait(20) == 143


def test_a_second_run_of_a_living_name_is_refused_and_touches_nothing(user, eventually):
    launcher = user.start_run("--", "sh", "-c", "echo up; sleep 30")
    eventually(lambda: "up" in user.text(), "output")
    before = user.text()
    refused = user.run("--", "true")
    assert refused.returncode == 125
    [record] = user.records()
    assert f"already running as {record['run_id']}" in refused.stderr
    assert user.text() == before
    assert user.rotated() == []
    other = user.pfid("run", "--name", "Train", "--log", "b.log", "--", "true")
    assert other.returncode == 0, "another name with the same slug is another run"
    shared = user.pfid("run", "--name", "other", "--log", "train.log", "--", "true")
    assert shared.returncode == 125
    assert "is the log of" in shared.stderr
    launcher.terminate()
    launcher.wait(20)
    assert user.run("--", "true").returncode == 0


@pytest.mark.full
def test_of_two_at_once_exactly_one_starts_twenty_times(user, eventually):
    for number in range(20):
        name = f"race{number}"
        child = ("sh", "-c", f"until test -e go{number}; do sleep 0.05; done")
        both = [user.start("run", "--name", name, "--", *child) for _ in range(2)]
        loser = eventually(
            lambda both=both: next((each for each in both if each.poll() is not None), None),
            "a refusal",
        )
        assert loser.returncode == 125, loser.communicate()
        assert all(each is loser or each.poll() is None for each in both)
        (user.work / f"go{number}").touch()
        assert sorted(each.wait(30) for each in both) == [0, 125]
        assert len([record for record in user.records() if record["name"] == name]) == 1


def test_of_two_names_at_once_for_one_log_exactly_one_starts(user, eventually):
    for number in range(6):
        child = ("sh", "-c", f"echo up; until test -e go{number}; do sleep 0.05; done")
        names = [f"one{number}", f"other{number}"]
        both = [
            user.start("run", "--name", name, "--log", f"shared{number}.log", "--", *child)
            for name in names
        ]
        loser = eventually(
            lambda both=both: next((each for each in both if each.poll() is not None), None),
            "a refusal",
        )
        assert loser.returncode == 125, loser.communicate()
        (user.work / f"go{number}").touch()
        assert sorted(each.wait(60) for each in both) == [0, 125]
        assert len([record for record in user.records() if record["name"] in names]) == 1
        assert list(user.work.glob(f"shared{number}.*.log")) == []


def test_a_log_whose_launch_goes_on_is_not_moved_under_it_by_another_name(user):
    log = user.work / "shared.log"
    log.write_text("of the launch that goes on\n")
    records = user_records(user.environ)
    [held] = records.log_lock_files([str(log)])
    process = user.spawn("sleep", "60")
    with name_lock(held, 60):
        for command in (
            ("run", "--name", "other", "--log", "shared.log", "--", "true"),
            ("rotate", "shared.log", "--name", "other"),
            ("attach", str(process.pid), "--name", "other", "--log", "shared.log"),
        ):
            done = user.pfid(*command)
            assert done.returncode != 0
            assert "another launch holds" in done.stderr
    assert user.records() == []
    assert log.read_text() == "of the launch that goes on\n"


def test_the_launchers_death_neither_ends_the_run_nor_opens_the_name(user, eventually, comm):
    launcher = user.start_run("--", "sh", "-c", "echo up; exec sleep 30")
    eventually(lambda: "up" in user.text(), "output")
    launcher.kill()
    assert launcher.wait(20) == -signal.SIGKILL
    [record] = user.records()
    pid = record["process"]["pid"]
    assert comm(pid) == "sleep"
    assert user.run("--", "true").returncode == 125
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: comm(pid) == "", "the end")
    assert user.run("--", "true").returncode == 0


def test_a_relaunch_keeps_the_crashed_attempts_log_under_a_name_with_its_time(user):
    user.run("--", "sh", "-c", "echo Traceback; exit 1")
    crashed = user.text()
    done = user.run("--", "echo", "fine")
    [kept] = user.rotated()
    assert kept.read_text() == crashed
    assert user.text().endswith("fine\n")
    assert "Traceback" not in user.text()
    assert f"the earlier {user.work}/train.log is now {kept}" in done.stderr


def test_relaunches_within_one_second_never_clobber(user):
    for number in range(6):
        user.run("--", "echo", f"number-{number}")
    kept = "".join(path.read_text() for path in user.rotated()) + user.text()
    assert len(user.rotated()) == 5
    assert all(kept.count(f"number-{number}\n") == 1 for number in range(6))


def test_further_logs_are_rotated_and_recorded_but_not_made(user):
    (user.work / "trainer_log.jsonl").write_text("{}\n")
    user.run(
        *("--log", "train.log", "--log", "trainer_log.jsonl"),
        *("--log", "absent.jsonl", "--", "true"),
    )
    [record] = user.records()
    assert not (user.work / "trainer_log.jsonl").exists()
    assert not (user.work / "absent.jsonl").exists()
    [_, second, third] = record["logs"]
    assert Path(second["rotated_to"]).read_text() == "{}\n"
    assert re.search(r"trainer_log\.\d{8}T\d{6}Z\.jsonl$", second["rotated_to"])
    assert third["rotated_to"] is None


def test_restart_launches_failures_again_each_a_new_run_with_its_own_log(user):
    script = "echo attempt; test -e again && exit 0; touch again; exit 3"
    done = user.run("--restart", "3", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    first, second = user.records()
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert (first["restarts_left"], second["restarts_left"]) == (3, 2)
    assert first["run_id"] != second["run_id"]
    assert first["end"]["exit_code"] == 3
    assert not first["waiting"] or second["process"]["start_ticks"]
    assert [path.read_text().count("attempt") for path in user.rotated()] == [1]
    assert user.text().count("attempt") == 1


def test_a_relaunch_gives_every_log_of_the_run_a_file_of_its_own(user):
    script = "echo attempt; echo step >> steps.jsonl; test -e again && exit 0; touch again; exit 3"
    done = user.run(
        *("--restart", "1", "--log", "train.log", "--log", "steps.jsonl"),
        *("--", "sh", "-c", script),
    )
    assert done.returncode == 0, done.stderr
    _, second = user.records()
    for name, log in zip(("train.log", "steps.jsonl"), second["logs"], strict=True):
        word = "attempt" if name == "train.log" else "step\n"
        assert user.text(name).count(word) == 1, name
        assert Path(log["rotated_to"]).read_text().count(word) == 1, name
    assert len(user.rotated()) == len(user.rotated("steps", ".jsonl")) == 1


def test_a_launch_loads_nothing_that_it_does_not_need(user):
    """What it adds to a command is bounded (tests/bench/launch.py); modules are what it costs."""
    told = user.run("--", "true", PYTHONPROFILEIMPORTTIME="1").stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines() if "|" in line}
    assert "pfid.launch.run" in loaded
    heavy = {"numpy", "rich", "psutil", "structlog", "watchdog", "pluggy", "prometheus_client"}
    ours = {"pfid.domain.snapshot", "pfid.policy.hysteresis", "pfid.spec.check"}
    assert loaded & (heavy | ours) == set()


def test_a_parent_that_ignores_sigchld_does_not_cost_the_status(user):
    """Such a parent's children would be reaped by the kernel, their status thrown away."""
    script = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-c", script, "-P", "-m", "pfid", "run", "--name", "train"),
            *("--", "sh", "-c", "sleep 0.3; exit 7"),
        ],
        cwd=user.work,
        env=user.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr


def test_restarts_come_to_an_end_with_the_last_status(user):
    done = user.run("--restart", "1", "--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    assert len(user.records()) == 2


def test_a_launcher_that_waits_to_relaunch_holds_its_name_and_lets_go_when_told(user, eventually):
    launcher = user.start_run("--restart", "9", "--", "sh", "-c", "exit 4")
    eventually(lambda: [r for r in user.records() if r["waiting"]], "the pause")
    held = user.run("--log", "other.log", "--", "true")
    refused = "about to be relaunched" in held.stderr or "already running" in held.stderr
    assert held.returncode == 125
    assert refused
    launcher.terminate()
    assert launcher.wait(20) == 4
    assert user.run("--", "true").returncode == 0


def test_a_launcher_that_has_not_noted_the_end_yet_holds_its_name(user, eventually):
    """Between the end of a run and the word that it is launched again, nobody slips in."""
    launcher = user.start_run("--restart", "9", "--", "sleep", "600")
    assert any("(name train" in line for line in launcher.stderr), "it is not launched"
    [record] = user.records()
    launcher.send_signal(signal.SIGSTOP)
    pid = record["process"]["pid"]
    eventually(lambda: read_stat(launcher.pid).state == "T", "a launcher that stands still")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: read_stat(pid).state == "Z", "a run that is over")
    held = user.run("--log", "other.log", "--", "true")
    ends = [r["end"] for r in user.records()]
    launcher.send_signal(signal.SIGCONT)
    assert ends == [None], "the fault was not delivered"
    assert (held.returncode, "about to be relaunched" in held.stderr) == (125, True)
    eventually(lambda: len(user.records()) == 2, "the next attempt")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
)
def test_signals_are_passed_on_to_the_child(user, eventually, number):
    script = (
        "import signal,sys,time\n"
        "def leave(number, _): print('got', number); sys.exit(50)\n"
        f"signal.signal({int(number)}, leave); print('ready')\n"
        "time.sleep(60)"
    )
    launcher = user.start_run("--", sys.executable, "-c", script)
    eventually(lambda: "ready" in user.text(), "ready")
    launcher.send_signal(number)
    assert launcher.wait(20) == 50
    assert user.text().endswith(f"got {int(number)}\n")


def test_a_relaunch_does_not_follow_a_signal_that_asked_for_the_end(user, eventually):
    launcher = user.start_run(
        *("--restart", "5", "--"),
        *("sh", "-c", "trap 'exit 9' TERM; echo up; sleep 60 & wait"),
    )
    eventually(lambda: "up" in user.text(), "output")
    launcher.terminate()
    assert launcher.wait(20) == 9
    assert len(user.records()) == 1


def test_a_command_that_is_not_there_touches_nothing(user):
    (user.work / "train.log").write_text("old\n")
    done = user.run("--", "no-such-command")
    assert done.returncode == 127
    assert "cannot execute 'no-such-command'" in done.stderr
    assert user.text() == "old\n"
    assert user.records() == []
    (user.work / "plain").write_text("#!/bin/sh\n")
    assert user.run("--", "./plain").returncode == 126


def test_a_command_that_fails_at_exec_is_recorded_as_never_run(user):
    (user.work / "odd").write_text("#!/no/such/interpreter\n")
    (user.work / "odd").chmod(0o755)
    done = user.run("--", "./odd")
    assert done.returncode == 127
    [record] = user.records()
    assert record["end"]["exit_code"] == 127
    assert user.run("--", "true").returncode == 0


@pytest.mark.parametrize(
    "arguments", [["--restart", "-1", "--", "true"], ["--expect-step", "0", "--", "true"], ["--"]]
)
def test_a_command_line_that_makes_no_sense_is_refused_with_125(user, arguments):
    done = user.pfid("run", *arguments)
    assert done.returncode == 125
    assert "Error" in done.stderr


def test_the_child_gets_its_run_and_none_of_what_was_meant_for_the_launcher(user):
    script = "import os;print('ENV', dict(os.environ));print('FDS', os.listdir('/proc/self/fd'))"
    launcher = user.start_run(
        *("--", sys.executable, "-c", script),
        NOTIFY_SOCKET="/n",
        LISTEN_FDS="1",
        LISTEN_PID="1",
        WATCHDOG_USEC="1",
    )
    launcher.wait(30)
    [record] = user.records()
    shown = user.text()
    env = eval(re.search(r"ENV (.*)", shown)[1])  # a dict printed by the line above
    assert env["PFID_RUN_ID"] == record["run_id"]
    assert (Path(env["PFID_RUN_DIR"]) / "steps").is_dir()
    assert env["PYTHONUNBUFFERED"] == "1"
    assert not {"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC"} & set(env)
    assert eval(re.search(r"FDS (.*)", shown)[1]) in (["0", "1", "2", "3"], ["0", "1", "3", "2"])


def test_listening_descriptors_stay_with_the_launcher_but_others_pass(user):
    """systemd hands descriptors from 3 on to one pid; here a shell that becomes pfid."""
    script = (
        "exec 3</dev/null 4</dev/null 5</dev/zero; export LISTEN_FDS=2 LISTEN_PID=$$; "
        'exec "$@" run --name train -- ls -l /proc/self/fd'
    )
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-P", "-m", "pfid"],
        cwd=user.work,
        env=user.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "5 -> /dev/zero" in user.text(), "a descriptor meant for the command"
    assert user.text().count("-> /dev/null") == 1, "its stdin, and neither 3 nor 4"


def test_the_child_leads_its_own_group_and_starts_with_no_signal_blocked_or_ignored(user):
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f5 /proc/$$/stat; echo $$"
    user.run("--", "sh", "-c", script)
    _, blocked, ignored, group, pid = user.text().splitlines()
    assert int(blocked.split()[1], 16) == 0
    assert int(ignored.split()[1], 16) == 0
    assert group == pid


@pytest.mark.parametrize("what", ["pointer", "record"])
def test_a_corrupt_record_is_said_and_does_not_block(user, what):
    user.run("--", "true")
    pattern = "names/*.json" if what == "pointer" else "runs/*/record.json"
    [file] = user.home.glob(f".local/state/pfid/*/{pattern}")
    file.write_text('{"half')
    done = user.run("--", "true")
    assert done.returncode == 0
    assert str(file) in done.stderr
    assert "it does not count" in done.stderr


def test_a_lost_pointer_does_not_let_a_second_run_in(user, eventually):
    launcher = user.start_run("--", "sleep", "30")
    eventually(lambda: list(user.home.glob(".local/state/pfid/*/names/*.json")), "a pointer")
    for file in user.home.glob(".local/state/pfid/*/names/*.json"):
        file.unlink()
    assert user.run("--log", "b.log", "--", "true").returncode == 125
    launcher.terminate()
    launcher.wait(20)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("run", "--name", os.fsdecode(b"\xff"), "--", "true"), 125),
        (("run", "--name", "a\x1b[31m", "--", "true"), 125),
        (("rotate", "a.log", "--name", os.fsdecode(b"\xff")), 2),
        (("stop", os.fsdecode(b"\xff")), 2),
    ],
)
def test_a_name_that_no_run_can_have_is_an_error_that_says_so(user, command, code):
    done = user.pfid(*command)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("printable" in done.stderr) is (command[0] != "stop")
    assert not list(user.work.iterdir())
