"""APScheduler as pfid uses it."""

import queue
import subprocess
import sys
import threading

from pfid.adapters.scheduler import Scheduler


def test_jobs_fire_by_name_again_and_again():
    fired: queue.Queue[str] = queue.Queue()
    scheduler = Scheduler(fired.put, lambda *_: None)
    scheduler.every("a", 0.05)
    scheduler.start()
    assert [fired.get(timeout=20) for _ in range(3)] == ["a"] * 3
    scheduler.close()


def test_a_job_that_raises_becomes_a_message_and_fires_again():
    trouble: queue.Queue[tuple[str, str]] = queue.Queue()

    def fire(_: str) -> None:
        raise ValueError("planted")

    scheduler = Scheduler(fire, lambda *said: trouble.put(said))
    scheduler.every("bad", 0.05)
    scheduler.start()
    assert [trouble.get(timeout=20) for _ in range(2)] == [("bad", "error")] * 2
    scheduler.close()


def test_a_job_that_hangs_is_said_and_does_not_keep_the_process_alive():
    trouble: queue.Queue[tuple[str, str]] = queue.Queue()
    let_go = threading.Event()
    scheduler = Scheduler(lambda _: let_go.wait(), lambda *said: trouble.put(said))
    scheduler.every("stuck", 0.05)
    scheduler.start()
    assert trouble.get(timeout=20) == ("stuck", "max_instances")
    let_go.set()
    scheduler.close()
    code = (
        "import time\n"
        "from pfid.adapters.scheduler import Scheduler\n"
        "s = Scheduler(lambda _: time.sleep(1000), lambda *_: None)\n"
        "s.every('x', 0.05); s.start(); time.sleep(0.5); s.close()\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=60)
