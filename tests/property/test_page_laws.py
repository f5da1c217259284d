"""Laws of the page that hold for any snapshot, however odd."""

import gzip
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pfid.adapters.http_server.prepared import PreparedPage
from pfid.adapters.page import Page
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import ProcessIdentity
from pfid.domain.outcome import Outcome, worst
from pfid.domain.run import EndKind, Run, RunEnd, RunSource, RunState
from pfid.domain.snapshot import (
    DaemonHealth,
    Resources,
    RunView,
    Snapshot,
    StepHistogram,
    VerdictView,
)
from pfid.domain.verdict import BOX, Entity, EntityKind

NOW_S = 10_000.0
CAP = 3
CHECKS = ("a", "b")
RUN_IDS = [f"r-{i}" for i in range(5)]
NUMBERS = st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 1e6, 123456789.0, 5e-324, 1e300])


@st.composite
def runs(draw, run_id):
    state = draw(st.sampled_from(RunState))
    ended_at_s = draw(st.floats(0, NOW_S))
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=ended_at_s)
    return RunView(
        run=Run(
            run_id=run_id,
            name=draw(st.text(max_size=20)),
            identity=ProcessIdentity(machine_id="m", boot_id="b", pid=1, start_ticks=1),
            uid=1,
            username=draw(st.text(max_size=5)),
            source=RunSource.WRAPPER,
            started_at_s=draw(st.floats(0, NOW_S)),
        ),
        state=state,
        end=end if state.ended else None,
        steps_total=draw(st.integers(0, 10**9)),
        histogram=draw(
            st.none()
            | st.builds(
                StepHistogram,
                counts=st.tuples(*[st.integers(0, 1000)] * 18),
                sum_s=NUMBERS,
            )
        ),
        resources=draw(
            st.none() | st.builds(Resources, processes=st.integers(0, 9), cpu_seconds=NUMBERS)
        ),
        slowdown_ratio=draw(st.none() | NUMBERS),
        synthetic=draw(st.booleans()),
    )


ENTITIES = st.sampled_from([BOX, *(Entity(EntityKind.RUN, run_id) for run_id in RUN_IDS)])
VERDICTS = st.builds(
    VerdictView,
    check=st.sampled_from(CHECKS),
    stage=st.sampled_from(["watch", "watch", "preflight"]),
    entity=ENTITIES,
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(["why", "how"]),
    summary=st.just("s"),
    since_s=st.just(0.0),
    last_run_s=st.just(0.0),
    counts=st.booleans(),
    synthetic=st.booleans(),
)
GATES = st.builds(
    Gate,
    check=st.sampled_from(CHECKS),
    stage=st.just("watch"),
    state=st.sampled_from(GateState),
    proven_to=st.builds(ProvenTo, controls=st.none() | st.booleans()),
)


@st.composite
def snapshots(draw):
    ids = draw(st.lists(st.sampled_from(RUN_IDS), unique=True))
    return Snapshot(
        at_s=NOW_S,
        health=DaemonHealth(started_at_s=0.0, ready=True, last_iteration_s=NOW_S),
        runs=tuple(draw(runs(run_id)) for run_id in ids),
        verdicts=tuple(draw(st.lists(VERDICTS, max_size=8))),
        gates=tuple(draw(st.lists(GATES, max_size=2, unique_by=lambda gate: gate.check))),
    )


def parsed(page):
    """Samples by name and labels, as a real parser reads them; none stands twice."""
    found = defaultdict(dict)
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            key = frozenset(sample.labels.items())
            assert key not in found[sample.name]
            found[sample.name][key] = sample.value
    return found


def believed(snapshot, labels):
    """What the page must say of one series, worked out the slow way; None for nothing."""
    states = {gate.check: gate.state for gate in snapshot.gates}
    said = []
    for verdict in snapshot.verdicts:
        about = {"check": verdict.check}
        if verdict.entity.kind is EntityKind.RUN:
            about["run"] = verdict.entity.id
        state = states.get(verdict.check, GateState.PROVEN)
        hidden = verdict.synthetic or verdict.stage != "watch" or state is GateState.DISABLED
        if hidden or verdict.outcome is Outcome.NOT_APPLICABLE or about != labels:
            continue
        proven = verdict.counts and state is GateState.PROVEN
        said.append(verdict.outcome if proven else Outcome.UNKNOWN)
    return worst(said) if said else None


def failing_runs(snapshot):
    """What has its place on the page before anything else."""
    pairs = [(run_id, {"check": check, "run": run_id}) for run_id in RUN_IDS for check in CHECKS]
    return {run_id for run_id, about in pairs if believed(snapshot, about) is Outcome.FAIL}


@settings(deadline=None)
@given(snapshots())
def test_a_series_says_what_was_believed_and_nothing_unproven_passes(snapshot):
    found = parsed(Page(exported_runs_max=CAP).render(snapshot))
    failing, unknown = found["pfid_check_failing"], found["pfid_check_unknown"]
    assert failing.keys() == unknown.keys()
    shown = {dict(labels)["run"] for labels in found["pfid_run_info"]}
    for check in CHECKS:
        for labels in ({"check": check}, *({"check": check, "run": r} for r in RUN_IDS)):
            key = frozenset(labels.items())
            expected = believed(snapshot, labels)
            if expected is None or ("run" in labels and labels["run"] not in shown):
                assert key not in failing
            else:
                assert failing[key] == (expected is Outcome.FAIL)
                assert unknown[key] == (expected is Outcome.UNKNOWN)


@settings(deadline=None)
@given(snapshots())
def test_no_more_runs_than_the_cap_and_none_of_a_selftest(snapshot):
    found = parsed(Page(exported_runs_max=CAP).render(snapshot))
    shown = {dict(labels)["run"] for labels in found["pfid_run_info"]}
    real = {view.run.run_id for view in snapshot.runs if not view.synthetic}
    living = {v.run.run_id for v in snapshot.runs if not v.synthetic and not v.state.ended}
    assert shown <= real
    assert len(shown) <= CAP
    failing = failing_runs(snapshot)
    assert failing & living <= shown or len(shown & failing) == CAP
    assert living <= shown or (len(shown) == CAP and shown <= living | failing)
    assert sum(found["pfid_runs"].values()) == len(real)


@settings(deadline=None)
@given(snapshots())
def test_the_library_would_write_the_same(snapshot):
    page = Page(exported_runs_max=CAP, synthetic=True)  # without the process's own figures
    assert page.render(snapshot) == generate_latest(page.registry)


@given(st.binary(max_size=5_000), st.lists(st.binary(max_size=200), max_size=4))
def test_gzip_gives_back_the_page_and_the_live_part_every_time(page, lives):
    prepared = PreparedPage(page)
    for live in lives:
        assert gzip.decompress(prepared.gzip(live)) == page + live == prepared.plain(live)
