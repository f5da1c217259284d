"""What the demo waits for is what it says, and no less."""

import pytest

from pfid.cli.demo import engine, trainings
from pfid.cli.demo.engine import Scene, until
from pfid.cli.demo.stage import DemoError
from pfid.cli.demo.story import Expected

SHIFTED = {"outcome": "fail", "reason": "shifted"}


@pytest.mark.parametrize(
    ("reason", "verdict", "holds"),
    [
        ("shifted", SHIFTED, True),
        ("", SHIFTED, True),
        ("slow", SHIFTED, False),
        ("shifted", {"outcome": "unknown", "reason": "shifted"}, False),
        ("shifted", {}, False),
        ("", {}, False),
    ],
)
def test_a_verdict_counts_only_with_its_outcome_and_reason(reason, verdict, holds):
    expected = Expected(check="step_time_regime", outcome="fail", reason=reason)
    assert expected.holds(verdict) is holds


def test_another_runs_verdict_is_not_this_runs():
    entity = {"kind": "run", "id": "other"}
    verdicts = [{"check": "run_gone", "entity": entity, **SHIFTED}]
    scene = Scene({"runs": [{"run": {"run_id": "mine"}}], "verdicts": verdicts})
    assert scene.verdict("run_gone") == {}


def test_nothing_is_seen_before_the_engine_answers():
    assert Scene().run == {}
    assert Scene().recent_ms is None
    assert Scene().verdict("run_gone") == {}


def test_what_does_not_happen_is_named(monkeypatch):
    monkeypatch.setattr(engine, "LOOK_EVERY_S", 0.001)
    with pytest.raises(DemoError, match="a pig flies"):
        until("a pig flies", 0.01, lambda: False)


@pytest.mark.parametrize(("torch", "compiler"), [(False, True), (True, False)])
def test_without_torch_or_a_compiler_the_demo_trains_with_numpy(monkeypatch, torch, compiler):
    monkeypatch.setattr(trainings, "find_spec", lambda _: object() if torch else None)
    monkeypatch.setattr(trainings.shutil, "which", lambda _: "/usr/bin/g++" if compiler else None)
    assert trainings.choose("auto") is trainings.NUMPY
    assert trainings.choose("torch") is trainings.TORCH
