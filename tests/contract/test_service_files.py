"""The installed service on a real file system, and what the wheel brings for it."""

import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.adapters import service_files
from pfid.adapters.service_files import ServiceError, carry_out, found, running_interpreter, shipped
from pfid.cli.entry import main
from pfid.policy.service_facts import Interpreter, Machine, Running, Wish
from pfid.policy.service_plan import (
    PLACES,
    FileState,
    Placed,
    Plan,
    plan_install,
    plan_uninstall,
)

PYTHON = Interpreter(executable="/opt/pfid/bin/python", reads=("/opt/pfid",))
UNIT = PLACES["pfid.service"]
WHOLE = Machine(running=Running(), prepared=True)


def files_only(plan):
    """The plan without its commands, which are the running system's."""
    return Plan(write=plan.write, remove=plan.remove)


def test_what_ships_is_what_stands_in_the_checkout(checkout):
    assert shipped() == {name: (checkout / "systemd" / name).read_text() for name in PLACES}


def test_the_wheel_brings_the_unit_files(checkout):
    wheel = os.environ.get("PFID_TEST_WHEEL")
    if not wheel:
        assert Path(service_files.pfid.__file__).parents[1] == checkout
        return
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"pfid/systemd/{name}" for name in PLACES} <= set(names)


def test_files_are_placed_for_all_to_read_and_taken_away_again(tmp_path):
    plan = plan_install(shipped(), PYTHON, found(tmp_path), Wish(io=True), WHOLE)
    mask = os.umask(0o077)
    try:
        carry_out(files_only(plan), tmp_path)
    finally:
        os.umask(mask)
    for path in PLACES.values():
        placed = tmp_path / path.lstrip("/")
        assert stat.S_IMODE(placed.stat().st_mode) == 0o644
    assert plan_install(shipped(), PYTHON, found(tmp_path), Wish(io=True), WHOLE).nothing
    assert not list(tmp_path.rglob(".*.new"))

    carry_out(files_only(plan_uninstall(shipped(), PYTHON, found(tmp_path), "", WHOLE)), tmp_path)
    assert set(found(tmp_path).values()) == {None}
    assert not (tmp_path / "etc/systemd/system/pfid.service.d").exists()


def test_a_folder_with_somebodys_own_drop_in_stays(tmp_path):
    plan = plan_install(shipped(), PYTHON, found(tmp_path), Wish(io=True), WHOLE)
    carry_out(files_only(plan), tmp_path)
    own = tmp_path / "etc/systemd/system/pfid.service.d/override.conf"
    own.write_text("[Service]\n")
    carry_out(files_only(plan_uninstall(shipped(), PYTHON, found(tmp_path), "", WHOLE)), tmp_path)
    assert own.exists()


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path):
    unit = tmp_path / UNIT.lstrip("/")
    unit.parent.mkdir(parents=True)
    unit.write_text("old")
    unit.with_name(f".{unit.name}.new").mkdir()
    plan = Plan(write=(Placed(path=UNIT, state=FileState.OUTDATED, text="new"),))
    with pytest.raises(ServiceError, match=r"cannot write .*pfid\.service"):
        carry_out(plan, tmp_path)
    assert unit.read_text() == "old"


def test_a_command_that_fails_is_named_with_what_it_said(tmp_path):
    plan = Plan(after=(("sh", "-c", "echo because >&2; exit 5"),))
    with pytest.raises(ServiceError, match="failed with 5: because"):
        carry_out(plan, tmp_path)
    with pytest.raises(ServiceError, match="cannot be run"):
        carry_out(Plan(before=(("no-such-program",),)), tmp_path)


def test_the_interpreter_is_the_environments_and_not_what_it_links_to():
    interpreter = running_interpreter()
    assert interpreter.executable == sys.executable
    assert str(Path(sys.executable).resolve()) in interpreter.reads
    assert sys.base_prefix in interpreter.reads


def test_a_folder_that_others_may_not_enter_is_found(tmp_path):
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o700)
    (closed,) = service_files._closed([shut / "venv" / "python"])
    assert closed == shut or closed in shut.parents
    assert not closed.stat().st_mode & stat.S_IXOTH
    assert not list(service_files._closed([Path("/usr/bin/env")]))


def test_asking_shows_and_does_not_do(tmp_path, monkeypatch):
    monkeypatch.setattr(service_files, "running_interpreter", lambda: PYTHON)
    done = CliRunner().invoke(main, ["service", "install", "--root", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (0, "nothing was done; --apply does it\n")
    assert f"write {UNIT}" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.full
@pytest.mark.root
@pytest.mark.needs("systemd-sysusers", "systemd-tmpfiles")
def test_an_image_gets_files_user_folders_and_an_enabled_unit(tmp_path, monkeypatch):
    monkeypatch.setattr(service_files, "running_interpreter", lambda: PYTHON)
    (tmp_path / "etc").mkdir()
    command = ["service", "install", "--apply", "--now", "--root", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stderr) == (0, "done\n"), done.stderr
    assert "pfid:" in (tmp_path / "etc/passwd").read_text()
    assert (tmp_path / "etc/pfid/plugins").is_dir()
    assert (tmp_path / "etc/systemd/system/multi-user.target.wants/pfid.service").is_symlink()
    assert "nothing to do" not in done.stdout


def test_something_in_the_way_exits_2_and_does_nothing(tmp_path, monkeypatch):
    hidden = Interpreter(executable="/home/me/bin/python", reads=())
    monkeypatch.setattr(service_files, "running_interpreter", lambda: hidden)
    command = ["service", "install", "--apply", "--root", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "ProtectHome" in done.stderr
    assert not list(tmp_path.iterdir())
    assert f"write {UNIT}" not in done.stdout
    shown = CliRunner().invoke(main, [*command[:2], *command[3:]])
    assert (shown.exit_code, "ProtectHome" in shown.stderr) == (2, True)
    assert f"write {UNIT}" in shown.stdout, "what would be done is to be seen before it can be"
    assert not list(tmp_path.iterdir())
