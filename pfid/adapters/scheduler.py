"""APScheduler as the clock of the periodic jobs; the loop's own due-times stay the truth.

Its default pool keeps the interpreter alive while one job hangs, so jobs run in a daemon thread of
ours, and all they do is put a message into the loop's inbox. It schedules on wall time, so a clock
set back stops its firings: the loop notices by its own due-times.
"""

import datetime as dt
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

_TROUBLE = {
    EVENT_JOB_ERROR: "error",
    EVENT_JOB_MISSED: "missed",
    EVENT_JOB_MAX_INSTANCES: "max_instances",
}


class _DaemonThreadExecutor(BaseExecutor):  # type: ignore[misc]
    """One daemon thread runs every job; it never keeps the interpreter alive."""

    def __init__(self) -> None:
        super().__init__()
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self, scheduler: Any, alias: str) -> None:
        super().start(scheduler, alias)
        self._thread.start()

    def shutdown(self, wait: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002 - its signature
        self._jobs.put(None)

    def _do_submit_job(self, job: Any, run_times: Any) -> None:
        self._jobs.put((job, run_times))

    def _work(self) -> None:
        while (task := self._jobs.get()) is not None:
            job, run_times = task
            try:
                events = run_job(job, job._jobstore_alias, run_times, self._logger.name)  # noqa: SLF001 - as its own executors do
            except BaseException:  # noqa: BLE001 - whatever a job raises becomes an event
                self._run_job_error(job.id, *sys.exc_info()[1:])
            else:
                self._run_job_success(job.id, events)


class Scheduler:
    """Fires named jobs at intervals."""

    def __init__(
        self, on_fire: Callable[[str], None], on_trouble: Callable[[str, str], None]
    ) -> None:
        """Prepare.

        Args:
            on_fire: gets the job's name, in the executor's thread.
            on_trouble: gets the job's name and ``error``, ``missed`` or ``max_instances``.
        """
        self._on_fire = on_fire
        self._on_trouble = on_trouble
        self._scheduler = BackgroundScheduler(
            executors={"default": _DaemonThreadExecutor()},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            timezone=dt.UTC,
            daemon=True,
        )
        self._scheduler.add_listener(self._heard, sum(_TROUBLE))

    def every(self, name: str, interval_s: float) -> None:
        """Fire ``name`` every ``interval_s`` seconds, the first time after one interval."""
        trigger = IntervalTrigger(seconds=interval_s, timezone=dt.UTC)
        self._scheduler.add_job(self._on_fire, trigger, args=(name,), id=name)

    def start(self) -> None:
        """Begin to fire."""
        self._scheduler.start()

    def close(self) -> None:
        """Fire no more."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def _heard(self, event: Any) -> None:
        self._on_trouble(event.job_id, _TROUBLE[event.code])
