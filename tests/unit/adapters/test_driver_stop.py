"""A fatal error forbids a driver to whoever is started next, until it was loaded anew."""

import os

import pytest

from pfid.adapters.driver_stop import DriverStop, driver_load
from pfid.domain.errors import StateError


@pytest.fixture
def module(tmp_path):
    folder = tmp_path / "nvidia"
    folder.mkdir()
    return folder


def test_a_load_is_a_boot_and_a_module(module, tmp_path):
    first = driver_load(module, lambda: "boot-1")
    os.utime(module, (5, 5))  # sysfs makes times up whenever the kernel forgot them
    assert driver_load(module, lambda: "boot-1") == first
    another = tmp_path / "another"
    another.mkdir()
    assert driver_load(another, lambda: "boot-1") != first
    assert driver_load(module, lambda: "boot-2") != first


def test_without_a_module_or_a_boot_to_be_seen_it_is_always_the_same(tmp_path):
    def none():
        raise StateError("no /proc")

    assert driver_load(tmp_path / "none", none) == driver_load(tmp_path / "none", none)


def stop(folder, load="boot/1", **more):
    return DriverStop(own=folder, load=lambda: load, **more)


def test_it_stands_for_whoever_comes_next_and_until_the_driver_was_loaded_anew(tmp_path):
    assert not stop(tmp_path / "new").stands()
    stop(tmp_path / "new").set()
    assert stop(tmp_path / "new").stands()
    assert not stop(tmp_path / "new", load="boot/2").stands()
    assert not stop(tmp_path / "new", name="rocm").stands(), "another vendor's driver"


def test_a_user_heeds_what_the_boxs_daemon_wrote(tmp_path):
    stop(tmp_path / "daemon").set()
    assert stop(tmp_path / "user", others=(tmp_path / "daemon",)).stands()
    assert not stop(tmp_path / "user").stands()


def test_an_operator_ends_it(tmp_path):
    one = stop(tmp_path)
    one.set()
    one.clear()
    assert not one.stands()
    assert not stop(tmp_path).stands()


def test_what_one_command_of_a_user_ends_is_over_for_the_users_engines_too(tmp_path):
    engine = stop(tmp_path)
    engine.set()
    stop(tmp_path).clear()
    assert not engine.stands()


def test_it_holds_in_this_process_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (None, tmp_path / "file" / "below"):
        one = stop(folder)
        one.set()
        assert one.stands()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"load": 5}', b"\xff"])
def test_a_broken_file_stops_nobody_and_breaks_nothing(tmp_path, body):
    (tmp_path / "driver-stop-nvml.json").write_bytes(body)
    assert not stop(tmp_path).stands()
    stop(tmp_path).set()
    assert stop(tmp_path).stands()
