"""Where things lie follows from the environment alone."""

from pathlib import Path

import pytest

from pfid.config import paths
from pfid.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "/run/pfid/control.sock"),
        ({"PFID_SOCKET": "/tmp/s"}, "/tmp/s"),
        ({"PFID_SOCKET": ""}, "/run/pfid/control.sock"),
        ({"RUNTIME_DIRECTORY": "/run/other"}, "/run/pfid/control.sock"),
    ],
)
def test_a_client_looks_where_it_is_told_and_never_into_another_units_folder(environ, expected):
    assert paths.daemon_socket(environ) == Path(expected)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "/run/pfid/control.sock"),
        ({"RUNTIME_DIRECTORY": "/run/a:/run/b"}, "/run/a/control.sock"),
        ({"RUNTIME_DIRECTORY": "/run/a", "PFID_SOCKET": "/tmp/s"}, "/tmp/s"),
    ],
)
def test_the_daemon_binds_in_systemds_folder_unless_told(environ, expected):
    assert paths.daemon_bind_socket(environ) == Path(expected)


def test_state_lies_below_the_machine_because_homes_are_shared():
    environ = {"HOME": "/home/u"}
    assert paths.user_state_dir(environ, "m1") == Path("/home/u/.local/state/pfid/m1")
    assert paths.run_dir(environ, "m1", "r") != paths.run_dir(environ, "m2", "r")


def test_a_relative_state_home_is_ignored_as_the_xdg_rules_say():
    environ = {"HOME": "/home/u", "XDG_STATE_HOME": "here"}
    assert paths.user_state_dir(environ, "m") == Path("/home/u/.local/state/pfid/m")


def test_no_home_at_all_is_an_error_that_names_the_variables():
    with pytest.raises(ConfigError, match="HOME nor XDG_STATE_HOME"):
        paths.user_state_dir({"HOME": "relative"}, "m")


def test_a_runs_files_lie_in_its_folder():
    folder = Path("/s/runs/r")
    assert paths.record_file(folder).parent == folder
    assert paths.steps_dir(folder).parent == folder
    assert paths.engine_socket(folder).parent == paths.engine_dir(folder)


def test_the_daemons_state_is_where_systemd_says():
    assert paths.daemon_state_dir({"STATE_DIRECTORY": "/x:/y"}) == Path("/x")
    assert paths.daemon_state_dir({}) == Path("/var/lib/pfid")


@pytest.mark.parametrize(
    ("environ", "embedded", "expected"),
    [
        ({"HOME": "/home/u"}, False, "/etc/pfid/pfid.toml"),
        ({"HOME": "/home/u"}, True, "/home/u/.config/pfid/pfid.toml"),
        ({"HOME": "/home/u", "XDG_CONFIG_HOME": "/c"}, True, "/c/pfid/pfid.toml"),
        ({"HOME": "/home/u", "PFID_CONFIG": "/x.toml"}, True, "/x.toml"),
        ({"PFID_CONFIG": "/x.toml"}, False, "/x.toml"),
    ],
)
def test_an_embedded_engine_never_reads_the_boxs_configuration(environ, embedded, expected):
    assert paths.config_file(environ, embedded=embedded) == Path(expected)


def test_without_a_home_there_is_no_place_for_a_users_configuration():
    assert paths.config_file({}, embedded=True) is None
