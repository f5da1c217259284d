"""Proofs are made beside the loop, one at a time; whoever asked is told when his is there."""

import queue
import threading
from types import SimpleNamespace

import pytest

from pfid.bootstrap.proving import Proving
from pfid.config.model import Config
from pfid.daemon.messages import Proven


class SlowGates:
    """Gates whose proof takes until it is let go."""

    def __init__(self) -> None:
        self.go, self.is_due = threading.Event(), False
        self.proved, self.taken, self.error = [], [], None

    def due(self, _core):
        return self.is_due

    def prove(self, config, *, afresh):
        assert self.go.wait(30)
        if self.error is not None:
            raise self.error
        self.proved.append((config, afresh))
        return (config, afresh)

    def take(self, _core, checks):
        self.taken.append(checks)


@pytest.fixture
def bench():
    gates, inbox = SlowGates(), queue.SimpleQueue()
    core = SimpleNamespace(config=Config())
    proving = Proving(gates, core, inbox.put)
    yield SimpleNamespace(gates=gates, core=core, inbox=inbox, proving=proving)
    gates.go.set()
    proving.close()


def came(bench):
    """The message has come; what the loop takes then."""
    assert bench.inbox.get(timeout=30) == Proven()
    return bench.proving.take()


def test_asking_returns_before_anything_is_proven(bench):
    bench.proving.ask(7)
    assert (bench.gates.proved, bench.gates.taken) == ([], [])
    bench.gates.go.set()
    assert came(bench) == ((7,), "")
    assert bench.gates.taken == [(bench.core.config, True)]


def test_whoever_asks_meanwhile_gets_the_next_proof(bench):
    for conn in (7, 8, 9):
        bench.proving.ask(conn)
    bench.gates.go.set()
    assert came(bench) == ((7,), "")
    assert came(bench) == ((8, 9), "")
    assert len(bench.gates.proved) == 2


def test_what_is_not_due_is_only_looked_at_and_what_is_due_may_be_recalled(bench):
    bench.gates.go.set()
    bench.proving.ask()
    assert bench.gates.taken == [None]
    bench.gates.is_due = True
    bench.proving.ask()
    assert came(bench) == ((), "")
    assert bench.gates.proved == [(bench.core.config, False)]


def test_a_proof_under_a_configuration_that_was_replaced_is_made_again(bench):
    bench.proving.ask(7)
    bench.core.config = Config()
    bench.gates.go.set()
    assert came(bench) == ((), "")
    assert bench.gates.taken == []
    assert came(bench) == ((7,), "")
    assert bench.gates.taken[0][0] is bench.core.config


def test_a_proof_that_cannot_be_made_is_said_and_the_standing_ones_stay(bench):
    bench.gates.error = RuntimeError("no such thing")
    bench.gates.go.set()
    bench.proving.ask(7)
    assert came(bench) == ((7,), "RuntimeError: no such thing")
    assert bench.gates.taken == []
    bench.gates.error = None
    bench.proving.ask(8)
    assert came(bench) == ((8,), "")
