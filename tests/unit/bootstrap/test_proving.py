"""Proofs and reloads are made beside the loop, one at a time; each who asked is told of his own."""

import queue
import threading
from types import SimpleNamespace

import pytest

from pfid.bootstrap.proving import Prepared, Proving
from pfid.config.model import Config
from pfid.daemon.hooks import Came
from pfid.daemon.messages import Proven
from pfid.domain.errors import ConfigError


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
    files, entered = [], []

    def prepare():
        """Read the next file; what it holds is a configuration, or what is wrong with it."""
        found = files.pop(0)
        if isinstance(found, Exception):
            raise found

        def enter():
            entered.append(found)
            core.config = found

        return Prepared(config=found, enter=enter)

    proving = Proving(gates, core, inbox.put, prepare)
    yield SimpleNamespace(
        gates=gates, core=core, inbox=inbox, proving=proving, files=files, entered=entered
    )
    gates.go.set()
    proving.close()


def taken(bench):
    """The message has come; what the loop takes then."""
    assert bench.inbox.get(timeout=30) == Proven()
    return bench.proving.take()


def came(bench):
    """Likewise, of a proof that is no reload."""
    what = taken(bench)
    assert not what.reload
    return what.asked, what.problem


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


def test_a_reload_returns_at_once_and_the_old_configuration_stays_until_it_is_taken(bench):
    before, new = bench.core.config, Config()
    bench.files.append(new)
    bench.proving.reload(7)
    assert bench.core.config is before
    bench.gates.go.set()
    assert bench.inbox.get(timeout=30) == Proven()
    assert bench.core.config is before, "made, and not taken yet"
    assert bench.proving.take() == Came(asked=(7,), reload=True)
    assert bench.core.config is new
    assert bench.gates.taken == [(new, False)], "checks and configuration change together"


def test_a_reload_while_a_proof_is_made_comes_after_it_and_both_are_told(bench):
    new = Config()
    bench.files.append(new)
    bench.proving.ask(7)
    bench.proving.reload(8)
    bench.gates.go.set()
    assert taken(bench) == Came(asked=(7,), another=True)
    assert bench.entered == []
    assert taken(bench) == Came(asked=(8,), reload=True)
    assert bench.entered == [new]


def test_a_proof_asked_for_while_a_reload_is_made_is_made_under_the_new_configuration(bench):
    new = Config()
    bench.files.append(new)
    bench.proving.reload(8)
    bench.proving.ask(7)
    bench.gates.go.set()
    assert taken(bench) == Came(asked=(8,), reload=True)
    assert taken(bench) == Came(asked=(7,))
    assert bench.gates.proved == [(new, False), (new, True)]


def test_reloads_asked_for_meanwhile_share_the_next_one_which_reads_the_file_anew(bench):
    first, second = Config(), Config()
    bench.files += [first, second]
    bench.proving.reload(1)
    for conn in (2, None, 3):
        bench.proving.reload(conn)
    bench.gates.go.set()
    assert taken(bench) == Came(asked=(1,), reload=True, another=True)
    assert taken(bench) == Came(asked=(2, 3), reload=True)
    assert bench.entered == [first, second]
    assert bench.inbox.empty()


def test_a_bad_configuration_is_refused_whole_and_the_next_one_is_read(bench):
    before, new = bench.core.config, Config()
    bench.files += [ConfigError(["page.listen[0]: is no address", "x: is no key"]), new]
    bench.gates.go.set()
    bench.proving.reload(7)
    refused = taken(bench)
    assert (refused.asked, refused.reload) == ((7,), True)
    assert refused.problem.startswith("page.listen[0]: is no address")
    assert "x: is no key" in refused.problem
    assert (bench.core.config, bench.gates.taken) == (before, [])
    bench.proving.reload(8)
    assert taken(bench) == Came(asked=(8,), reload=True)
    assert bench.core.config is new


def test_a_bad_one_after_a_good_one_is_refused_and_the_good_one_stays(bench):
    good = Config()
    bench.files += [good, ConfigError(["x: is no key"])]
    bench.proving.reload(1)
    bench.proving.reload(2)
    bench.gates.go.set()
    assert taken(bench) == Came(asked=(1,), reload=True, another=True)
    assert taken(bench).asked == (2,)
    assert bench.core.config is good


def test_checks_that_cannot_be_tried_leave_the_old_configuration_in_force(bench):
    before = bench.core.config
    bench.files.append(Config())
    bench.gates.error = RuntimeError("no such thing")
    bench.gates.go.set()
    bench.proving.reload(7)
    assert taken(bench) == Came(asked=(7,), reload=True, problem="RuntimeError: no such thing")
    assert (bench.core.config, bench.entered) == (before, [])


def test_what_is_due_while_a_reload_is_made_waits_for_its_turn(bench):
    bench.files.append(Config())
    bench.gates.is_due = True
    bench.proving.reload()
    bench.proving.ask()
    bench.gates.go.set()
    assert taken(bench) == Came(reload=True)
    assert len(bench.gates.proved) == 1


def test_a_shutdown_in_the_middle_of_a_reload_ends_it_and_begins_no_other(bench):
    bench.files += [Config(), Config()]
    bench.proving.reload(1)
    bench.proving.reload(2)
    closing = threading.Thread(target=bench.proving.close)
    closing.start()
    bench.gates.go.set()
    closing.join(30)
    assert not closing.is_alive()
    assert bench.entered == []
    assert len(bench.files) == 1, "the second was never read"
