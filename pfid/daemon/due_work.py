"""What the loop does when its time has come: periodic jobs, checks, what was put off."""

from collections.abc import Callable
from typing import Final

from pfid.daemon.box_judging import GPUS_SUBJECT
from pfid.daemon.core import BOX_SUBJECT, CHECKPOINT, EARLIER, LEFT
from pfid.daemon.hooks import Hooks
from pfid.daemon.parts import Parts
from pfid.daemon.tracked import TrackedRun
from pfid.domain.names import RunId
from pfid.domain.snapshot import Snapshot
from pfid.policy.proof_age import LOOK_S

JOB_SLACK_S: Final = 1.0
"""A job the scheduler has not fired by then is run anyway, and that is counted."""

SWEEP: Final = "sweep"
RENDER: Final = "render"
RETENTION: Final = "retention"
PROOF_AGE: Final = "proof_age"
JOBS: Final = {SWEEP: 5.0, RENDER: 5.0, RETENTION: 3600.0, PROOF_AGE: LOOK_S}
"""Periodic jobs and their intervals, seconds."""
RENDER_LEAST_S: Final = 1.0
"""From one page to the next, however much happens."""
AFTER_SWEEP_S: Final = 0.5
"""A page waits so long at the most for a sweep that is on its way."""


class DueWork:
    """By kind and by what it is about, as it was put down in the due-times."""

    def __init__(self, parts: Parts, hooks: Hooks, snapshot: Callable[[], Snapshot]) -> None:
        """Work with these; ``snapshot`` makes one."""
        self._parts = parts
        self._hooks = hooks
        self._snapshot = snapshot
        self._of_the_box = {
            "box": parts.box_judging.box_due,
            "gpus": parts.box_judging.gpus_due,
            CHECKPOINT: parts.ledger.checkpoint,
        }
        self._rendered_s = 0.0
        self._hastened = False
        self._page_waits = False

    def begin(self) -> None:
        """Make the periodic work due for the first time."""
        now_s = self._parts.core.monotonic_s()
        for job, every_s in JOBS.items():
            self._parts.core.due.set(("job", job), now_s + min(every_s, 1.0) + JOB_SLACK_S)
        self._parts.core.due.set(("box", BOX_SUBJECT), now_s)
        self._parts.core.due.set(("gpus", GPUS_SUBJECT), now_s)

    def fired(self, job: str) -> None:
        """The scheduler came first: the job is due now."""
        self._parts.core.due.set(("job", job), self._parts.core.monotonic_s())

    def do(self, kind: str, what: str | int) -> None:
        """Do one thing that is due."""
        parts = self._parts
        if kind == "status" and isinstance(what, int):
            parts.deaths.ask_status(what)
            return
        if kind == "follow" and isinstance(what, int):
            parts.answering.waited_enough(what)
            return
        if kind == "job":
            self._job(str(what))
            return
        if kind in self._of_the_box:
            self._of_the_box[kind]()
            return
        if kind == "unobserved":
            parts.resuming.unobserved(RunId(str(what)))
            return
        run = self._parts.core.runs.get(RunId(str(what)))
        if run is not None:
            self._for_run(kind, run)

    def _for_run(self, kind: str, run: TrackedRun) -> None:
        if kind == "judge":
            self._parts.judging.run_due(run)
        elif kind == "ended":
            self._parts.deaths.ended(run)
        elif kind == "drained":
            self._parts.deaths.drained(run)
        elif kind == "final":
            self._parts.finishing.finish(run)
        elif kind == EARLIER:
            self._parts.baselines.ask(run)
        elif kind == LEFT:
            self._parts.baselines.left(run)
        elif kind == "leave":
            self._parts.finishing.leave(run)
        elif kind.startswith("early"):
            self._parts.trees.look()

    def _job(self, job: str) -> None:
        core = self._parts.core
        core.due.set(("job", job), core.monotonic_s() + JOBS[job] + JOB_SLACK_S)
        if job == SWEEP:
            self._parts.trees.begin()
            self._parts.judging.overdue()
            self._parts.ledger.checkpoint()
            self._parts.baselines.keep()
        elif job == RENDER:
            self._page_due()
        elif job == RETENTION:
            self._parts.ledger.expire()
        elif job == PROOF_AGE:
            self._hooks.prove(None)

    def _page_due(self) -> None:
        """Both come due together: a page made beside a sweep would take turns with its reads.

        Each read lets the other thread compute, so both would be half done a hundred times.
        """
        core = self._parts.core
        if self._parts.trees.busy and not self._page_waits:
            self._page_waits = True
            core.due.set(("job", RENDER), core.monotonic_s() + AFTER_SWEEP_S)
            return
        self._render()

    def hasten(self) -> None:
        """What the page waited for is over, or something happened that it should not wait for."""
        if self._page_waits and not self._parts.trees.busy:
            self._parts.core.due.sooner(("job", RENDER), self._parts.core.monotonic_s())
        if self._parts.core.urgent and not self._hastened:
            self._hastened = True
            due_s = self._rendered_s + RENDER_LEAST_S
            self._parts.core.due.sooner(("job", RENDER), due_s)

    def _render(self) -> None:
        core = self._parts.core
        urgent, core.urgent = core.urgent, False
        self._hastened = self._page_waits = False
        self._rendered_s = core.monotonic_s()
        wait_s = self._hooks.page(self._snapshot, urgent)
        if wait_s < JOBS[RENDER]:
            core.due.set(("job", RENDER), self._rendered_s + wait_s)
