"""Which ranks a job is said to have and to miss, from the environments that real launchers make.

Each rank runs on a box of its own that is scraped once a minute. What has ended leaves the page
after a quarter of an hour, as it does on a real one.
"""

import json
from dataclasses import dataclass, field, replace

import pytest

from pfid.adapters import promtool
from pfid.monitoring.rule import Group
from pfid.monitoring.rule_file import rules_data
from pfid.monitoring.run_rules import FLEET, RUN_FACTS
from pfid.monitoring.yaml_text import yaml_text
from pfid.policy.job_identity import job_identity

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool")]
FATE_MIN, SHOWN_MIN, LENGTH_MIN = 10, 15, 60
MEMORY_MIN, LONG_MIN = 360, 400
SOON_MIN, LATE_MIN = 20, 50
"""While what has ended is on the page, and long after."""
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One run: where, in what environment, how it ends, and from when its box is out of sight."""

    box: str
    environ: dict[str, str] = field(default_factory=dict)
    state: str | None = None
    unseen_from_min: int = LENGTH_MIN
    from_min: int = 0
    length_min: int = LENGTH_MIN

    def series(self):
        job = job_identity(self.environ)
        labels = {"job": "pfid", "instance": self.box, "run": f"{self.box}-{self.from_min}"}
        places = {"job_id": job.job_id, "rank": job.rank}
        info = labels | {k: str(v) for k, v in places.items() if v is not None}
        yield self._of("pfid_run_info", info, 1)
        yield self._of("pfid_run_start_timestamp_seconds", labels, 60 * self.from_min)
        if job.world_size is not None:
            yield self._of("pfid_run_world_size", labels, job.world_size)
        if self.state is not None:
            gap, ended_s = "_ " * (self.from_min + FATE_MIN), 60 * (self.from_min + FATE_MIN)
            shown = min(SHOWN_MIN, self.unseen_from_min - FATE_MIN)
            yield _line("pfid_run_state", labels | {"state": self.state}, gap, 1, shown)
            yield _line("pfid_run_end_timestamp_seconds", labels, gap, ended_s, shown)

    def _of(self, name, labels, value):
        shown = self.length_min if self.state is None else FATE_MIN + SHOWN_MIN
        return _line(name, labels, "_ " * self.from_min, value, min(shown, self.unseen_from_min))


def _line(name, labels, gap, value, shown_min):
    inner = ",".join(f'{k}="{v}"' for k, v in labels.items())
    return {"series": f"{name}{{{inner}}}", "values": f"{gap}{value}+0x{shown_min} stale"}


def boxes(ranks):
    for box in dict.fromkeys(r.box for r in ranks):
        seen_min = min(r.unseen_from_min for r in ranks if r.box == box)
        yield _line("pfid_ready", {"job": "pfid", "instance": box}, "", 1, seen_min)


@dataclass(frozen=True, kw_only=True)
class World:
    """Ranks, and what expressions come to at some minute."""

    name: str
    ranks: list[Rank]
    expected: list[tuple[str, int, int]]

    def data(self):
        return {
            "name": self.name,
            "interval": "1m",
            "input_series": [*boxes(self.ranks), *(s for r in self.ranks for s in r.series())],
            "promql_expr_test": [
                {
                    "expr": f"({expr}) or vector(0)",
                    "eval_time": f"{at_min}m",
                    "exp_samples": [{"labels": "{}", "value": value}],
                }
                for expr, at_min, value in self.expected
            ],
        }


def said(tmp_path, *worlds):
    """What promtool says of them, "" if all is as expected."""
    return promtool_says(tmp_path, [world.data() for world in worlds])


def promtool_says(tmp_path, tests, every="1m"):
    """What promtool says of tests in its own form."""
    groups = [FLEET, Group(name="facts", rules=RUN_FACTS)]
    (tmp_path / "rules.yml").write_text(yaml_text(rules_data(groups)))
    file = tmp_path / "test.json"
    file.write_text(
        json.dumps({"rule_files": ["rules.yml"], "evaluation_interval": every, "tests": tests})
    )
    return promtool.test_rules(file)


def firing(alert):
    return f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'


JOBS, RANKS = "count(job_id:pfid_ranks:count)", "sum(job_id:pfid_ranks:count)"


def quiet(jobs, ranks):
    """So many jobs and ranks, and no alert, soon and late."""
    return [
        *((JOBS, at, jobs) for at in (SOON_MIN, LATE_MIN)),
        *((RANKS, at, ranks) for at in (SOON_MIN, LATE_MIN)),
        *((firing("PfidRankMissing"), at, 0) for at in (SOON_MIN, LATE_MIN)),
        *((firing("PfidRankMissingUnknown"), at, 0) for at in (SOON_MIN, LATE_MIN)),
    ]


def step(n, **more):
    return [
        Rank(
            box=f"n{i}",
            environ={"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": str(n)}
            | {"SLURM_PROCID": str(i), **more},
        )
        for i in range(n)
    ]


def pytorch_job(n):
    roles = ["master-0", *(f"worker-{i}" for i in range(n - 1))]
    return [
        Rank(
            box=f"n{i}",
            environ=POD | {"HOSTNAME": f"t-{role}", "RANK": str(i), "WORLD_SIZE": str(n)},
        )
        for i, role in enumerate(roles)
    ]


def indexed(n):
    return [
        Rank(box=f"n{i}", environ=POD | {"HOSTNAME": f"t-{i}", "JOB_COMPLETION_INDEX": str(i)})
        for i in range(n)
    ]


LAUNCHER = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_NODEID": "0"}
WHOLE = {
    "step of srun": (step(4), 1, 4),
    "PyTorchJob": (pytorch_job(3), 1, 3),
    "indexed job of Kubernetes": (indexed(3), 1, 3),
    "torchrun on each node": (step(2, WORLD_SIZE="16", MASTER_ADDR="n0"), 1, 2),
    "torchrun in each pod": (
        [replace(r, environ=r.environ | {"WORLD_SIZE": "16"} | {"PET_NNODES": "2"}
            | {"PET_NODE_RANK": r.environ["RANK"]}) for r in pytorch_job(2)],
        1,
        2,
    ),
    "launcher in an allocation": ([Rank(box="n0", environ=LAUNCHER)], 0, 0),
    "launcher that states its ranks' world": (
        [Rank(box="n0", environ=LAUNCHER | {"WORLD_SIZE": "8"})],
        0,
        0,
    ),
    "launcher's pod": (
        [Rank(box="n0", environ=POD | {"HOSTNAME": "t-launcher-x7k2p", "WORLD_SIZE": "8"})],
        0,
        0,
    ),
    "a program by itself": ([Rank(box="n0")], 0, 0),
    "a program by itself in a pod": ([Rank(box="n0", environ=POD | {"HOSTNAME": "p-0"})], 0, 0),
    "two steps of one allocation": (
        [*step(2), *(replace(r, box=f"m{i}", environ=r.environ | {"SLURM_STEP_ID": "1"})
            for i, r in enumerate(step(3)))],
        2,
        5,
    ),
}  # fmt: skip


def test_a_job_that_is_whole_is_one_job_and_misses_no_rank(tmp_path):
    worlds = [World(name=n, ranks=r, expected=quiet(j, c)) for n, (r, j, c) in WHOLE.items()]
    assert said(tmp_path, *worlds) == ""


def missing(*at_min, value=1):
    return [(firing("PfidRankMissing"), at, value) for at in at_min]


def with_second(ranks, **change):
    return [ranks[0], replace(ranks[1], **change), *ranks[2:]]


def test_a_rank_that_did_not_end_well_or_never_began_is_missed_soon_and_late(tmp_path):
    worlds = [
        World(
            name=f"{state} {launched.__name__}",
            ranks=with_second(launched(3), state=state),
            expected=[*missing(SOON_MIN, LATE_MIN), (RANKS, LATE_MIN, 2)],
        )
        for launched in (step, pytorch_job)
        for state in ("killed", "failed", "lost")
    ]
    never = World(name="never", ranks=step(3)[1:], expected=missing(SOON_MIN, LATE_MIN))
    assert said(tmp_path, *worlds, never) == ""


def test_a_rank_that_ended_with_0_before_the_others_is_missed_only_if_begun_again(tmp_path):
    ended = with_second(step(3), state="exited")
    again = replace(ended[1], state="failed", from_min=12)
    assert (
        said(
            tmp_path,
            World(name="ended", ranks=ended, expected=quiet(1, 3)),
            World(name="again", ranks=[*ended, again], expected=missing(LATE_MIN)),
        )
        == ""
    )


def test_a_job_that_is_over_misses_nobody(tmp_path):
    worlds = [
        World(
            name=" ".join(states),
            ranks=[replace(r, state=s) for r, s in zip(step(3), states, strict=True)],
            expected=missing(SOON_MIN, LATE_MIN, value=0),
        )
        for states in (("exited", "exited", "exited"), ("failed", "exited", "killed"))
    ]
    assert said(tmp_path, *worlds) == ""


def test_a_job_that_was_launched_again_with_fewer_ranks_misses_none(tmp_path):
    """Both worlds are on the pages for a while; only the one that lives counts."""
    torchrun = {"SLURM_JOB_ID": "7", "WORLD_SIZE": "3"}
    first = [
        Rank(box=f"n{i}", environ=torchrun | {"RANK": str(i)}, state="failed") for i in range(3)
    ]
    second = [
        replace(r, environ=r.environ | {"WORLD_SIZE": "2"}, state=None, from_min=11)
        for r in first[:2]
    ]
    world = World(name="fewer", ranks=[*first, *second], expected=quiet(1, 2))
    assert said(tmp_path, world) == ""


def test_a_rank_whose_box_is_out_of_sight_is_unknown_unless_it_died_before_or_elsewhere(tmp_path):
    lived = with_second(step(3), unseen_from_min=12)
    died = with_second(step(3), state="killed", unseen_from_min=14)
    elsewhere = replace(step(3)[1], box="n9", from_min=14, state="killed")
    unknown = firing("PfidRankMissingUnknown")
    assert (
        said(
            tmp_path,
            World(
                name="lived",
                ranks=lived,
                expected=[
                    *missing(SOON_MIN, LATE_MIN, value=0),
                    (unknown, LATE_MIN, 1),
                    (RANKS, LATE_MIN, 2),
                ],
            ),
            World(
                name="died before",
                ranks=died,
                expected=[*missing(LATE_MIN), (unknown, LATE_MIN, 0)],
            ),
            World(name="elsewhere", ranks=[*lived, elsewhere], expected=missing(LATE_MIN)),
        )
        == ""
    )


def test_a_rank_that_finished_or_is_out_of_sight_is_remembered_for_six_hours(tmp_path):
    """To the minute: of one that has ended the last page that showed it counts."""
    whole = [replace(r, length_min=LONG_MIN, unseen_from_min=LONG_MIN) for r in step(3)]
    last_shown, last_seen = FATE_MIN + SHOWN_MIN, 12
    worlds = [
        World(
            name=name,
            ranks=with_second(whole, **fate),
            expected=[
                (f"sum({counted})", since + MEMORY_MIN, 3),
                (f"sum({counted})", since + MEMORY_MIN + 1, 2),
                *missing(since + MEMORY_MIN, value=0),
                *missing(since + MEMORY_MIN + 3),
            ],
        )
        for name, fate, since, counted in (
            ("finished", {"state": "exited"}, last_shown, "job_id:pfid_ranks:count"),
            (
                "unseen",
                {"unseen_from_min": last_seen},
                last_seen,
                "job_id:pfid_ranks:count_perhaps",
            ),
        )
    ]
    assert said(tmp_path, *worlds) == ""


def test_the_mean_of_steps_is_that_of_the_last_five_minutes(tmp_path):
    """Steps take a second for twenty minutes, then two; pages are scraped every half minute."""
    labels = '{job="pfid",instance="n0",run="r"}'
    mean = "sum(round(1000 * run:pfid_step_duration_seconds:mean5m))"
    moments = (("20m", 1_000), ("24m30s", 1_900), ("25m", 2_000))
    test = {
        "interval": "30s",
        "input_series": [
            {"series": f"pfid_step_duration_seconds_count{labels}", "values": "0+30x60"},
            {"series": f"pfid_step_duration_seconds_sum{labels}", "values": "0+30x40 1260+60x19"},
        ],
        "promql_expr_test": [
            {"expr": mean, "eval_time": at, "exp_samples": [{"labels": "{}", "value": value}]}
            for at, value in moments
        ],
    }
    assert promtool_says(tmp_path, [test], every="30s") == ""
