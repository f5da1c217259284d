"""Worlds for the alerts about pfid itself, and about jobs whose ranks run on several boxes."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from pfid.monitoring.control_tests import JOB, STEP_S
from pfid.monitoring.own_rules import (
    LOOP_STALLED_S,
    PAGE_SLACK_S,
    PROOF_OVERDUE_S,
    STALE_INTERVALS,
    WORKER_ENDS,
    WORKER_WINDOW_S,
)
from pfid.monitoring.run_rules import SLOW_RANK_RATIO
from pfid.monitoring.trial import (
    AT_S,
    BOX,
    LENGTH,
    NOW,
    RISING,
    Series,
    Trial,
    always,
    counter,
    level,
)

LOOP: Final = f"pfid_loop_last_iteration_timestamp_seconds{{{BOX}}}"
SAMPLED: Final = f'pfid_sampler_last_success_timestamp_seconds{{{BOX},sampler="steps"}}'
EVERY_SECOND: Final = always("pfid_sampler_interval_seconds", 1, ',sampler="steps"')
_LATE_S: Final = STALE_INTERVALS * 1 + PAGE_SLACK_S
ASKED_SELDOM: Final = f'pfid_sampler_last_success_timestamp_seconds{{{BOX},sampler="nvml"}}'
_SELDOM: Final = always("pfid_sampler_interval_seconds", 60, ',sampler="nvml"')
_SELDOM_LATE_S: Final = STALE_INTERVALS * 60 + PAGE_SLACK_S
PROOF: Final = f'pfid_selftest_last_success_timestamp_seconds{{{BOX},leg="controls"}}'
STARTED: Final = f"process_start_time_seconds{{{BOX}}}"
BUILD: Final = always("pfid_build_info", 1)
READY: Final = always("pfid_ready", 1)
DROPPED: Final = counter("pfid_dropped_series_total", family="pfid_run_info")


def _behind(series: str, age_s: int) -> tuple[str, str]:
    """A time that goes on, so many seconds behind the box's clock."""
    return series, f"{AT_S - age_s}+{STEP_S}x{LENGTH}"


def _started_at(*steps: int) -> str:
    """Times of a start that change at these steps, the first of them after the first page."""
    parts = [
        f"{number}+0x{until - step - 1}"
        for number, (step, until) in enumerate(pairwise((0, *steps, LENGTH)))
    ]
    return " ".join(parts)


def _of_the_box(trial: Trial) -> Trial:
    """The same worlds, for an alert that tells of the box alone."""
    also = {name: replace(world, about={}) for name, world in trial.also.items()}
    return replace(trial, about={}, also=also)


OF_PFID: Final[Mapping[str, Trial]] = {
    "Watchdog": Trial(fires=(), about={"job": None, "instance": None}),
    "PfidDown": level("up", 0, 1),
    "PfidAbsent": Trial(
        fires=(), quiet={"it is scraped": (always("up", 0),)}, about={"instance": None}
    ),
    "PfidLoopStalled": Trial(
        fires=(NOW, _behind(LOOP, LOOP_STALLED_S + 1)),
        also={"it stands": Trial(fires=(NOW, (LOOP, f"{AT_S}+0x{LENGTH}")), says="40m 0s")},
        quiet={
            "it goes round": (NOW, (LOOP, RISING)),
            "late, and not too late": (NOW, _behind(LOOP, LOOP_STALLED_S)),
            "nobody can tell": (NOW,),
        },
        says="1m 1s",
    ),
    "PfidSamplerStale": Trial(
        fires=(NOW, _behind(SAMPLED, _LATE_S + 1), EVERY_SECOND),
        also={
            "it stands": Trial(
                fires=(NOW, (SAMPLED, f"{AT_S}+0x{LENGTH}"), EVERY_SECOND),
                about={"sampler": "steps"},
                says="40m 0s",
            ),
            "one that is seldom asked": Trial(
                fires=(NOW, _behind(ASKED_SELDOM, _SELDOM_LATE_S + 1), _SELDOM),
                about={"sampler": "nvml"},
                says="5m 31s",
            ),
            **{
                f"{name} never answered": Trial(
                    fires=(NOW, always("pfid_sampler_interval_seconds", 1, f',sampler="{name}"')),
                    about={"sampler": name},
                    says="1s",
                )
                for name in ("steps", "proc")
            },
        },
        quiet={
            "it answers": (NOW, (SAMPLED, RISING), EVERY_SECOND),
            "late, and not too late": (NOW, _behind(SAMPLED, _LATE_S), EVERY_SECOND),
            "seldom asked, and not too late": (
                NOW,
                _behind(ASKED_SELDOM, _SELDOM_LATE_S),
                _SELDOM,
            ),
            "one that not every box has never answered": (NOW, _SELDOM),
        },
        about={"sampler": "steps"},
        says="36s",
    ),
    "PfidSelftestFailed": Trial(
        fires=(always("pfid_gates", 2, ',state="unproven"'),),
        also={
            "one is enough": Trial(
                fires=(always("pfid_gates", 1, ',state="unproven"'),),
                about={"state": "unproven"},
                says="1",
            )
        },
        quiet={"all are proven": (always("pfid_gates", 0, ',state="unproven"'),)},
        about={"state": "unproven"},
        says="2",
    ),
    "PfidSelftestOverdue": Trial(
        fires=(NOW, _behind(PROOF, PROOF_OVERDUE_S + 1), READY),
        also={"there never was one": Trial(fires=(NOW, READY))},
        quiet={
            "young enough": (NOW, _behind(PROOF, PROOF_OVERDUE_S), READY),
            "not ready yet": (NOW, always("pfid_ready", 0)),
        },
        about={"leg": "controls"},
    ),
    "PfidGateUnproven": level("pfid_gate_proven", 0, 1, check="c", leg="live"),
    "PfidNotReady": level("pfid_ready", 0, 1),
    "PfidRestarting": Trial(
        fires=((STARTED, f"1+1x{LENGTH}"), BUILD),
        also={
            "as often as it may, and once more": Trial(
                fires=((STARTED, _started_at(11, 25, 40)), BUILD), says="3"
            )
        },
        quiet={
            "it stays": ((STARTED, f"1+0x{LENGTH}"), BUILD),
            "once of these was before": ((STARTED, _started_at(10, 25, 40)), BUILD),
            "another program does": ((STARTED, f"1+1x{LENGTH}"),),
        },
        says="30",
    ),
    "PfidConfigReloadFailed": level("pfid_config_last_reload_successful", 0, 1),
    "PfidStateNotWritable": level("pfid_store_writable", 0, 1),
    "PfidRunsUnread": Trial(
        fires=(always("pfid_runs_unread", 2),),
        also={"one is enough": Trial(fires=(always("pfid_runs_unread", 1),), says="1")},
        quiet={"all were read": (always("pfid_runs_unread", 0),)},
        says="2",
    ),
    "PfidPluginErrors": counter("pfid_plugin_errors_total", plugin="p", hook="pfid_checks"),
    "PfidPluginWorkerEnds": counter(
        "pfid_plugin_worker_ends_total", WORKER_ENDS, WORKER_WINDOW_S, cause="crashed"
    ),
    "PfidCheckErrors": counter("pfid_check_errors_total", check="c"),
    "PfidPageErrors": counter("pfid_page_errors_total", group="g"),
    "PfidNotificationsFailing": counter("pfid_notifications_failed_total", channel="c"),
    "PfidSeriesLimited": _of_the_box(DROPPED),
}


_RANKED: Final = (("a", "r0"), ("b", "r1"), ("c", "r2"))
_WHO: Final = 'name="n",username="u",job_id="7"'


def _target(box: str, run: str) -> str:
    return f'job="{JOB}",instance="{box}",run="{run}"'


_OF_JOB: Final = tuple(
    (f'pfid_run_info{{{_target(box, run)},{_WHO},rank="{rank}"}}', f"1+0x{LENGTH}")
    for rank, (box, run) in enumerate(_RANKED)
)


def _steps(*seconds: float) -> Series:
    """Step sums and counts of three ranks, by the seconds a step takes on each."""
    found: list[tuple[str, str]] = []
    for (box, run), each_s in zip(_RANKED, seconds, strict=True):
        labels = f"{{{_target(box, run)}}}"
        found.append((f"pfid_step_duration_seconds_sum{labels}", f"0+{60 * each_s}x{LENGTH}"))
        found.append((f"pfid_step_duration_seconds_count{labels}", f"0+60x{LENGTH}"))
    return tuple(found)


def _worlds(size: int) -> Series:
    return tuple(
        (f"pfid_run_world_size{{{_target(box, run)}}}", f"{size}+0x{LENGTH}")
        for box, run in _RANKED
    )


_SHORT: Final = "1+0x10 stale"
_SEEN_FOR_S: Final = 11 * STEP_S


def _last(*seen: tuple[str, str]) -> Series:
    """A fourth rank on a box of its own, and what else is seen of it, for ten minutes."""
    of_run = _target("d", "r3")
    return (
        (f'pfid_run_info{{{of_run},{_WHO},rank="3"}}', _SHORT),
        (f"pfid_run_start_timestamp_seconds{{{of_run}}}", _SHORT),
        *((f"{name}{{{of_run}{labels}}}", _SHORT) for name, labels in seen),
    )


_BOX_D: Final = f'job="{JOB}",instance="d"'
_SEEN_TO_THE_END: Final = ((f"pfid_ready{{{_BOX_D}}}", f"1+0x{LENGTH}"),)
_OUT_OF_SIGHT: Final = ((f"pfid_ready{{{_BOX_D}}}", _SHORT),)
_END: Final = ("pfid_run_end_timestamp_seconds", "")
_EXITED: Final = _last(_END, ("pfid_run_state", ',state="exited"'))
_KILLED: Final = _last(_END, ("pfid_run_state", ',state="killed"'))

_THE_LAST: Final = {"instance": "c", "run": "r2", "rank": "2", "job_id": "7"}
OF_JOBS: Final[Mapping[str, Trial]] = {
    "PfidRankSlow": Trial(
        fires=(*_OF_JOB, *_steps(1, 1, 2)),
        also={
            "just slow enough": Trial(
                fires=(*_OF_JOB, *_steps(1, 1, SLOW_RANK_RATIO + 0.01)),
                about=_THE_LAST,
                says="1.51",
            )
        },
        quiet={
            "all alike": (*_OF_JOB, *_steps(1, 1.2, 1.4)),
            "not slow enough": (*_OF_JOB, *_steps(1, 1, SLOW_RANK_RATIO - 0.01)),
            "slow beside the quickest alone": (*_OF_JOB, *_steps(1, 1.2, 1.7)),
            "no steps": _OF_JOB,
        },
        about=_THE_LAST,
        says="2.00",
    ),
    "PfidRankMissing": Trial(
        fires=(*_OF_JOB, *_worlds(4), *_KILLED, *_SEEN_TO_THE_END),
        quiet={
            "all are there": (*_OF_JOB, *_worlds(3)),
            "no size was told": _OF_JOB,
            "one has finished": (*_OF_JOB, *_worlds(4), *_EXITED, *_SEEN_TO_THE_END),
            "one is out of sight": (*_OF_JOB, *_worlds(4), *_last(), *_OUT_OF_SIGHT),
        },
        about={"job_id": "7", "instance": None},
        says="3",
    ),
    "PfidRankMissingUnknown": Trial(
        fires=(*_OF_JOB, *_worlds(4), *_last(), *_OUT_OF_SIGHT),
        quiet={
            "all are there": (*_OF_JOB, *_worlds(3)),
            "one is dead": (*_OF_JOB, *_worlds(4), *_KILLED, *_SEEN_TO_THE_END),
            "one had died before": (*_OF_JOB, *_worlds(4), *_KILLED, *_OUT_OF_SIGHT),
            "one has finished": (*_OF_JOB, *_worlds(4), *_EXITED, *_OUT_OF_SIGHT),
        },
        about={"job_id": "7", "instance": None},
        says="3",
        due_s=_SEEN_FOR_S,
    ),
}
