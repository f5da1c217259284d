"""Recorded series about runs, and about jobs whose ranks run on several boxes.

Prometheus is the distributed engine: every box exports who its runs are, rules join them.
"""

from typing import Final

from pfid.monitoring.rule import Alert, Group, Recorded

SUPERSEDED: Final = "run:pfid_run_superseded:group"
ENDED: Final = "run:pfid_run_ended:group"
RUN_MEAN: Final = "run:pfid_step_duration_seconds:mean5m"
RANK_MEAN: Final = "rank:pfid_step_duration_seconds:mean5m"
JOB_MEDIAN: Final = "job_id:pfid_step_duration_seconds:median"
RANK_RATIO: Final = "rank:pfid_step_duration_seconds:ratio_median"
RANKS: Final = "job_id:pfid_ranks:count"
WORLD: Final = "job_id:pfid_run_world_size:max"
IDENTITY: Final = "* on (job, instance, run) group_left (name, username) pfid_run_info"
_RANKS: Final = 'pfid_run_info{job_id!="",rank!=""}'
SLOW_RANK_RATIO: Final = 1.5

RUN_FACTS: Final = (
    Recorded(
        name=ENDED,
        expr='group by (job, instance, run) (pfid_run_state{state=~"exited|failed|killed|lost"}'
        " == 1)",
    ),
    # Ended, and a run of the same name and user was started since: a relaunch.
    Recorded(
        name=SUPERSEDED,
        expr="group by (job, instance, run) ("
        f"(pfid_run_end_timestamp_seconds {IDENTITY})"
        " <= on (job, instance, name, username) group_left ()"
        f" max by (job, instance, name, username) (pfid_run_start_timestamp_seconds"
        f" {IDENTITY}))",
    ),
)
"""What alerts about runs look at; they stand in the same group, so that both are of one moment."""

FLEET: Final = Group(
    name="pfid-fleet",
    rules=(
        Recorded(
            name=RUN_MEAN,
            expr="rate(pfid_step_duration_seconds_sum[5m])"
            " / (rate(pfid_step_duration_seconds_count[5m]) > 0)",
        ),
        Recorded(
            name="run:pfid_step_duration_seconds:ratio_baseline",
            expr=f"{RUN_MEAN} / on (job, instance, run) pfid_step_baseline_seconds",
        ),
        Recorded(
            name="instance:pfid_runs:living",
            expr='sum by (job, instance) (pfid_runs{state!~"exited|failed|killed|lost"})',
        ),
        Recorded(
            name=RANK_MEAN,
            expr=f"max by (job, job_id, rank, instance, run) ({RUN_MEAN}"
            f" * on (job, instance, run) group_left (job_id, rank) {_RANKS})",
        ),
        Recorded(name=JOB_MEDIAN, expr=f"quantile by (job, job_id) (0.5, {RANK_MEAN})"),
        Recorded(
            name=RANK_RATIO,
            expr=f"{RANK_MEAN} / on (job, job_id) group_left () {JOB_MEDIAN}",
        ),
        Recorded(
            name=RANKS,
            expr=f"count by (job, job_id) (count by (job, job_id, rank) ({_RANKS}"
            f" unless on (job, instance, run) {ENDED}))",
        ),
        Recorded(
            name=WORLD,
            expr="max by (job, job_id) (pfid_run_world_size"
            f" * on (job, instance, run) group_left (job_id) {_RANKS})",
        ),
        Alert(
            name="PfidRankSlow",
            expr=f"{RANK_RATIO} > {SLOW_RANK_RATIO}",
            for_s=300,
            severity="warning",
            summary="A rank is much slower than the median rank of its job.",
            description="Rank {{ $labels.rank }} of job {{ $labels.job_id }} (run"
            " {{ $labels.run }} on {{ $labels.instance }}) takes"
            ' {{ $value | printf "%.2f" }} times the median step of its job.',
            runbook="`pfid show RUN` on that box; compare its GPUs, its data path and its clocks"
            " with a rank that is not slow.",
        ),
        Alert(
            name="PfidRankMissing",
            expr=f"{RANKS} < {WORLD}",
            for_s=120,
            severity="critical",
            summary="A job runs with fewer ranks than it was launched with.",
            description="Job {{ $labels.job_id }} has {{ $value }} living ranks on all boxes,"
            " fewer than its world size.",
            runbook="`pfid status` on the boxes of the job names the rank that ended, and how; a"
            " box that is down itself shows as PfidDown.",
        ),
    ),
)
