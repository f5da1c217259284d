"""Runs the checks about the box and about each of its GPUs, when they are due.

Those about runs are another matter (:mod:`pfid.daemon.judging`); what any of them says is settled
by :mod:`pfid.daemon.verdicts`.
"""

from typing import Final

from pfid.daemon.core import BOX_SUBJECT, Core, Judgeable
from pfid.daemon.judging import GPU_PORT, Judging
from pfid.daemon.tracked import Judged
from pfid.daemon.verdicts import Verdicts
from pfid.daemon.worlds import box_world, gpu_world
from pfid.spec.world import World
from pfid.wire.plugins import CheckInfo

GPUS_SUBJECT: Final = "gpus"
LOOK_S: Final = 60.0
"""Whatever says nothing of when it is due is looked at so often."""


class BoxJudging:
    """The checks of stage ``watch`` over the box and its GPUs."""

    def __init__(self, core: Core, judging: Judging) -> None:
        """Judge what ``core`` holds; ``judging`` judges the runs that are on the GPUs."""
        self._core = core
        self._judging = judging
        self._verdicts = Verdicts(core)
        self._gpus_known: set[str] = set()

    def box_due(self) -> None:
        """Run the checks about the box; they say when they are due again by their cadence."""
        core = self._core
        now_s = core.monotonic_s()
        due = [now_s + LOOK_S]
        for check in core.checks.box:
            judged = core.box.setdefault(check.name, Judged())
            if judged.due_s <= now_s:
                self._about(check, judged, box_world(core))
                judged.due_s = now_s + check.cadence_s
            due.append(judged.due_s)
        core.due.set(("box", BOX_SUBJECT), min(due))

    def gpus_due(self) -> None:
        """Run the checks about each GPU, likewise."""
        core = self._core
        now_s = core.monotonic_s()
        due = [now_s + LOOK_S]
        for uuid, gpu in core.gpus.gpus.items():
            for check in core.checks.gpu:
                judged = gpu.judged.setdefault(check.name, Judged())
                if judged.due_s <= now_s:
                    self._about(check, judged, gpu_world(core, uuid))
                    judged.due_s = now_s + check.cadence_s
                due.append(judged.due_s)
        core.due.set(("gpus", GPUS_SUBJECT), min(due))

    def gpus_changed(self, *, of_runs: bool = True) -> None:
        """What is known of the GPUs changed: who reads it looks now, the runs in their cadence.

        Args:
            of_runs: whether it is anything that a check of a run could not see by itself, which
                looks at readings again and again.
        """
        core = self._core
        now_s = core.monotonic_s()
        if core.gpus.gpus.keys() != self._gpus_known:
            self._gpus_known = set(core.gpus.gpus)
            for run in core.living():
                self._judging.poke(run, (GPU_PORT,))
        elif of_runs:
            for run in core.living():
                self._judging.look_in_cadence(run, GPU_PORT)
        for check in core.checks.box:
            if GPU_PORT in check.reads and check.name in core.box:
                core.box[check.name].due_s = now_s
        for gpu in core.gpus.gpus.values():
            for check in core.checks.gpu:
                if check.name in gpu.judged:
                    gpu.judged[check.name].due_s = now_s
        core.due.set(("box", BOX_SUBJECT), now_s)
        core.due.set(("gpus", GPUS_SUBJECT), now_s)

    def _about(self, check: Judgeable, judged: Judged, world: World) -> None:
        """Judge what is no run; a check of a third party is asked about runs only."""
        if self._core.checks.proven(check.name) and not isinstance(check, CheckInfo):
            self._verdicts.evaluate(None, check, judged, world)
        else:
            self._verdicts.say_unproven(None, check, judged, world.subject)
