"""A rename or an unlink shows on our own descriptor, and no name leaves."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfid.workers.link_name import CHECK_EVERY_S, LinkName


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    path = tmp_path / "secret-name.log"
    path.write_text("x\n")
    fd = os.open(path, os.O_RDONLY)
    yield path, fd
    os.close(fd)


def test_a_rename_is_seen_and_its_undoing_too(log):
    path, fd = log
    link = LinkName(fd)
    assert not link.look(10.0, unlinked=False)
    path.rename(path.with_name("rotated.log"))
    assert link.look(20.0, unlinked=False)
    assert link.moved
    path.with_name("rotated.log").rename(path)
    assert link.look(30.0, unlinked=False)
    assert not link.moved


def test_the_link_is_read_every_few_seconds_only(log):
    path, fd = log
    link = LinkName(fd)
    link.look(10.0, unlinked=False)
    path.rename(path.with_name("rotated.log"))
    assert not link.look(10.0 + CHECK_EVERY_S / 2, unlinked=False)


def test_an_unlinked_file_is_seen_at_once(log):
    link = LinkName(log[1])
    assert link.look(0.1, unlinked=True)
    assert link.moved


def test_a_move_while_no_reader_lived_is_seen_by_the_next(log):
    path, fd = log
    state = LinkName(fd).state()
    path.rename(path.with_name("rotated.log"))
    link = LinkName(fd, state)
    link.look(10.0, unlinked=False)
    assert link.moved


def test_a_state_of_another_mount_namespace_is_passed_over(log):
    link = LinkName(log[1], [1, 12345])
    link.look(10.0, unlinked=False)
    assert not link.moved


def test_the_state_does_not_hold_the_name(log):
    assert "secret" not in repr(LinkName(log[1]).state())
