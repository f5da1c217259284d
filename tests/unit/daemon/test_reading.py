"""The daemon's side of the log reader: what it orders, and when."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pfid.daemon.core import Core
from pfid.daemon.judging import Judging
from pfid.daemon.messages import ReaderTold
from pfid.daemon.ports import Ports
from pfid.daemon.reading import Reading
from pfid.domain.log_facts import LogFacts
from pfid.wire.reader import Batch, Beat, Configure, Order, Took

BATCH = Batch(stream=7, offset=10, events=(), facts=LogFacts())


class Clock:
    def now_s(self) -> float:
        return 1000.0

    def monotonic_s(self) -> float:
        return 10.0


class Reader:
    def __init__(self) -> None:
        self.orders: list[Order] = []

    def order(self, order: Order, fds: Sequence[int], generation: int) -> bool:
        assert generation == 3
        assert not fds
        self.orders.append(order)
        return True


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def reading(reader: Reader) -> Reading:
    outside: Any = SimpleNamespace(clock=Clock(), reader=reader)
    core = Core(
        ports=cast("Ports", outside), post=lambda _message: None, machine_id="m", boot_id="b"
    )
    reading = Reading(core, cast("Judging", None))
    reading.started(3)
    return reading


def test_a_fresh_reader_is_told_how_many_batches_the_inbox_takes(
    reading: Reading, reader: Reader
) -> None:
    (order,) = reader.orders
    assert isinstance(order, Configure)
    assert 0 < order.batches_max <= 16


def test_every_batch_is_answered_also_that_of_a_run_that_is_gone(
    reading: Reading, reader: Reader
) -> None:
    reading.told(ReaderTold(generation=3, report=BATCH))
    reading.told(ReaderTold(generation=3, report=BATCH))
    assert reader.orders[1:] == [Took(), Took()]


def test_a_beat_and_a_batch_of_an_earlier_reader_are_not_answered(
    reading: Reading, reader: Reader
) -> None:
    reading.told(ReaderTold(generation=3, report=Beat(streams=0)))
    reading.told(ReaderTold(generation=2, report=BATCH))
    assert len(reader.orders) == 1
