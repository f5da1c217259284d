"""What is shown of a run that nobody holds in memory any more, from what was stored of it."""

from pfid.analysis.step_statistics import StepStatistics
from pfid.domain.gpu_past import GpuPast
from pfid.domain.run import RunState
from pfid.domain.snapshot import RunView
from pfid.domain.step import Phase
from pfid.wire.stored import RunBody, StepsBody


def run_view(body: RunBody, kept: StepsBody | None) -> RunView:
    """The run as everybody may see it; of one whose end nobody saw it is not known how it ended."""
    statistics = StepStatistics() if kept is None else StepStatistics.restore(kept.statistics)
    return RunView(
        run=body.run,
        state=RunState.LOST if body.end is None else body.state,
        end=body.end,
        last_progress_at_s=body.last_progress_at_s,
        steps_total=0 if kept is None else kept.progress.steps_seen,
        last_index=None if kept is None else kept.progress.last_index,
        step_clock=None if kept is None else kept.step_clock,
        summary=statistics.summary(),
        histogram=None if kept is None else statistics.histogram(),
        recent_step_s=() if kept is None else _recent_s(kept),
        achieved=None if kept is None else kept.achieved,
        optimizers=() if kept is None else kept.optimizers,
        files_left_out=body.files_left_out,
        synthetic=body.synthetic,
    )


def gpus_of(body: RunBody, kept: StepsBody | None) -> tuple[GpuPast, ...]:
    """What the GPUs did that it was on."""
    return body.gpus or (() if kept is None else kept.gpus)


def _recent_s(kept: StepsBody) -> tuple[float, ...]:
    """Seconds of its last steps, those of training that were timed."""
    timed = (event for event in kept.recent if event.phase is Phase.TRAIN)
    return tuple(s for event in timed if (s := event.seconds_per_step) is not None)
