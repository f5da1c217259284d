"""Recorded series about runs, and about jobs whose ranks run on several boxes.

Prometheus is the distributed engine: every box exports who its runs are, rules join them.
"""

from typing import Final

from pfid.monitoring.rule import Alert, Group, Recorded

SUPERSEDED: Final = "run:pfid_run_superseded:group"
ENDED: Final = "run:pfid_run_ended:group"
RUN_MEAN: Final = "run:pfid_step_duration_seconds:mean5m"
RANK_MEAN: Final = "rank:pfid_step_duration_seconds:mean5m"
FAILING: Final = "check:pfid_check_failing:reason"
HEARD: Final = "instance:pfid_ready:heard_time"
LAST_HEARD: Final = "instance:pfid_ready:last_heard_time"
KEPT: Final = "15m"
"""How long what failed is held to fail on while nobody watches: as long as pfid's page would show
a run that has ended."""
JOB_MEDIAN: Final = "job_id:pfid_step_duration_seconds:median"
RANK_RATIO: Final = "rank:pfid_step_duration_seconds:ratio_median"
SEEN: Final = "instance:pfid_ready:time"
LIVING: Final = "rank:pfid_run_info:living_time"
LAST_LIVING: Final = "rank:pfid_run_info:last_living_time"
STARTED: Final = "rank:pfid_run_start_timestamp_seconds:max"
FINISHED: Final = "rank:pfid_run_end_timestamp_seconds:finished"
RANKS: Final = "job_id:pfid_ranks:count"
PERHAPS: Final = "job_id:pfid_ranks:count_perhaps"
MEMORY: Final = "6h"
"""How long a rank is remembered that has finished, or whose box is out of sight."""
WORLD: Final = "job_id:pfid_run_world_size:max"
IDENTITY: Final = "* on (job, instance, run) group_left (name, username) pfid_run_info"
_RANKS: Final = 'pfid_run_info{job_id!="",rank!=""}'
_NOW_READY: Final = "0 * (pfid_ready == 1) + time()"
"""Recorded in each group that needs it: only what one group records is of one moment."""
_OF_RUN: Final = 'run!=""'
_OF_OTHERS: Final = 'run=""'
SLOW_RANK_RATIO: Final = 1.5


def _failing(which: str) -> str:
    """Verdicts that fail, with their reason."""
    return (
        f"(pfid_check_failing{{{which}}} == 1) * on (job, instance, check, run, uuid)"
        f" group_left (reason) pfid_check_reason_info{{{which}}}"
    )


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
    # What fails and why, and when; nothing about a run that was launched again since.
    Recorded(
        name=FAILING,
        expr=f"0 * (((({_failing(_OF_RUN)}) {IDENTITY}) unless on (job, instance, run)"
        f" {SUPERSEDED}) or ({_failing(_OF_OTHERS)})) + time()",
    ),
    Recorded(name=HEARD, expr=_NOW_READY),
    Recorded(name=LAST_HEARD, expr=f"max by (job, instance) (max_over_time({HEARD}[{KEPT}]))"),
)
"""What alerts about runs look at; they stand in the same group, so that both are of one moment."""

_LIVING_RANKS: Final = f"{_RANKS} unless on (job, instance, run) {ENDED}"
_BY_RANK: Final = "by (job, job_id, rank)"


def _of_ranks(of_run: str) -> str:
    """The largest of a run's figure for each rank."""
    return f"max {_BY_RANK} ({of_run} * on (job, instance, run) group_left (job_id, rank) {_RANKS})"


_LIVE: Final = f"group {_BY_RANK} ({LIVING})"
_DONE: Final = (
    f"group {_BY_RANK} (max_over_time({FINISHED}[{MEMORY}]) >= max_over_time({STARTED}[{MEMORY}]))"
)
"""Ended with 0 while others go on, and was not started again."""
_UNSEEN: Final = (
    f"group {_BY_RANK} (({LAST_LIVING} == on (job, instance) group_left ()"
    f" max by (job, instance) (max_over_time({SEEN}[{MEMORY}])))"
    f" == on (job, job_id, rank) group_left () max {_BY_RANK} ({LAST_LIVING}))"
)
"""Lived when its box was last seen, and nowhere later."""

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
        Recorded(name=SEEN, expr=_NOW_READY),
        Recorded(
            name=LIVING,
            expr=f"0 * group by (job, instance, job_id, rank) ({_LIVING_RANKS}) + time()",
        ),
        Recorded(
            name=LAST_LIVING,
            expr=f"max by (job, instance, job_id, rank) (max_over_time({LIVING}[{MEMORY}]))",
        ),
        Recorded(name=STARTED, expr=_of_ranks("pfid_run_start_timestamp_seconds")),
        Recorded(
            name=FINISHED,
            expr=_of_ranks(
                "(pfid_run_end_timestamp_seconds and on (job, instance, run)"
                ' (pfid_run_state{state="exited"} == 1))'
            ),
        ),
        Recorded(name=RANKS, expr=f"count by (job, job_id) ({_LIVE} or {_DONE})"),
        Recorded(name=PERHAPS, expr=f"count by (job, job_id) ({_LIVE} or {_DONE} or {_UNSEEN})"),
        Recorded(
            name=WORLD,
            expr="max by (job, job_id) (pfid_run_world_size"
            f" * on (job, instance, run) group_left (job_id) ({_LIVING_RANKS}))",
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
            expr=f"{PERHAPS} < {WORLD}",
            for_s=120,
            severity="critical",
            summary="A job runs with fewer ranks than it was launched with.",
            description="Job {{ $labels.job_id }} has {{ $value }} ranks that live, have finished"
            " or are out of sight on all boxes, fewer than its world size.",
            runbook="`pfid status` on the boxes of the job names the rank that ended, and how; a"
            " rank that was never started under pfid counts as missing too.",
        ),
        Alert(
            name="PfidRankMissingUnknown",
            expr=f"({RANKS} < {WORLD}) unless ({PERHAPS} < {WORLD})",
            for_s=600,
            severity="warning",
            summary="Nobody can tell whether a job has all its ranks.",
            description="Of job {{ $labels.job_id }} {{ $value }} ranks live or have finished; the"
            " boxes of the others do not answer.",
            runbook="A box that is down shows as PfidDown; its ranks lived when it was last seen.",
        ),
    ),
)
