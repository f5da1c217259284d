"""From the loop's state to the Snapshot, the only thing readers see."""

from pfid.daemon.core import Core
from pfid.daemon.gpu_views import gpus_view
from pfid.daemon.tracked import TrackedRun
from pfid.daemon.worlds import achieved_of, baseline_of, flops_by_gpu
from pfid.domain.gpu_view import GpusView
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import DaemonHealth, Resources, RunView, Snapshot, VerdictView
from pfid.domain.step_summary import Baseline
from pfid.policy.hysteresis import UNSEEN
from pfid.policy.run_life import Signs, state_of

SHOWN_STEPS = 64
RATIO_STEPS = 16
STALL_CHECK = "run_stalled"


class Publishing:
    """Builds views, each again only when its run has changed."""

    def __init__(self, core: Core) -> None:
        """Publish ``core``."""
        self._core = core

    def snapshot(self, health: DaemonHealth) -> Snapshot:
        """This moment, whole."""
        core = self._core
        views = tuple(self.view(run) for run in core.runs.values())
        verdicts: list[VerdictView] = []
        for run in core.runs.values():
            verdicts += [j.view for j in run.judged.values() if j.view is not None]
        verdicts += [j.view for j in core.box.values() if j.view is not None]
        for gpu in core.gpus.gpus.values():
            verdicts += [j.view for j in gpu.judged.values() if j.view is not None]
        return Snapshot(
            at_s=core.now_s(),
            health=health,
            runs=views,
            verdicts=tuple(verdicts),
            gates=core.checks.gates,
            transitions=tuple(core.shown),
            samplers=tuple(core.samplers.values()),
            costs=tuple(core.costs.values()),
            plugins=core.checks.plugins,
            gpus=self._gpus(),
        )

    def _gpus(self) -> GpusView | None:
        """The GPUs; None where nobody looks."""
        core = self._core
        if not core.gpus.samplers:
            return None
        names = {run_id: run.run.name for run_id, run in core.runs.items()}
        now_s = core.monotonic_s()
        achieved = {
            uuid: flops
            for run in core.runs.values()
            if run.rates.fresh(now_s)
            for uuid, flops in flops_by_gpu(core, run, now_s).items()
        }
        return gpus_view(core.gpus, now_s, names, achieved=achieved)

    def view(self, run: TrackedRun) -> RunView:
        """One run as everybody may see it."""
        state = self._state(run)
        if run.view is None or run.view.state is not state or self._lapsed(run.view, run):
            run.state = state
            run.view = self._view(run)
        return run.view

    def _lapsed(self, view: RunView, run: TrackedRun) -> bool:
        """Whether it still shows a rate of steps that come no more."""
        shown = view.achieved is not None and not view.achieved.whole_run
        return shown and not run.rates.fresh(self._core.monotonic_s())

    def _state(self, run: TrackedRun) -> RunState:
        stall = run.judged.get(STALL_CHECK)
        stalled = stall is not None and stall.view is not None and _fails(stall.view)
        return state_of(
            Signs(
                end=run.end,
                suspended=run.suspended,
                stalled=stalled,
                steps_seen=run.progress.steps_seen,
                shows_steps=run.shows_steps,
                age_s=self._core.now_s() - run.run.started_at_s,
            )
        )

    def _view(self, run: TrackedRun) -> RunView:
        baseline = baseline_of(run)
        inside = None if run.facts is None else run.facts.inside
        recent = run.recent.train_seconds(SHOWN_STEPS)
        return RunView(
            run=run.run,
            state=run.state,
            end=run.end,
            last_progress_at_s=run.last_progress_at_s,
            steps_total=run.progress.steps_seen,
            last_index=run.progress.last_index,
            phase=run.progress.phase,
            step_clock=run.step_clock,
            summary=run.statistics.summary(),
            baseline=baseline,
            slowdown_ratio=_ratio(recent[-RATIO_STEPS:], baseline),
            histogram=run.statistics.histogram(),
            resources=resources(run),
            recent_step_s=tuple(recent),
            achieved=achieved_of(run, self._core.monotonic_s()),
            optimizers=() if inside is None else inside.optimizers,
            files_left_out=run.files_left_out,
            synthetic=run.synthetic,
        )


def _fails(view: VerdictView) -> bool:
    """Whether it stands at FAIL and was seen to lately; a verdict nobody can see on is no state."""
    return view.outcome is Outcome.FAIL and view.counts and UNSEEN not in view.label


def _ratio(recent: list[float], baseline: Baseline | None) -> float | None:
    if baseline is None or len(recent) < RATIO_STEPS or baseline.median_s <= 0:
        return None
    return sorted(recent)[(len(recent) - 1) // 2] / baseline.median_s


def resources(run: TrackedRun) -> Resources | None:
    """What the tree uses: living members, and what those that are gone had used."""
    readings = [m.reading for m in run.members.values() if m.reading is not None]
    if not readings and not run.usage.gone_cpu_s:
        return None
    ios = [m.io for m in run.members.values() if m.io is not None]
    usage, room = run.usage, run.room if run.members else None
    known = bool(ios) or bool(usage.gone_read_bytes or usage.gone_written_bytes)
    return Resources(
        processes=len(run.members),
        cpu_seconds=usage.gone_cpu_s + sum(r.cpu_s for r in readings),
        resident_bytes=sum(r.resident_bytes for r in readings),
        read_bytes=usage.gone_read_bytes + sum(i.read_bytes for i in ios) if known else None,
        written_bytes=usage.gone_written_bytes + sum(i.written_bytes for i in ios)
        if known
        else None,
        memory_limit_bytes=None if room is None else room.limit_bytes,
        memory_available_bytes=None if room is None else room.available_bytes,
    )
