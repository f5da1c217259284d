"""An owner of real processes that crash, hang, talk rubbish and refuse to die."""

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pfid.adapters.worker_events import WorkerEnded, WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import KEPT_ENVIRONMENT, WorkerCommand
from pfid.adapters.worker_size import LOOK_S, held_bytes
from pfid.domain.errors import WireError
from pfid.policy.worker_life import EndCause, LifePhase, LifeRules

WAIT_S = 60.0
RULES = LifeRules(
    start_deadline_s=1.0,
    deadline_s=1.0,
    term_grace_s=0.3,
    kill_grace_s=5.0,
    backoff_first_s=0.05,
    backoff_max_s=0.1,
)


class Owned:
    """A misbehaving worker, its owner and what the owner told."""

    def __init__(
        self, mode: str, rules: LifeRules = RULES, memory_max_bytes: int | None = None
    ) -> None:
        command = WorkerCommand(
            module="misbehaving_worker",
            arguments=(mode,),
            environment={"PYTHONPATH": str(Path(__file__).parent)},
        )
        self.events: queue.SimpleQueue[WorkerEvent] = queue.SimpleQueue()
        self.owner = WorkerOwner(command, self.tell, rules, memory_max_bytes=memory_max_bytes)

    def tell(self, event: WorkerEvent) -> None:
        self.events.put(event)

    def next(self, kind: type[Any]) -> Any:
        """Return the next event of a kind, dropping others."""
        while True:
            event = self.events.get(timeout=WAIT_S)
            if isinstance(event, kind):
                return event


@pytest.fixture
def owned() -> Iterator[Callable[..., Owned]]:
    with ExitStack() as running:

        def make(mode: str, **options: Any) -> Owned:
            made = Owned(mode, **options)
            running.callback(made.owner.close)
            made.owner.start()
            return made

        yield make


def test_messages_and_descriptors_go_there_and_back(owned, tmp_path: Path):
    echo = owned("echo", rules=LifeRules())
    started = echo.next(WorkerStarted)
    echo.next(WorkerMessage)
    assert echo.owner.send(b"plain", generation=started.generation)
    assert echo.next(WorkerMessage).body == b"plain"
    (tmp_path / "file").write_bytes(b"through the descriptor")
    with (tmp_path / "file").open("rb") as file:
        assert echo.owner.send(b"with a descriptor", [file.fileno()], generation=started.generation)
        os.fstat(file.fileno())
    assert echo.next(WorkerMessage).body == b"through the descriptor"


def test_a_worker_has_a_session_of_its_own_and_a_clean_environment(owned, monkeypatch):
    for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "PFID_TOKEN"):
        monkeypatch.setenv(name, "the daemon's")
    echo = owned("echo", rules=LifeRules())
    pid = echo.next(WorkerStarted).pid
    names = echo.next(WorkerMessage).body.decode().split("\n")
    assert set(names) <= {*KEPT_ENVIRONMENT, "LC_CTYPE"}
    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")


def test_a_worker_inherits_no_descriptor_of_the_owner(owned, tmp_path: Path):
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        echo = owned("echo", rules=LifeRules())
        pid = echo.next(WorkerStarted).pid
        echo.next(WorkerMessage)
        links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    assert not any("secret" in link for link in links)


def test_a_crash_is_told_with_its_last_words_and_restarts_back_off(owned):
    crashing = owned("crash")
    for generation in (1, 2, 3):
        assert crashing.next(WorkerStarted).generation == generation
        ended = crashing.next(WorkerEnded)
        assert (ended.generation, ended.cause, ended.status) == (generation, EndCause.CRASHED, 1)
        assert "says why it cannot live" in ended.output_tail
    assert crashing.owner.counters.crashes >= 3


def test_a_worker_killed_from_outside_is_replaced(owned):
    echo = owned("echo", rules=LifeRules())
    first = echo.next(WorkerStarted)
    echo.next(WorkerMessage)
    os.kill(first.pid, signal.SIGKILL)
    ended = echo.next(WorkerEnded)
    assert (ended.cause, ended.status) == (EndCause.CRASHED, -signal.SIGKILL)
    assert not echo.owner.send(b"too late", generation=first.generation)
    second = echo.next(WorkerStarted)
    assert second.pid != first.pid
    assert echo.owner.send(b"again", generation=second.generation)


@pytest.mark.parametrize("mode", ["silent", "stopped", "hang_up"])
def test_silence_past_the_deadline_ends_the_worker(owned, mode: str):
    ended = owned(mode).next(WorkerEnded)
    assert ended.cause is EndCause.TIMED_OUT


def test_term_comes_before_kill_and_what_was_touched_is_told(owned):
    deaf = owned("deaf")
    ended = deaf.next(WorkerEnded)
    assert (ended.cause, ended.status, ended.touching) == (
        EndCause.TIMED_OUT,
        -signal.SIGKILL,
        42,
    )
    silent = owned("silent").next(WorkerEnded)
    assert (silent.status, silent.touching) == (-signal.SIGTERM, None)


def test_what_is_no_frame_ends_the_worker(owned):
    rubbish = owned("rubbish", rules=LifeRules())
    ended = rubbish.next(WorkerEnded)
    assert ended.cause is EndCause.MALFORMED
    assert rubbish.owner.counters.malformed == 1


def test_a_message_that_the_listener_cannot_read_ends_the_worker(owned, monkeypatch):
    def refuse(_self: Owned, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage):
            raise WireError("not a message")
        _self.events.put(event)

    monkeypatch.setattr(Owned, "tell", refuse)
    assert owned("unreadable").next(WorkerEnded).cause is EndCause.MALFORMED


def test_a_listener_that_fails_is_counted_and_the_worker_lives_on(owned, monkeypatch):
    def fail(_self: Owned, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage) and event.body == b"fail":
            raise RuntimeError("a fault of the listener")
        _self.events.put(event)

    monkeypatch.setattr(Owned, "tell", fail)
    echo = owned("echo", rules=LifeRules())
    generation = echo.next(WorkerStarted).generation
    echo.next(WorkerMessage)
    echo.owner.send(b"fail", generation=generation)
    echo.owner.send(b"and on", generation=generation)
    assert echo.next(WorkerMessage).body == b"and on"
    assert echo.owner.counters.callback_errors == 1


def test_a_megabyte_on_standard_error_blocks_nobody_and_only_its_tail_is_kept(owned):
    chatter = owned("chatter")
    assert chatter.next(WorkerMessage).body == b"said"
    ended = chatter.next(WorkerEnded)
    assert 0 < len(ended.output_tail) <= 4096


def test_a_listener_that_blocks_past_the_deadline_is_not_the_workers_silence(owned, monkeypatch):
    def slow(_self: Owned, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage):
            time.sleep(RULES.deadline_s * 1.5)
        _self.events.put(event)

    monkeypatch.setattr(Owned, "tell", slow)
    echo = owned("echo")
    generation = echo.next(WorkerStarted).generation
    echo.next(WorkerMessage)
    assert echo.owner.send(b"alive?", generation=generation)
    assert echo.next(WorkerMessage).body == b"alive?"


def test_a_start_that_fails_is_told_and_tried_again(monkeypatch):
    broken = Owned("echo", LifeRules(backoff_first_s=0.01, backoff_max_s=0.02))
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    broken.owner.start()
    for _ in range(3):
        ended = broken.next(WorkerEnded)
        assert (ended.cause, ended.generation) == (EndCause.SPAWN_FAILED, 0)
    monkeypatch.undo()
    broken.next(WorkerStarted)
    assert broken.owner.close()


def test_closing_ends_the_worker_and_leaves_no_process_and_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    echo = Owned("echo", LifeRules())
    echo.owner.start()
    pid = echo.next(WorkerStarted).pid
    echo.next(WorkerMessage)
    assert echo.owner.close()
    assert echo.next(WorkerEnded).cause is EndCause.STOPPED
    assert echo.owner.counters.phase is LifePhase.STOPPED
    assert not Path(f"/proc/{pid}").exists()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert not echo.owner.send(b"too late", generation=1)


@pytest.mark.parametrize("mode", ["echo", "stopped"])
def test_a_worker_dies_with_its_owner_killed_even_when_it_is_stopped(tmp_path: Path, mode: str):
    """A stopped one cannot see its socket end: the kernel's signal reaches it."""
    script = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pfid.adapters.worker_events import WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.policy.worker_life import LifeRules
def tell(event):
    if isinstance(event, WorkerStarted):
        global pid
        pid = event.pid
    if isinstance(event, WorkerMessage):
        print(pid, flush=True)
command = WorkerCommand(module="misbehaving_worker", arguments=({mode!r},),
                        environment={{"PYTHONPATH": sys.path[0]}})
WorkerOwner(command, tell, LifeRules(deadline_s=600)).start()
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        state = Path(f"/proc/{pid}/stat")
        while mode == "stopped" and state.read_text().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.01)
        pidfd = os.pidfd_open(pid)
        owner.kill()
    with os.fdopen(pidfd, closefd=True):
        import select

        assert select.select([pidfd], [], [], WAIT_S)[0], "the worker outlived its owner"


def test_a_worker_that_takes_more_memory_than_it_may_is_ended_though_deaf_to_term(owned):
    never = LifeRules(start_deadline_s=3600.0, term_grace_s=0.2)
    glutton = owned("glutton", rules=never, memory_max_bytes=100_000_000)
    started = glutton.next(WorkerStarted)
    ended = glutton.next(WorkerEnded)
    assert ended.generation == started.generation
    assert ended.cause is EndCause.OUTGROWN
    assert ended.status == -signal.SIGKILL
    assert ended.touching == 7
    assert glutton.owner.counters.outgrown >= 1
    assert glutton.owner.counters.crashes == 0


def test_a_worker_within_its_memory_is_left_alone(owned):
    echo = owned("echo", rules=LifeRules(), memory_max_bytes=1_000_000_000)
    started = echo.next(WorkerStarted)
    echo.next(WorkerMessage)
    time.sleep(3 * LOOK_S)
    assert echo.owner.send(b"still there", generation=started.generation)
    assert echo.next(WorkerMessage).body == b"still there"


def test_what_a_process_holds_is_what_it_took():
    taking = "input(); held = bytearray(b'x') * 50_000_000; print(len(held), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", taking], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        before = held_bytes(child.pid)
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "50000000\n"
        assert held_bytes(child.pid) - before > 40_000_000
        child.kill()
    assert held_bytes(2**22 + 1) == 0
