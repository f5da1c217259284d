"""The reader rests while its owner stands still: whatever is due then cannot be told."""

import socket

import pytest

from pfid.workers.channel import Channel
from pfid.workers.log_reader import LogReader
from pfid.workers.touch_cell import TouchCell


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_with_an_owner_that_takes_nothing_it_waits_for_its_next_beat(ends):
    channel = Channel(ends[0])
    cell = TouchCell.create()
    reader = LogReader(channel, cell)
    while not channel.pending_bytes:
        channel.send(b"x" * 65_536)
    told = channel.pending_bytes
    reader._beat()
    assert channel.pending_bytes == told, "a beat that cannot go out only fills memory"
    assert reader._wait_s() > 0
    cell.close()
