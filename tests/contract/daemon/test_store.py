"""The state file against real sqlite and a real disk."""

import contextlib
import os
import queue
import shutil
import sqlite3
import threading
from dataclasses import replace

import pytest

from pfid.adapters import store as store_module
from pfid.adapters import store_queries
from pfid.adapters.store import Store, StoreEvents
from pfid.adapters.store_file import StateFile, open_state
from pfid.domain.errors import StateError
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.domain.transition import Transition
from pfid.domain.verdict import BOX, Verdict
from pfid.policy.baseline import EarlierRun
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


def test_the_file_is_asked_now_and_then_and_answers_while_it_can_be_read_and_written(
    file, told, monkeypatch
):
    monkeypatch.setattr(store_module, "WRITE_BACK_S", 0.01)
    monkeypatch.setattr(store_module, "ASKED_S", 0.0)
    answered = threading.Semaphore(0)
    store = Store(file, replace(told.events, answers=answered.release))
    store.start()
    assert answered.acquire(timeout=60)
    assert answered.acquire(timeout=60), "and again"
    store.ask(lambda db: db.execute("nonsense"), lambda _: None)
    kind, said = told.next()
    assert (kind, "cannot read" in str(said)) == ("trouble", True)
    assert told.next() == ("trouble", ""), "it could be read since"
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.submit([run_row()])
    kind, said = told.next()
    assert (kind, "locked" in str(said)) == ("trouble", True)
    while answered.acquire(blocking=False):
        pass
    assert not answered.acquire(timeout=0.3), "it can be read, and takes nothing"
    other.execute("ROLLBACK")
    other.close()
    assert [told.next(), told.next()] == [("trouble", ""), ("committed", 1)]
    assert answered.acquire(timeout=60)
    store.close()


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
    [unread] = found.unread
    assert (unread.run_id, found.problems) == ("bad", ())
    assert "cannot be read" in unread.problem
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
    monkeypatch.setattr(threading, "__excepthook__", said.append)
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


def filled(file, told, rows=200):
    """A store whose file itself, not only sqlite's log, holds rows; and what asks it."""
    store = Store(file, told.events)
    store.start()
    number = store.submit([event_row(n) for n in range(1, rows)])
    while told.next() != ("committed", number):
        pass
    done: queue.Queue[object] = queue.Queue()
    busy = True
    while busy:  # with whoever writes the log back beside it
        store.ask(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), done.put)
        busy = done.get(timeout=60)[0] != 0
    return store, done


def damage(path, *, keep_times=False):
    """Overwrite the second half of the file, which no later commit touches."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 8192 * 4096)
        file.write(b"\xff" * (before.st_size - before.st_size // 8192 * 4096))
    if keep_times:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    with contextlib.suppress(sqlite3.DatabaseError):
        assert db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",), "the fault was delivered"
    db.close()


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("keep_times", [False, True], ids=["seen by its time", "seen by age"])
def test_damage_that_no_commit_meets_is_noticed_while_running(
    tmp_path, told, monkeypatch, local, keep_times
):
    monkeypatch.setattr("pfid.adapters.store.WRITE_BACK_S", 0.05)
    if keep_times:
        monkeypatch.setattr("pfid.adapters.store_check.CHECK_S", 0.1)
        monkeypatch.setattr("pfid.adapters.store_check._written", lambda _path: (1, 1))
    file = StateFile(path=tmp_path / "pfid.sqlite", local=local)
    store, _done = filled(file, told)
    damage(file.path, keep_times=keep_times)
    kind, said = told.next()
    assert (kind, "is corrupt" in said) == ("reset", True)
    assert list(tmp_path.glob("*.corrupt-*"))
    number = store.submit([run_row(), event_row(999)])
    assert told.next() == ("committed", number)
    store.close()
    db, problem = open_state(file)
    assert problem == ""
    assert db.execute("SELECT count(*) FROM events").fetchone() == (1,)
    db.close()


def test_damage_that_a_question_meets_is_said_and_the_file_begun_anew(file, told):
    store, done = filled(file, told)
    damage(file.path, keep_times=True)
    store.ask(lambda db: db.execute("PRAGMA shrink_memory").fetchall(), done.put)
    done.get(timeout=20)
    store.ask(
        lambda db: store_queries.events_after(
            db, after_id=0, subject=None, synthetic=True, limit=1000
        ),
        done.put,
    )
    assert done.get(timeout=20) is None
    assert told.next()[0] == "reset"
    number = store.submit([run_row()])
    assert told.next() == ("committed", number)
    store.close()


def test_a_whole_file_is_left_alone_however_often_it_is_looked_at(tmp_path, told, monkeypatch):
    monkeypatch.setattr("pfid.adapters.store.WRITE_BACK_S", 0.02)
    monkeypatch.setattr("pfid.adapters.store_check.CHECK_S", 0.0)
    file = StateFile(path=tmp_path / "pfid.sqlite")
    store, _done = filled(file, told)
    numbers = [store.submit([event_row(n)]) for n in range(300, 340)]
    said = [told.next()]
    while said[-1] != ("committed", numbers[-1]):
        said.append(told.next())
    assert {kind for kind, _ in said} == {"committed"}
    assert store.close()


def test_where_nothing_can_be_opened_in_its_place_it_is_said_and_tried_again(
    tmp_path, told, monkeypatch
):
    monkeypatch.setattr("pfid.adapters.store.WRITE_BACK_S", 0.05)
    monkeypatch.setattr("pfid.adapters.store.RETRY_S", 0.05)
    file = StateFile(path=tmp_path / "pfid.sqlite")
    store, _done = filled(file, told)
    refused = threading.Event()

    def refuse(state):
        if not refused.is_set():
            raise StateError("no room")
        return open_state(state)

    monkeypatch.setattr("pfid.adapters.store.open_state", refuse)
    damage(file.path)
    kind, said = told.next()
    assert (kind, "no room" in said) == ("trouble", True)
    number = store.submit([run_row()])
    refused.set()
    kinds = []
    while not kinds or kinds[-1] != ("committed", number):
        kinds.append(told.next())
    assert ("trouble", "") in kinds
    assert any(kind == "reset" for kind, _ in kinds)
    store.close()
    db, _ = open_state(file)
    assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    db.close()


def ended_row(run_id, at_s, left=None, **more):
    """An ended run of one name and work."""
    body = RunBody(run=CONTROL_RUN, state=RunState.FAILED, left=left)
    row = run_row(pack(body))
    fields = {f: getattr(row, f) for f in row.__struct_fields__}
    return PutRun(**fields | {"run_id": run_id, "ended_at_s": at_s} | more)


def left_by(run_id, *, passed=True):
    baseline = Baseline(median_s=20.0, source=BaselineSource.OWN_EARLY_STEPS, n=64)
    return EarlierRun(baseline=baseline, ended_at_s=1.0, passed=passed, run_id=run_id)


def test_starts_that_failed_and_runs_that_were_slow_hide_no_good_run_before_them(file, told):
    store = Store(file, told.events)
    store.start()
    failed = [ended_row(f"failed-{i}", 10.0 + i) for i in range(100)]
    slow = [ended_row(f"s-{i}", 200.0 + i, left_by(f"s-{i}", passed=False)) for i in range(100)]
    store.submit([ended_row("good", 1.0, left_by("good")), *failed, *slow])
    store.submit([run_row_named("bad", b"\xc1"), ended_row("b", 5.0, body=b"\xc1")])
    found: queue.Queue[object] = queue.Queue()

    def query(db):
        of = store_queries.Work(name=CONTROL_RUN.name, fingerprint="f", uid=1)
        return store_queries.earlier_runs(db, of, limit=16)

    store.ask(query, found.put)
    assert found.get(timeout=20) == [left_by("good")]
    store.close()


@pytest.mark.parametrize(
    "other",
    [{"name": "other"}, {"fingerprint": "g"}, {"uid": 2}, {"synthetic": True}],
    ids=["name", "work", "owner", "a self-test's"],
)
def test_runs_of_another_are_no_earlier_runs(file, told, other):
    store = Store(file, told.events)
    store.start()
    store.submit([ended_row("a", 1.0, left_by("a"), **other), ended_row("b", 2.0, left_by("b"))])
    store.submit([ended_row("lives", None, left_by("lives"))])
    found: queue.Queue[object] = queue.Queue()
    store.ask(
        lambda db: store_queries.earlier_runs(
            db, store_queries.Work(name=CONTROL_RUN.name, fingerprint="f", uid=1), limit=16
        ),
        found.put,
    )
    assert found.get(timeout=20) == [left_by("b")]
    store.close()
