"""Snapshots to render: a small box with everything on it, and single pieces."""

import pytest

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import ProcessIdentity
from pfid.domain.inside import Achieved
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, Run, RunEnd, RunSource, RunState
from pfid.domain.snapshot import (
    CheckCost,
    DaemonHealth,
    PluginView,
    Resources,
    RunView,
    SamplerView,
    Snapshot,
    StepHistogram,
    VerdictView,
)
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.domain.verdict import BOX, Entity, EntityKind

NOW_S = 1_788_000_000.0


class Box:
    """Builds what a page is made of."""

    now_s = NOW_S

    def run(self, run_id="train-0001", *, state=RunState.RUNNING, ended_ago_s=None, **given):
        run = Run(
            run_id=run_id,
            name=given.pop("name", "train"),
            identity=ProcessIdentity(machine_id="m", boot_id="b", pid=4242, start_ticks=7),
            uid=1000,
            username=given.pop("username", "anna"),
            source=RunSource.WRAPPER,
            started_at_s=given.pop("started_at_s", NOW_S - 3_600),
            job_id=given.pop("job_id", None),
            rank=given.pop("rank", None),
            world_size=given.pop("world_size", None),
        )
        end = given.pop("end", None)
        if ended_ago_s is not None:
            end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=NOW_S - ended_ago_s)
            state = RunState.EXITED
        return RunView(run=run, state=state, end=end, **given)

    def verdict(self, check="run_gone", about="train-0001", outcome=Outcome.PASS, **given):
        entity = Entity(EntityKind.RUN, about) if isinstance(about, str) else about
        defaults = {"stage": "watch", "reason": "fine", "summary": "fine"}
        return VerdictView(
            check=check,
            entity=entity,
            outcome=outcome,
            since_s=NOW_S,
            last_run_s=NOW_S,
            **{**defaults, **given},
        )

    def gate(self, check="run_gone", state=GateState.PROVEN, **legs):
        proven_to = ProvenTo(**(legs or {"controls": True, "sabotage": True}))
        return Gate(
            check=check, stage="watch", state=state, proven_to=proven_to, proven_at_s=NOW_S - 60
        )

    def snapshot(self, **parts):
        health = parts.pop(
            "health", DaemonHealth(started_at_s=NOW_S - 9, ready=True, last_iteration_s=NOW_S)
        )
        return Snapshot(
            at_s=NOW_S, health=health, **{name: tuple(part) for name, part in parts.items()}
        )

    def whole(self):
        """One of everything."""
        training = self.run(
            last_progress_at_s=NOW_S - 2,
            steps_total=1_445,
            histogram=StepHistogram(counts=(0,) * 10 + (900, 544) + (0,) * 6, sum_s=28_500.5),
            baseline=Baseline(median_s=19.75, source=BaselineSource.EARLIER_RUNS, n=1_444),
            slowdown_ratio=1.02,
            achieved=Achieved(
                window_s=61.5,
                steps=3,
                ranks=2,
                tokens_per_s=5_200.5,
                real_tokens_per_s=4_100.25,
                flops_per_s=5.4e13,
                recompute_flops_per_s=1.8e13,
                accounting="6ND of 4e+09 trained, active parameters, without attention",
                model_flops_utilization=0.0888,
            ),
            resources=Resources(
                processes=9,
                cpu_seconds=12_345.6,
                resident_bytes=8_589_934_592,
                memory_limit_bytes=68_719_476_736,
                memory_available_bytes=51_539_607_552,
            ),
            job_id="812",
            rank=0,
            world_size=2,
        )
        killed = self.run(
            "train-0002",
            name="sweep",
            state=RunState.KILLED,
            end=RunEnd(kind=EndKind.SIGNALED, exit_code=None, signal=9, at_s=NOW_S - 30),
        )
        return self.snapshot(
            health=DaemonHealth(
                started_at_s=NOW_S - 90,
                ready=True,
                last_iteration_s=NOW_S - 0.5,
                iterations=90,
                iteration_seconds=0.45,
                config_loaded_s=NOW_S - 90,
                selftest_last_success_s={"controls": NOW_S - 80},
                selftest_detection_s={"live": 31.5},
                log_messages={"info": 12},
            ),
            runs=[training, killed],
            verdicts=[
                self.verdict(),
                self.verdict("step_time_regime", outcome=Outcome.UNKNOWN, reason="no_baseline"),
                self.verdict(about="train-0002", outcome=Outcome.FAIL, reason="signaled"),
                self.verdict("loss_not_finite", outcome=Outcome.NOT_APPLICABLE),
                self.verdict("gate_proof_stale", about=BOX),
            ],
            gates=[
                self.gate(),
                self.gate("step_time_regime", controls=True, sabotage=True, live=False),
                self.gate("gate_proof_stale"),
                self.gate("recompile_limit", GateState.UNPROVEN, controls=False, sabotage=True),
            ],
            samplers=[SamplerView(name="proc", interval_s=1.0, last_success_s=NOW_S - 1)],
            costs=[CheckCost(check="run_gone", last_run_s=NOW_S, runs=90, seconds=0.02)],
            plugins=[PluginView(name="pfid_plugins", version="0.1.0")],
        )


@pytest.fixture
def box():
    return Box()


@pytest.fixture
def families():
    """Parse a page with the library's own parser: name to {labels: value}."""
    from prometheus_client.parser import text_string_to_metric_families

    def read(page):
        found = {}
        for family in text_string_to_metric_families(page.decode()):
            for sample in family.samples:
                labels = frozenset(sample.labels.items())
                assert labels not in found.setdefault(sample.name, {}), f"twice: {sample}"
                found[sample.name][labels] = sample.value
        return found

    return read


@pytest.fixture
def label():
    return lambda **pairs: frozenset(pairs.items())
