"""The state file against real sqlite and a real disk."""

import queue
import shutil
import sqlite3
import threading

import pytest

from pfid.adapters import store_queries
from pfid.adapters.store import Store, StoreEvents
from pfid.adapters.store_file import StateFile, open_state
from pfid.domain.errors import StateError
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.transition import Transition
from pfid.domain.verdict import BOX, Verdict
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.stored import PutEvent, PutRun, PutSettling, RunBody, pack


class Told:
    """What the store has said."""

    def __init__(self) -> None:
        self.all: queue.Queue[tuple[str, object]] = queue.Queue()
        self.events = StoreEvents(
            committed=lambda n: self.all.put(("committed", n)),
            trouble=lambda t: self.all.put(("trouble", t)),
            reset=lambda t: self.all.put(("reset", t)),
        )

    def next(self) -> tuple[str, object]:
        return self.all.get(timeout=20)


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def file(tmp_path):
    return StateFile(path=tmp_path / "pfid.sqlite")


def run_row(body: bytes | None = None) -> PutRun:
    made = RunBody(run=CONTROL_RUN, state=RunState.RUNNING)
    return PutRun(
        run_id=CONTROL_RUN.run_id,
        name=CONTROL_RUN.name,
        fingerprint="f",
        uid=1,
        synthetic=False,
        started_at_s=1.0,
        ended_at_s=None,
        body=pack(made) if body is None else body,
    )


def event_row(event_id: int) -> PutEvent:
    verdict = Verdict(outcome=Outcome.FAIL, reason="r", summary="s", entity=BOX)
    transition = Transition(check="c", entity=BOX, before=None, verdict=verdict, at_s=1.0)
    return PutEvent(
        event_id=event_id, subject="box", uid=None, synthetic=False, at_s=1.0, body=pack(transition)
    )


def test_what_was_acknowledged_is_there_after_the_process_is_gone(file, told):
    store = Store(file, told.events)
    store.start()
    number = store.submit([run_row(), event_row(1), PutSettling(check="c", body=b"x")])
    assert told.next() == ("committed", number)
    other, _ = open_state(file)  # as a successor finds it, before anything is closed
    found = store_queries.restored(other, ended_after_s=0.0, events_max=10)
    other.close()
    assert [r.body.run for r in found.runs] == [CONTROL_RUN]
    assert (found.last_event_id, found.box) == (1, {"c": b"x"})
    assert store.close()


def test_an_event_is_written_once_however_often_it_comes(file, told):
    store = Store(file, told.events)
    store.start()
    store.submit([event_row(7)])
    number = store.submit([event_row(7)])
    while told.next() != ("committed", number):
        pass
    answer: queue.Queue[object] = queue.Queue()
    store.ask(lambda db: db.execute("SELECT count(*) FROM events").fetchone(), answer.put)
    assert answer.get(timeout=20) == (1,)
    store.close()


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_there(file, told):
    store = Store(file, told.events)
    store.start()
    number = store.submit([run_row(), run_row_named("bad", b"\xc1")])
    while told.next() != ("committed", number):
        pass
    store.close()
    again = Store(file, told.events)
    found = again.restored(ended_after_s=0.0, events_max=10)
    assert [r.body.run.run_id for r in found.runs] == [CONTROL_RUN.run_id]
    assert len(found.problems) == 1
    assert "bad" in found.problems[0]
    again.close()


def run_row_named(run_id: str, body: bytes) -> PutRun:
    row = run_row(body)
    return PutRun(**{f: getattr(row, f) for f in row.__struct_fields__} | {"run_id": run_id})


def test_a_file_of_a_newer_pfid_is_left_alone(file, told):
    db = sqlite3.connect(file.path)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StateError, match="newer"):
        Store(file, told.events)


def test_a_second_owner_is_refused_until_the_first_is_gone(file, told):
    first = Store(file, told.events)
    with pytest.raises(StateError, match="another pfid"):
        Store(file, told.events)
    first.close()
    Store(file, told.events).close()


@pytest.mark.parametrize("local", [True, False])
def test_a_file_on_a_network_needs_no_shared_memory(tmp_path, told, local):
    store = Store(StateFile(path=tmp_path / "s.sqlite", local=local), told.events)
    store.start()
    number = store.submit([event_row(1)])
    assert told.next() == ("committed", number)
    assert (tmp_path / "s.sqlite-shm").exists() is local
    store.close()


def test_a_file_that_turns_corrupt_while_running_is_moved_aside_and_begun_anew(file, told):
    store = Store(file, told.events)
    store.start()
    number = store.submit([run_row()])
    assert told.next() == ("committed", number)
    done: queue.Queue[object] = queue.Queue()
    store.ask(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall(), done.put)
    done.get(timeout=20)
    size = file.path.stat().st_size
    with file.path.open("r+b") as damaged:
        damaged.seek(100)
        damaged.write(b"\xff" * (size - 100))
    store.ask(lambda db: db.execute("PRAGMA shrink_memory").fetchall(), done.put)
    done.get(timeout=20)
    told_first = None
    for event_id in range(2, 50):
        store.submit([event_row(event_id), run_row()])
        told_first = told.next()
        if told_first[0] == "reset":
            break
    assert told_first is not None
    assert told_first[0] == "reset"
    assert list(file.path.parent.glob("*.corrupt-*"))
    number = store.submit([run_row()])
    while told.next() != ("committed", number):
        pass
    store.close()


def test_a_question_that_fails_is_answered_and_what_comes_after_it_is_written(
    file, told, monkeypatch
):
    """One user's number of seventy bits must not end the writing for everybody."""
    said = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    store = Store(file, told.events)
    store.start()
    answer: queue.Queue[object] = queue.Queue()
    store.ask(lambda db: db.execute("SELECT ?", (2**70,)).fetchone(), answer.put)
    assert answer.get(timeout=20) is None
    assert [s.exc_type for s in said] == [OverflowError]
    number = store.submit([run_row()])
    assert told.next() == ("committed", number)
    assert store.close()


def test_nothing_is_acknowledged_into_a_file_that_was_taken_away(tmp_path, told):
    """Written to a file without a name it would be lost with the process."""
    place = tmp_path / "state"
    place.mkdir()
    store = Store(StateFile(path=place / "pfid.sqlite"), told.events)
    store.start()
    number = store.submit([event_row(1)])
    assert told.next() == ("committed", number)
    shutil.rmtree(place)
    number = store.submit([run_row()])
    kind, said = told.next()
    assert (kind, "taken away" in said) == ("trouble", True)
    place.mkdir()
    seen = []
    while ("committed", number) not in seen:
        seen.append(told.next())
    assert [kind for kind, _ in seen] == ["reset", "trouble", "committed"]
    other, _ = open_state(StateFile(path=place / "pfid.sqlite"))
    found = store_queries.restored(other, ended_after_s=0.0, events_max=10)
    other.close()
    assert [r.body.run for r in found.runs] == [CONTROL_RUN]
    assert store.close()


def test_a_file_that_was_removed_under_its_lock_is_begun_anew(file, told):
    store = Store(file, told.events)
    store.start()
    number = store.submit([event_row(1)])
    assert told.next() == ("committed", number)
    for path in file.path.parent.glob("pfid.sqlite*"):
        if path.suffix != ".lock":
            path.unlink()
    number = store.submit([run_row()])
    assert told.next()[0] == "reset"
    assert told.next() == ("committed", number)
    assert store.close()
