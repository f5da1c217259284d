"""What is put into the inbox and who dies come out of it once each, in order, and wake it."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pfid.adapters.inbox import Inbox

WAIT_S = 20.0


@pytest.fixture
def inbox():
    made = Inbox(lambda token, _at_s, _mono_s: ("died", token))
    yield made
    made.close()


@pytest.fixture
def child():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def dead(inbox, token):
    """A process that has ended, watched as ``token``."""
    process = subprocess.Popen(["true"])
    fd = os.pidfd_open(process.pid)
    process.wait()
    inbox.watch(token, fd)
    return fd


def left(inbox):
    found = []
    while not inbox.empty():
        found.append(inbox.get_nowait())
    return found


def test_deaths_come_once_each_under_their_token_however_many_at_once(inbox):
    n = 100  # more than are taken at a time
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(n)]
    fds = [os.pidfd_open(p.pid) for p in processes]
    for token, fd in enumerate(fds):
        inbox.watch(token, fd)
    for process in processes:
        process.kill()
        process.wait()
    assert sorted(inbox.get(WAIT_S) for _ in processes) == [("died", token) for token in range(n)]
    assert inbox.empty()
    for fd in fds:
        os.close(fd)


def test_who_dies_first_comes_first(inbox):
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(10)]
    fds = [os.pidfd_open(p.pid) for p in processes]
    for token, fd in enumerate(fds):
        inbox.watch(token, fd)
    order = [7, 2, 9, 0, 1, 8, 3, 6, 5, 4]
    for token in order:
        processes[token].kill()
        processes[token].wait()
    assert [inbox.get(WAIT_S) for _ in order] == [("died", token) for token in order]
    for fd in fds:
        os.close(fd)


def test_a_death_ends_the_wait_that_is_going_on(inbox, child):
    fd = os.pidfd_open(child.pid)
    inbox.watch(1, fd)
    threading.Timer(0.2, child.kill).start()
    assert inbox.get(WAIT_S) == ("died", 1)
    os.close(fd)


def test_a_message_of_another_thread_ends_the_wait_that_is_going_on(inbox):
    for n in range(50):
        threading.Timer(0.005 + n % 3 / 1000, inbox.put, [n]).start()
        began_s = time.monotonic()
        assert inbox.get(WAIT_S) == n
        assert time.monotonic() - began_s < WAIT_S, "it was woken, and did not sleep to the end"


def test_a_message_that_is_left_wakes_nobody_and_comes_with_the_next(inbox):
    taken = queue.SimpleQueue()
    waiting = threading.Thread(target=lambda: taken.put(inbox.get(WAIT_S)), daemon=True)
    woken, wake = [], inbox._poller.wake
    inbox._poller.wake = lambda: (woken.append(True), wake())
    waiting.start()
    while not inbox._waiting:
        time.sleep(0.001)
    inbox.leave("left")
    assert not woken
    inbox.put("put")
    assert [taken.get(timeout=WAIT_S), inbox.get(WAIT_S)] == ["left", "put"]


def test_a_message_that_comes_just_before_the_wait_is_not_slept_over(inbox):
    """Whoever put it saw nobody wait, so nobody is woken."""
    messages, asked = inbox._messages, []

    class Late:
        def empty(self):
            asked.append(inbox._waiting)
            if inbox._waiting:
                messages.put("late")
            return messages.empty()

        get = staticmethod(messages.get)
        get_nowait = staticmethod(messages.get_nowait)

    inbox._messages = Late()
    began_s = time.monotonic()
    assert inbox.get(WAIT_S) == "late"
    assert True in asked, "the message was not put between the look and the wait"
    assert time.monotonic() - began_s < WAIT_S


def test_no_message_of_many_threads_is_lost_or_slept_over(inbox):
    threads, each = 8, 500

    def put(name):
        for n in range(each):
            inbox.put((name, n))
            if n % 50 == 0:
                time.sleep(0.001)

    for name in range(threads):
        threading.Thread(target=put, args=[name]).start()
    taken = [inbox.get(WAIT_S) for _ in range(threads * each)]
    for name in range(threads):
        assert [n for who, n in taken if who == name] == list(range(each))
    assert inbox.empty()


def test_a_death_waits_behind_what_was_put_before_it_and_not_behind_what_comes(inbox):
    inbox.put("before")
    fd = dead(inbox, 3)
    assert inbox.get(0.0) == "before"
    inbox.put("after")
    assert left(inbox) == [("died", 3), "after"]
    os.close(fd)


def test_a_death_is_seen_however_much_else_arrives(inbox):
    for n in range(10):
        inbox.put(n)
    fd = dead(inbox, 4)
    taken = [inbox.get(0.0)]
    for n in range(10):  # it never runs empty
        inbox.put(10 + n)
        taken.append(inbox.get(0.0))
    assert ("died", 4) in taken
    os.close(fd)


def test_work_that_is_due_sees_that_somebody_died(inbox):
    assert inbox.empty()
    fd = dead(inbox, 5)
    assert not inbox.empty()
    assert inbox.get_nowait() == ("died", 5)
    os.close(fd)


@pytest.mark.parametrize("timeout_s", [0.0, 0.0004, 0.003, 0.05])
def test_a_wait_for_nothing_ends_and_not_before_its_time(inbox, timeout_s):
    began_s = time.monotonic()
    with pytest.raises(queue.Empty):
        inbox.get(timeout_s)
    assert time.monotonic() - began_s >= timeout_s - 1e-6


def test_what_is_not_watched_any_more_is_not_reported(inbox, child):
    fd = os.pidfd_open(child.pid)
    inbox.watch(1, fd)
    inbox.unwatch(fd)
    inbox.unwatch(fd)
    child.kill()
    child.wait()
    assert inbox.empty()
    inbox.watch(2, fd)
    assert inbox.get(WAIT_S) == ("died", 2)
    os.close(fd)


PROGRAM = """
import os, signal, sys
from pfid.adapters.inbox import Inbox

inbox = Inbox(lambda *_: None)
signal.signal(signal.SIGUSR1, lambda *_: inbox.put("signal"))
print("waiting", flush=True)
print(inbox.get(600.0), flush=True)
"""


def test_a_signal_handler_may_put_into_the_wait_that_it_interrupts():
    waiting = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM], stdout=subprocess.PIPE, text=True
    )
    assert waiting.stdout.readline() == "waiting\n"
    stat = Path(f"/proc/{waiting.pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "S":  # it sleeps
        time.sleep(0.005)
    waiting.send_signal(signal.SIGUSR1)
    told, _ = waiting.communicate(timeout=120)
    assert (told, waiting.returncode) == ("signal\n", 0)


def test_a_signal_that_interrupts_nothing_ends_the_wait_all_the_same(inbox):
    """Taken by another thread, as by this one just before it sleeps: only its handler can put."""
    before = signal.signal(signal.SIGUSR1, lambda _n, _frame: inbox.put("signal"))
    inbox.heed_signals()
    asleep = threading.Event()
    over = threading.Event()

    def send_and_wait():
        asleep.wait(WAIT_S)
        while Path(f"/proc/self/task/{main}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            over.wait(0.05)
        over.wait(0.2)  # it may have slept for the interpreter's lock
        os.kill(os.getpid(), signal.SIGUSR1)
        over.wait(3.0)
        inbox.put("late")

    main = threading.main_thread().native_id
    sender = threading.Thread(target=send_and_wait)
    sender.start()
    kept = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        asleep.set()
        assert inbox.get(WAIT_S) == "signal"
    finally:
        over.set()
        sender.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, kept)
        signal.signal(signal.SIGUSR1, before)
    assert left(inbox) == ["late"]
