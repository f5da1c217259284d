"""Installing twice is installing once, nobody's file is overwritten, a blind unit is refused."""

import shlex

import pytest

from pfid.policy.service_facts import Interpreter, Machine, Running, Wish
from pfid.policy.service_plan import (
    MARK,
    PLACES,
    FileState,
    exec_start,
    plan_install,
    plan_uninstall,
    texts,
)

SHIPPED = {
    "pfid.service": "[Service]\nExecStart=/usr/bin/python3 -P -m pfid daemon\nUser=pfid\n",
    "pfid.sysusers": "u pfid\n",
    "pfid.tmpfiles": "d /etc/pfid\n",
    "pfid-io.conf": "[Service]\n",
}
PYTHON = Interpreter(executable="/opt/pfid/bin/python", reads=("/opt/pfid", "/usr"))
NOTHING = dict.fromkeys(PLACES.values())
UNIT = PLACES["pfid.service"]
DROP_IN = PLACES["pfid-io.conf"]


def machine(running=Running(), **facts):  # noqa: B008 - it is frozen
    """A machine on which nothing but the files is missing."""
    return Machine(**{"running": running, "prepared": True, "version": "2.0", **facts})


def install(found, *, interpreter=PYTHON, on=None, **wish):
    return plan_install(SHIPPED, interpreter, found, Wish(**wish), on or machine())


def uninstall(found, on=None):
    return plan_uninstall(SHIPPED, PYTHON, found, "", on or machine())


def after(found, plan):
    """What stands on disk once a plan was carried out."""
    written = {file.path: file.text for file in plan.write}
    return {
        path: None if path in plan.remove else written.get(path, text)
        for path, text in found.items()
    }


def test_the_unit_calls_the_interpreter_it_is_installed_from_and_is_else_as_shipped():
    text = texts(SHIPPED, PYTHON)[UNIT]
    assert text.startswith(MARK)
    assert "\nExecStart=/opt/pfid/bin/python -P -m pfid daemon\n" in text
    rest = text.removeprefix(MARK).replace("/opt/pfid/bin/python", "/usr/bin/python3")
    assert rest == SHIPPED["pfid.service"]


@pytest.mark.parametrize(
    ("executable", "said"),
    [
        ("/opt/py thon", '"/opt/py thon"'),
        ("/opt/50%/py", '"/opt/50%%/py"'),
        ("/opt/$HOME/py", '":/opt/$HOME/py"'),
        ("/opt/a;b/py", '"/opt/a;b/py"'),
        ("/opt/pfid/bin/python3.11", "/opt/pfid/bin/python3.11"),
    ],
)
def test_what_systemd_would_expand_in_a_path_is_escaped(executable, said):
    line = exec_start(executable)
    assert line == f"{said} -P -m pfid daemon"
    expanded = shlex.split(line)[0].removeprefix(":").replace("%%", "%")
    assert expanded == executable


def test_the_first_time_everything_but_the_drop_in_is_placed_and_the_system_told():
    plan = install(NOTHING)
    assert {file.path for file in plan.write} == set(PLACES.values()) - {DROP_IN}
    assert [command[0] for command in plan.after] == [
        "systemd-sysusers",
        "systemd-tmpfiles",
        "systemctl",
    ]
    assert {file.state for file in plan.files} == {FileState.ABSENT}


@pytest.mark.parametrize("io", [False, True])
def test_the_second_time_there_is_nothing_to_do(io):
    first = install(NOTHING, io=io)
    again = install(after(NOTHING, first), io=io)
    assert not first.nothing
    assert again.nothing


def test_a_new_interpreter_is_put_in_its_place():
    placed = after(NOTHING, install(NOTHING))
    moved = Interpreter(executable="/opt/new/bin/python", reads=("/opt/new",))
    (file,) = install(placed, interpreter=moved).write
    assert (file.path, file.state) == (UNIT, FileState.OUTDATED)
    assert "ExecStart=/opt/new/bin/python " in str(file.text)


def test_a_placed_drop_in_is_kept_up_to_date_without_being_asked_for():
    old = {**NOTHING, DROP_IN: MARK + "[Service]\n# older\n"}
    assert DROP_IN in {file.path for file in install(old).write}


def test_somebody_elses_file_stops_everything():
    plan = install({**NOTHING, UNIT: "[Service]\nExecStart=/bin/true\n"})
    (problem,) = plan.problems
    assert UNIT in problem
    assert plan.nothing


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("/home/me/venv", "ProtectHome"),
        ("/root/.pyenv", "ProtectHome"),
        ("/run/user/1000/x", "ProtectHome"),
        ("/tmp/venv", "PrivateTmp"),
        ("/var/tmp/venv", "PrivateTmp"),
    ],
)
def test_a_python_the_unit_does_not_see_is_refused_by_name(place, line):
    hidden = Interpreter(executable="/opt/pfid/bin/python", reads=(place,))
    plan = install(NOTHING, interpreter=hidden)
    (problem,) = plan.problems
    assert place in problem
    assert line in problem
    assert plan.nothing


def test_what_is_in_the_way_does_not_hide_what_would_be_done():
    hidden = Interpreter(executable="/opt/pfid/bin/python", reads=("/tmp/venv",))
    plan = install(NOTHING, interpreter=hidden)
    free = install(NOTHING)
    assert free.instead is None
    assert [f.path for f in plan.instead.write] == [f.path for f in free.write]
    assert plan.instead.after == free.after
    assert plan.nothing


def test_a_place_that_only_begins_like_a_hidden_one_is_fine():
    fine = Interpreter(executable="/homes/pfid/python", reads=("/tmpfs/x", "/rooted"))
    assert not install(NOTHING, interpreter=fine).problems


def test_a_folder_that_others_may_not_enter_is_named_unless_it_is_hidden_anyway():
    shut = Interpreter(executable="/opt/p/python", reads=("/opt/p",), closed=("/opt/p", "/root"))
    (problem,) = install(NOTHING, interpreter=shut).problems
    assert "/opt/p;" in problem


def test_now_enables_and_starts_and_starts_again_only_what_changed():
    first = install(NOTHING, now=True)
    stopped = install(after(NOTHING, first), now=True)
    whole = machine(Running(enabled=True, active=True, version="2.0"))
    again = install(after(NOTHING, first), now=True, on=whole)
    assert first.after[-2:] == (
        ("systemctl", "enable", "pfid.service"),
        ("systemctl", "start", "pfid.service"),
    )
    assert stopped.after == first.after[-2:]
    assert again.nothing


def test_in_an_image_nothing_is_started_or_reloaded():
    plan = install(NOTHING, now=True, root="/image")
    assert all("--root=/image" in command for command in plan.after)
    assert ("systemctl", "--root=/image", "enable", "pfid.service") in plan.after
    assert not [c for c in plan.after if {"start", "restart", "daemon-reload"} & set(c)]


def test_uninstalling_stops_first_and_removes_what_was_placed_and_nothing_else():
    placed = after(NOTHING, install(NOTHING, io=True))
    plan = uninstall({**placed, DROP_IN: "somebody's own"})
    assert plan.before == (("systemctl", "disable", "--now", "pfid.service"),)
    assert set(plan.remove) == set(PLACES.values()) - {DROP_IN}
    assert plan.after == (("systemctl", "daemon-reload"),)


def test_uninstalling_from_a_box_without_it_is_nothing_to_do():
    assert uninstall(NOTHING).nothing


def test_without_systemd_nothing_is_installed_and_old_files_can_still_be_removed():
    bare = machine(running=None)
    (problem,) = install(NOTHING, on=bare, now=True).problems
    assert "no systemd answers here" in problem
    assert install(NOTHING, on=bare, root="/image").write
    plan = uninstall(after(NOTHING, install(NOTHING)), on=bare)
    assert (plan.before, plan.after) == ((), ())
    assert UNIT in plan.remove


def test_what_an_earlier_attempt_left_undone_is_done():
    """Its files stood, then it failed: at the user, or before systemd had read them."""
    placed = after(NOTHING, install(NOTHING))
    unread = install(placed, on=machine(Running(needs_reload=True), prepared=False))
    assert unread.write == ()
    assert [command[0] for command in unread.after] == [
        "systemd-sysusers",
        "systemd-tmpfiles",
        "systemctl",
    ]


def test_a_daemon_of_another_version_is_started_again_and_said():
    placed = after(NOTHING, install(NOTHING))
    restart = ("systemctl", "restart", "pfid.service")
    for old in ("1.0", ""):
        on = machine(Running(enabled=True, active=True, version=old))
        assert install(placed, on=on, now=True).after == (restart,)
        plan = install(placed, on=on)
        assert plan.nothing
        (said,) = plan.notes
        assert f"runs {old or 'an older version'}, this is 2.0" in said
    for version in ("2.0", None):
        on = machine(Running(enabled=True, active=True, version=version))
        assert install(placed, on=on, now=True).nothing
        assert install(placed, on=on).notes == ()


def test_files_that_changed_under_a_running_daemon_are_said_or_taken():
    on = machine(Running(enabled=True, active=True, version="2.0"))
    (said,) = install(NOTHING, on=on).notes
    assert "runs with the files as they were" in said
    assert install(NOTHING, on=on, now=True).after[-1] == ("systemctl", "restart", "pfid.service")


def test_what_uninstalling_leaves_is_said_with_how_to_remove_it():
    on = machine(left=("/var/lib/pfid", "/etc/pfid"), user=True)
    state, configuration, user = uninstall(after(NOTHING, install(NOTHING)), on=on).notes
    assert "rm -r /var/lib/pfid" in state
    assert "the configuration" in configuration
    assert "userdel pfid" in user
    assert uninstall(NOTHING).notes == ()


@pytest.mark.parametrize("odd", ["two\nlines", 'a"b', "a'b", "a\\b", "\x7f"])
def test_a_path_that_systemd_starts_nothing_at_is_refused(odd):
    python = Interpreter(executable=f"/opt/{odd}/python", reads=())
    (problem,) = install(NOTHING, interpreter=python).problems
    assert "systemd starts nothing at" in problem
    assert "\n" not in problem
