"""Snapshots of a box as people look at it, and the page of one, served."""

from dataclasses import replace

import pytest

from pfid.adapters.http_server import PageServer, Status
from pfid.adapters.status_page import POLICY, status_page
from pfid.bootstrap.specimen import specimen_snapshot
from pfid.config.address import Address
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.domain.gpu_view import GpusView, GpuView, HolderView, WorkKind
from pfid.domain.names import RunId
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import VerdictView
from pfid.domain.step_summary import StepSummary
from pfid.domain.transition import Transition
from pfid.domain.verdict import Entity, EntityKind, Verdict

HOSTILE = "<script>document.title='owned'</script>\"'&<img src=x onerror=alert(1)>\u202e\x1b[31m"


def box(runs=3, name="train", username="anna"):
    """A snapshot with so many runs; the second fails, the third cannot be looked at."""
    whole = specimen_snapshot()
    view = whole.runs[0]
    views, verdicts, changes = [], [], []
    for i in range(runs):
        run_id = RunId(f"train-20260829t120000z-{i:04d}")
        run = replace(view.run, run_id=run_id, name=name, username=username)
        outcome = (Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN)[i % 3]
        steps = tuple(
            10.0 + (i + k) % 5 * 0.3 + (40.0 if k > 40 and i == 1 else 0) for k in range(64)
        )
        views.append(
            replace(
                view,
                run=run,
                state=RunState.STALLED if i == 1 else RunState.RUNNING,
                recent_step_s=steps,
                summary=StepSummary(
                    n=64, first_s=30.0, min_s=10.0, p50_s=10.4, p90_s=11.0, p99_s=11.2, max_s=50.0
                ),
            )
        )
        about = Entity(EntityKind.RUN, run_id)
        said = f"the step time left its distribution in {name}"
        verdict = Verdict(outcome=outcome, reason="shifted", summary=said, entity=about)
        verdicts += [
            VerdictView(
                check=check,
                stage="watch",
                entity=about,
                outcome=outcome if check == "step_time_regime" else Outcome.PASS,
                reason="shifted",
                summary=said,
                since_s=whole.at_s - 90,
                last_run_s=whole.at_s,
            )
            for check in ("run_gone", "step_time_regime")
        ]
        changes.append(
            Transition(
                check="step_time_regime",
                entity=about,
                before=Outcome.PASS,
                verdict=verdict,
                at_s=whole.at_s - 90,
            )
        )
    return replace(
        whole, runs=tuple(views), verdicts=tuple(verdicts), transitions=tuple(changes[:30])
    )


def gpus():
    """Two cards: one that works, one that is gone."""
    facts = GpuFacts(uuid="GPU-0001", index=0, name="NVIDIA H200", pci_bus_id="0000:01:00.0")
    last = GpuSample(
        uuid="GPU-0001",
        at_s=0.0,
        utilization=0.97,
        power_w=312.0,
        power_limit_w=700.0,
        memory_used_bytes=100 << 30,
    )
    holder = HolderView(pid=1, memory_bytes=1, visible=True, username="anna", run_name="train")
    works = GpuView(
        facts=facts,
        present=True,
        last=last,
        kind=WorkKind.LOW_POWER,
        holders=(holder,),
        recent_utilization=(0.9, None, 0.97),
        recent_power_w=(300.0, 320.0, 312.0),
    )
    gone = GpuView(facts=replace(facts, uuid="GPU-0002", index=1), present=False, last=None)
    return GpusView(up=True, expected=2, visible=1, gpus=(works, gone))


@pytest.fixture
def snapshot():
    return box


@pytest.fixture
def with_gpus():
    return replace(box(), gpus=gpus())


@pytest.fixture
def hostile():
    return box(2, name=HOSTILE, username=HOSTILE)


@pytest.fixture
def served():
    """Serve a snapshot; returns the address of its page."""
    servers = []

    def serve(shown, *, healthy=True):
        server = PageServer([Address("127.0.0.1", 0)], healthy=lambda: healthy)
        make = lambda good: status_page(shown, healthy=good)  # noqa: E731 - as the daemon does
        server.publish_status(Status(make=make, policy=POLICY))
        server.start()
        servers.append(server)
        return f"http://{server.addresses[0]}/"

    yield serve
    for server in servers:
        server.stop()
